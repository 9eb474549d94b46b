package stamp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Error is a mistake that prevents the stamps of a stream.
type Error struct {
	File string
	Line int
	Text string
}

// Error returns the message in the form of compilers.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text) }

// fault is an error about a node. Its lines count from the beginning of the document.
type fault struct {
	line int
	text string
}

func (f *fault) Error() string { return f.text }

func wrong(at *yaml.Node, format string, args ...any) error {
	return &fault{line: max(at.Line, 1), text: fmt.Sprintf(format, args...)}
}

// in adds the position in a file to an error.
func (d *document) in(err error) error {
	if err == nil {
		return nil
	}
	line := d.line
	if f, ok := errors.AsType[*fault](err); ok {
		line += f.line - 1
	}
	return &Error{File: d.file.Name, Line: line, Text: err.Error()}
}

// tree is a parsed document.
type tree struct {
	// root is nil for an empty document.
	root *yaml.Node
	// shared are the nodes that an alias references.
	shared map[*yaml.Node]bool
}

// parse parses one document. Its errors quote no text that may be the value of a Secret.
func parse(text []byte) (*tree, error) {
	if at := firstInvalid(text); at >= 0 {
		return nil, &fault{1 + bytes.Count(text[:at], []byte("\n")), "it is not UTF-8"}
	}
	var from io.Reader = bytes.NewReader(text)
	if !bytes.HasSuffix(text, []byte("\n")) {
		// Like kubectl. Otherwise a block of text at the end of a file would have other data than
		// in a stream that continues with another file.
		from = io.MultiReader(from, strings.NewReader("\n"))
	}
	var top, next yaml.Node
	decoder := yaml.NewDecoder(from)
	switch err := decoder.Decode(&top); {
	case errors.Is(err, io.EOF):
		return &tree{}, nil
	case err != nil:
		return nil, unparsed(text, err)
	}
	switch err := decoder.Decode(&next); {
	case err == nil:
		return nil, wrong(&next, anotherDocument)
	case !errors.Is(err, io.EOF):
		return nil, unparsed(text, err)
	}
	t := &tree{root: &top, shared: map[*yaml.Node]bool{}}
	if top.Kind == yaml.DocumentNode {
		t.root = top.Content[0]
	}
	if err := t.look(t.root); err != nil {
		return nil, err
	}
	return t, t.merges()
}

// mostMerges is the maximum number of mappings that one mapping may merge in total, because each
// search for a key visits all of them.
const mostMerges = 10_000

// merges rejects mappings whose search would not end: a mapping that merges itself, or merges of
// merges.
func (t *tree) merges() error {
	weights := map[*yaml.Node]int{}
	var weigh func(n *yaml.Node) int
	weigh = func(n *yaml.Node) int {
		if known, ok := weights[n]; ok {
			return known
		}
		weights[n] = mostMerges + 1 // if the mapping merges itself
		weight := 1
		for _, from := range merged(n) {
			weight = min(weight+weigh(from), mostMerges+1)
		}
		weights[n] = weight
		return weight
	}
	for n := range t.shared {
		if weigh(n) > mostMerges {
			return wrong(n, "its merges take in too many mappings, or itself: write it out")
		}
	}
	return nil
}

const anotherDocument = "another document begins here: put a line with --- between the two"

func firstInvalid(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size == 1 {
			return at
		}
		at += size
	}
	return -1
}

// look finds duplicate keys, and the targets of aliases.
func (t *tree) look(n *yaml.Node) error {
	switch n.Kind {
	case yaml.AliasNode:
		t.shared[n.Alias] = true
	case yaml.MappingNode:
		if err := once(n); err != nil {
			return err
		}
	}
	for _, child := range n.Content {
		if err := t.look(child); err != nil {
			return err
		}
	}
	return nil
}

// few is the number of keys up to which pairwise comparison is cheaper than a map.
const few = 16

func once(mapping *yaml.Node) error {
	twice := func(i, j int) error {
		key, first := mapping.Content[i], mapping.Content[j]
		name := "a key"
		// An entry without a value may have lost its key.
		if value := mapping.Content[i+1]; isKey(key.Value) && (value.Kind != yaml.ScalarNode || value.Value != "") {
			name = fmt.Sprintf("key %q", key.Value)
		}
		if key.Line == first.Line {
			return wrong(key, "%s is twice in this line", name)
		}
		above := "1 line"
		if n := key.Line - first.Line; n > 1 {
			above = fmt.Sprintf("%d lines", n)
		}
		return wrong(key, "%s is here a second time; the first is %s above", name, above)
	}
	if len(mapping.Content) > 2*few {
		seen := make(map[string]int, len(mapping.Content)/2)
		for i := 0; i < len(mapping.Content); i += 2 {
			key := mapping.Content[i]
			if key.Kind != yaml.ScalarNode {
				continue
			}
			if first, there := seen[key.Value]; there {
				return twice(i, first)
			}
			seen[key.Value] = i
		}
		return nil
	}
	for i := 0; i < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		for j := 0; j < i && key.Kind == yaml.ScalarNode; j += 2 {
			if first := mapping.Content[j]; first.Kind == yaml.ScalarNode && first.Value == key.Value {
				return twice(i, j)
			}
		}
	}
	return nil
}
