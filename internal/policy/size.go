package policy

import "github.com/reroll-dev/reroll/internal/annotations"

// About how many bytes one name, one expression, and the keys of one source take in memory.
// TestTheWorstEditsKeepLittleMemory of package state fails if they are far too small.
const (
	sizeOfName       = 100
	sizeOfExpression = 3000
	sizeOfKeys       = 300
)

// Size estimates how many bytes a policy takes in memory.
func (p *Policy) Size() int {
	size := p.keys.Size() + len(p.window.text)
	for i := range p.kinds {
		size += sizeOfList(p.kinds[i].entries)
		if excluded := p.kinds[i].excluded; excluded != nil {
			size += len(excluded.Text) + sizeOfName*len(excluded.Names)
		}
	}
	if selector := p.sources.selector; selector != nil {
		size += len(selector.Text) * sizeOfName // a value may have one character
	}
	return size
}

func sizeOfList(l *annotations.NameList) int {
	if l == nil {
		return 0
	}
	return len(l.Text) + sizeOfName*len(l.Entries) + sizeOfExpression*l.Expressions()
}

// Size estimates how many bytes a rule takes in memory.
func (r *KeyRule) Size() int {
	if r.list == nil {
		return 0
	}
	return len(r.list.text) + sizeOfKeys*len(r.list.keys)
}
