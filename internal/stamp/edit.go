package stamp

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// edit replaces text[at:end].
type edit struct {
	at, end int
	text    string
	target  *target
}

// slot is a position for a value: it replaces text[at:end] with before, the value, and after.
type slot struct {
	at, end       int
	before, after string
}

func (s slot) with(t *target) edit {
	return edit{at: s.at, end: s.end, text: s.before + t.value + s.after, target: t}
}

// apply applies the edits, which are sorted and do not overlap.
func apply(text []byte, edits []edit) []byte {
	var out []byte
	last := 0
	for _, e := range edits {
		out = append(append(out, text[last:e.at]...), e.text...)
		last = e.end
	}
	return append(out, text[last:]...)
}

// sortEdits sorts an insertion before a removal at the same position.
func sortEdits(all []edit) {
	slices.SortFunc(all, func(a, b edit) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.end, b.end)) })
}

func apart(sorted []edit) bool {
	for i := 1; i < len(sorted); i++ {
		if sorted[i].at < sorted[i-1].end {
			return false
		}
	}
	return true
}

// dropping returns the edits that remove the stamps of an earlier call.
func (t *target) dropping() (all []edit) {
	for _, d := range t.drops {
		all = append(all, edit{at: d.from, end: d.to, target: t})
	}
	return all
}

// step is the indentation of a nested block if the text does not show it.
const step = 2

// slots returns the positions for an annotation of a pod template. Whether one is right shows only
// when it is tried.
func (e *editor) slots(obj *object, pods *template, key string) ([]slot, error) {
	if pods.shared != "" {
		return nil, wrong(pods.node, "%s is written once for several places, by an anchor, and a stamp there would change all of them: write it out", pods.shared)
	}
	at, atKey := pods.node, pods.key
	names := []string{"metadata", "annotations", key}
	orMerge := []string{"", ", or merge the others in by <<", ""}
	for i, name := range names {
		path := strings.Join(append(slices.Clone(pods.path), names[:i+1]...), ".")
		nextKey, next := own(at, name)
		if i == len(names)-1 {
			if next != nil {
				return e.replacing(obj, next)
			}
			break
		}
		if next == nil {
			if get(at, name) != nil {
				return nil, wrong(at, "%s of %s comes by a merge, and a stamp there would hide it: write it out", path, obj)
			}
			return e.adding(atKey, at, names[i:]), nil
		}
		if next.Kind == yaml.AliasNode || e.tree.shared[next] {
			return nil, wrong(next, "%s of %s is written once for several places, by an anchor, and a stamp there would change all of them: write it out%s", path, obj, orMerge[i])
		}
		if isNull(next) {
			return e.filling(nextKey, next, names[i+1:]), nil
		}
		if next.Kind != yaml.MappingNode {
			return nil, wrong(next, "%s of %s must be keys with values", path, obj)
		}
		at, atKey = next, nextKey
	}
	return e.adding(atKey, at, names[len(names)-1:]), nil
}

// replacing replaces a stamp with another value.
func (e *editor) replacing(obj *object, value *yaml.Node) ([]slot, error) {
	at := e.offset(value) // before its tag and quotes, if it has any
	behind := bytes.Index(e.text[at:], []byte(value.Value))
	if behind < 0 || bytes.IndexByte(e.text[at:at+behind], '\n') >= 0 {
		return nil, wrong(value, "the stamp of %s is written in a way that is not understood: put it on one line", obj)
	}
	at += behind
	return []slot{{at: at, end: at + len(value.Value)}}, nil
}

// adding adds nested keys to a mapping.
func (e *editor) adding(key, mapping *yaml.Node, names []string) []slot {
	if mapping.Style&yaml.FlowStyle != 0 {
		return e.addingInline(mapping, names)
	}
	first := mapping.Content[0]
	indent := first.Column - 1
	deeper := indent - (key.Column - 1)
	if deeper <= 0 {
		deeper = step
	}
	before, after := block(names, indent, deeper, e.eol)
	at := e.offset(first)
	margin := strings.Repeat(" ", indent)
	return []slot{
		e.below(key, before, after),
		{at: at, end: at, before: strings.TrimPrefix(before, margin), after: after + e.eol + margin},
	}
}

// below returns the slot in the line after a key, above the comments about its value.
func (e *editor) below(key *yaml.Node, before, after string) slot {
	if key.Line < len(e.lines) {
		at := e.lines[key.Line]
		return slot{at: at, end: at, before: before, after: after + e.eol}
	}
	return slot{at: len(e.text), end: len(e.text), before: e.eol + before, after: after}
}

// block writes keys as lines, up to the value.
func block(names []string, indent, deeper int, eol string) (before, after string) {
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteString(eol)
		}
		fmt.Fprintf(&b, "%s%s:", strings.Repeat(" ", indent+i*deeper), spelt(name))
	}
	b.WriteByte(' ')
	return b.String(), ""
}

// spelt quotes a key that YAML could read as something other than a string.
func spelt(key string) string {
	if strings.Contains(key, "/") || key == "metadata" || key == "annotations" {
		return key
	}
	return `"` + key + `"`
}

// inline writes keys as JSON, up to the value.
func inline(names []string) (before, after string) {
	return `{"` + strings.Join(names, `": {"`) + `": "`, `"` + strings.Repeat("}", len(names))
}

func (e *editor) addingInline(mapping *yaml.Node, names []string) []slot {
	before, after := inline(names)
	before, after = strings.TrimPrefix(before, "{"), strings.TrimSuffix(after, "}")
	if len(mapping.Content) == 0 {
		at := e.offset(mapping)
		open := bytes.IndexByte(e.text[at:], '{') // after its tag or anchor
		if open < 0 {
			return nil
		}
		at += open + 1
		return []slot{{at: at, end: at, before: before, after: after}}
	}
	first := mapping.Content[0]
	at := e.offset(first)
	after += ","
	if margin := e.text[e.lines[first.Line-1]:at]; len(bytes.TrimLeft(margin, " \t")) == 0 {
		after += e.eol + string(margin)
	} else {
		after += " "
	}
	return []slot{{at: at, end: at, before: before, after: after}}
}

// filling adds a value to a key without one.
func (e *editor) filling(key, null *yaml.Node, names []string) []slot {
	if null.Value == "" {
		before, after := block(names, key.Column-1+step, step, e.eol)
		return []slot{e.below(key, before, after)}
	}
	before, after := inline(names)
	at := e.offset(null)
	return []slot{{at: at, end: at + len(null.Value), before: before, after: after}}
}
