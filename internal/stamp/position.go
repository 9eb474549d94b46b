package stamp

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// editor finds positions in the text of a document.
type editor struct {
	text []byte
	tree *tree
	// lines has the offset of each line.
	lines []int
	// strides has, for each long line, the offset of every stride-th character.
	strides map[int][]int
	// starts has the offsets of the objects, in order.
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

// breakAt returns the length of a line break in bytes. The parser counts the line breaks of YAML
// 1.1.
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

// stride limits how many characters are counted to find a position. A line may hold a whole
// cluster, and all its objects are searched for: to count from its beginning each time would take
// hours.
const stride = 1 << 10

// offset returns the offset of a node, including its tag or anchor.
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

// width returns the length of some characters in bytes.
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

// know records the offsets of the objects of the document.
func (e *editor) know(objects []*object) *editor {
	for _, obj := range objects {
		e.starts = append(e.starts, e.offset(obj.node))
	}
	slices.Sort(e.starts)
	return e
}

// extentOf returns the extent of an object, or the whole text if the object has its own lines.
// Comments and plain texts can hide the closing bracket, so the extent ends at the latest where the
// next object begins.
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
