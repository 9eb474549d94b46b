package stamp

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// editor finds places in the text of a document.
type editor struct {
	text []byte
	tree *tree
	// lines are where the lines begin.
	lines []int
	// strides are, by line, where each so many-th character of a long one is.
	strides map[int][]int
	// starts are where the objects begin, in this order.
	starts []int
	eol    string
}

func newEditor(text []byte, t *tree) *editor {
	e := &editor{text: text, tree: t, eol: "\n", strides: map[int][]int{}}
	start := 0
	if bytes.HasPrefix(text, []byte(byteOrderMark)) {
		start = len(byteOrderMark)
	}
	e.lines = append(e.lines, start)
	for at := start; at < len(text); {
		width := breakAt(text[at:])
		if width == 0 {
			at++
			continue
		}
		at += width
		e.lines = append(e.lines, at)
	}
	if first := bytes.IndexByte(text, '\n'); first > 0 && text[first-1] == '\r' {
		e.eol = "\r\n"
	}
	return e
}

// breakAt returns how many bytes a line break takes. The parser counts those of YAML 1.1.
func breakAt(text []byte) int {
	switch {
	case text[0] == '\r' && len(text) > 1 && text[1] == '\n':
		return 2
	case text[0] == '\r', text[0] == '\n':
		return 1
	case bytes.HasPrefix(text, []byte("\u0085")):
		return 2
	case bytes.HasPrefix(text, []byte("\u2028")), bytes.HasPrefix(text, []byte("\u2029")):
		return 3
	default:
		return 0
	}
}

// stride is how many characters are counted at most to find one. A line may hold a whole cluster, and all its objects be
// looked for: to count from its beginning each time would take hours.
const stride = 1 << 10

// offset is where a node begins: its tag or anchor, if it has one.
func (e *editor) offset(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(e.lines) {
		return len(e.text)
	}
	at, left := e.lines[n.Line-1], n.Column-1
	if left >= stride {
		known := e.stridesOf(n.Line)
		last := min(left/stride, len(known)-1)
		at, left = known[last], left-last*stride
	}
	return at + width(e.text[at:], left)
}

// width is how many bytes some characters take.
func width(text []byte, characters int) int {
	at := 0
	for range characters {
		_, size := utf8.DecodeRune(text[at:])
		at += size
	}
	return at
}

func (e *editor) stridesOf(line int) []int {
	known := e.strides[line]
	if known == nil {
		end := len(e.text)
		if line < len(e.lines) {
			end = e.lines[line]
		}
		for at := e.lines[line-1]; at < end; at += width(e.text[at:], stride) {
			known = append(known, at)
		}
		e.strides[line] = known
	}
	return known
}

// know notes where the objects of the document begin.
func (e *editor) know(objects []*object) *editor {
	for _, obj := range objects {
		e.starts = append(e.starts, e.offset(obj.node))
	}
	slices.Sort(e.starts)
	return e
}

// extentOf is what of the text an object takes, and all of it for one that has lines of its own. Comments and plain texts can hide
// the bracket that closes it, so it ends at the latest where the next object begins.
func (e *editor) extentOf(n *yaml.Node) extent {
	if n.Style&yaml.FlowStyle == 0 {
		return extent{0, len(e.text)}
	}
	from := e.offset(n)
	behind, _ := slices.BinarySearch(e.starts, from+1)
	next := len(e.text)
	if behind < len(e.starts) {
		next = e.starts[behind]
	}
	return extent{from, closed(e.text[:next], from)}
}
