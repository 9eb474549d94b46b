package policy

import "github.com/reroll-dev/reroll/internal/annotations"

// What one takes beside its text, in bytes as measured.
const (
	sizeOfName       = 100
	sizeOfExpression = 3000
	sizeOfKeys       = 300
)

// Size is about how many bytes a policy keeps in memory. A namespace user chooses it.
func (p *Policy) Size() int {
	size := p.keys.Size() + len(p.window.text)
	for i := range p.kinds {
		size += sizeOfList(p.kinds[i].entries)
		if excluded := p.kinds[i].excluded; excluded != nil {
			size += len(excluded.Text) + sizeOfName*len(excluded.Names)
		}
	}
	if selector := p.sources.selector; selector != nil {
		size += len(selector.Text) * sizeOfName // of one value
	}
	return size
}

func sizeOfList(l *annotations.NameList) int {
	if l == nil {
		return 0
	}
	return len(l.Text) + sizeOfName*len(l.Entries) + sizeOfExpression*l.Expressions()
}

// Size is about how many bytes a rule keeps in memory.
func (r *KeyRule) Size() int {
	if r.list == nil {
		return 0
	}
	return len(r.list.text) + sizeOfKeys*len(r.list.keys)
}
