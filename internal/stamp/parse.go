package stamp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// Error is something that keeps a stream from being stamped.
type Error struct {
	File string
	Line int
	Text string
}

// Error returns it in the form of compilers.
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text) }

// fault is an error about a node of a document, whose lines are counted from its own beginning.
type fault struct {
	line int
	text string
}

func (f *fault) Error() string { return f.text }

func wrong(at *yaml.Node, format string, args ...any) error {
	return &fault{line: max(at.Line, 1), text: fmt.Sprintf(format, args...)}
}

// in says where in a file an error is.
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

// tree is a document that was read.
type tree struct {
	// root is nil for a document with nothing in it.
	root *yaml.Node
	// shared are the nodes that an alias refers to.
	shared map[*yaml.Node]bool
}

// parse reads one document. What it says of a mistake never quotes a value, which may be that of a Secret.
func parse(text []byte) (*tree, error) {
	if at := firstInvalid(text); at >= 0 {
		return nil, &fault{1 + bytes.Count(text[:at], []byte("\n")), "it is not UTF-8"}
	}
	var top, next yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
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
	return t, t.look(t.root)
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

// unparsed takes the line out of an error of the parser, as far as it is there and right.
func unparsed(source []byte, err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if _, rest, ok := strings.Cut(text, "unknown anchor '"); ok {
		name, _, _ := strings.Cut(rest, "'")
		at := max(0, bytes.Index(source, []byte("*"+name)))
		return &fault{1 + bytes.Count(source[:at], []byte("\n")), fmt.Sprintf("there is no anchor &%s in this document", name)}
	}
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		if number, what, ok := strings.Cut(rest, ": "); ok {
			if line, bad := strconv.Atoi(number); bad == nil {
				if strings.Contains(what, "<document start>") {
					return &fault{line + 1, anotherDocument} // the parser counts from 0 here
				}
				return &fault{refusedAt(source, err, max(line, 1)), "it is not YAML: " + what}
			}
		}
	}
	return &fault{refusedAt(source, err, 1), "it is not YAML: " + text}
}

// searched is how long a document may be that is read several times for the line of a mistake: longer than any that an API
// server takes.
const searched = 4 << 20

// refusedAt is the first line with which the parser says the same of what comes before. It tells a line itself, which is often
// that of the mapping around the mistake, or the one above.
func refusedAt(source []byte, err error, told int) int {
	if len(source) > searched {
		return told
	}
	var ends []int // of the lines but the last one
	for at, b := range source[:max(0, len(source)-1)] {
		if b == '\n' {
			ends = append(ends, at+1)
		}
	}
	return 1 + sort.Search(len(ends), func(line int) bool {
		var root yaml.Node
		same := yaml.Unmarshal(source[:ends[line]], &root)
		return same != nil && same.Error() == err.Error()
	})
}

// look finds keys that are there twice, and what aliases refer to.
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

// few is how many keys are compared each with each, which is cheaper than a map.
const few = 16

func once(mapping *yaml.Node) error {
	twice := func(key, first *yaml.Node) error {
		if key.Line == first.Line {
			return wrong(key, "key %q is twice in this line", key.Value)
		}
		return wrong(key, "key %q is here a second time; the first is %d lines above", key.Value, key.Line-first.Line)
	}
	if len(mapping.Content) > 2*few {
		seen := make(map[string]*yaml.Node, len(mapping.Content)/2)
		for i := 0; i < len(mapping.Content); i += 2 {
			key := mapping.Content[i]
			if key.Kind != yaml.ScalarNode {
				continue
			}
			if first := seen[key.Value]; first != nil {
				return twice(key, first)
			}
			seen[key.Value] = key
		}
		return nil
	}
	for i := 0; i < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		for j := 0; j < i && key.Kind == yaml.ScalarNode; j += 2 {
			if first := mapping.Content[j]; first.Kind == yaml.ScalarNode && first.Value == key.Value {
				return twice(key, first)
			}
		}
	}
	return nil
}
