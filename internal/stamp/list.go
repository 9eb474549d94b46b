package stamp

import (
	"bytes"
	"strings"
	"sync/atomic"

	"go.yaml.in/yaml/v3"
)

// long is the minimum size of a list whose items are read one at a time. As a tree, they would take
// ten times their size.
const long = 64 << 10

// list is a list whose items are separate documents.
type list struct {
	// kind and apiVersion are the values that the list declares for its items, or empty.
	kind, apiVersion string
	text             []byte
	// inBraces reports whether each item is in braces, instead of after a dash.
	inBraces bool
	// parts are the documents: the items, and, as shells, the text before, between and after them.
	parts []*document
	// function reports whether the list is the input of a function, so that its lines are in no
	// file.
	function bool
	// failed reports whether a part could not be read separately.
	failed atomic.Bool
}

// extent is a piece of a text: text[from:to].
type extent struct{ from, to int }

// parted returns the parts of a list, or nil for anything else. Whether they are right shows only
// when they are read: a part must not have only one end of a text, or the alias of an anchor in
// another part. If that is true for the first item, and for the text after it without it, it is
// true for all, because the parser reaches each item in the same state.
func parted(d *document) []*document {
	bracket := itemsBracket(d.text)
	var items []extent
	if bracket >= 0 {
		items = itemsInBraces(d.text, bracket)
	} else {
		items = itemLines(d.text)
	}
	if len(items) < 2 {
		return nil
	}
	around := append(bytes.Clone(d.text[:items[0].from]), d.text[items[len(items)-1].to:]...)
	shell, err := parse(around)
	if err != nil || shell.root == nil || shell.root.Kind != yaml.MappingNode || len(shell.shared) > 0 {
		return nil
	}
	kind, apiVersion := text(get(shell.root, "kind")), text(get(shell.root, "apiVersion"))
	empty := get(shell.root, itemsKey)
	if apiVersion == "" || !isList(shell.root, kind, apiVersion, empty) || len(empty.Content) > 0 {
		return nil
	}
	if at := newEditor(around, shell).offset(empty); bracket >= 0 && at != bracket || bracket < 0 && !isNull(empty) {
		return nil
	}
	l := &list{text: d.text, inBraces: bracket >= 0}
	l.kind, l.apiVersion = ofItems(kind, apiVersion)
	line, from := d.line, 0
	add := func(to int, shell bool) {
		if from == to {
			return
		}
		part := &document{file: d.file, line: line, text: d.text[from:to:to], list: l, at: from, shell: shell}
		l.parts = append(l.parts, part)
		line += bytes.Count(part.text, []byte("\n"))
		from = to
	}
	for _, item := range items {
		add(item.from, true)
		add(item.to, false)
	}
	add(len(d.text), true)
	return l.parts
}

// itemLines returns the items that begin with a dash on a line of their own.
func itemLines(doc []byte) (items []extent) {
	margin, in, at := -1, false, 0
	end := func() {
		if len(items) > 0 {
			items[len(items)-1].to = at
		}
	}
	for line := range bytes.Lines(doc) {
		from := at
		bare := bytes.TrimRight(line, "\r\n")
		inner := bytes.TrimLeft(bare, " ")
		indent := len(bare) - len(inner)
		switch {
		case !in:
			name, comment, _ := bytes.Cut(bare, []byte(":"))
			comment = bytes.TrimSpace(comment)
			in = string(bytes.Trim(name, `"'`)) == itemsKey && (len(comment) == 0 || comment[0] == '#')
		case len(inner) == 0, inner[0] == '#':
		case isItem(inner) && (margin < 0 || indent == margin):
			margin = indent
			end()
			items = append(items, extent{from: from})
		case margin >= 0 && indent > margin:
		case margin >= 0 && indent == 0:
			end()
			return items
		default:
			return nil
		}
		at += len(line)
	}
	end()
	return items
}

func isItem(line []byte) bool {
	return line[0] == '-' && (len(line) == 1 || line[1] == ' ')
}

// ofItems returns the values that a list declares for items without their own.
func ofItems(kind, apiVersion string) (itemKind, itemVersion string) {
	itemKind = strings.TrimSuffix(kind, "List")
	if itemKind == "" || itemKind == "Resource" {
		return "", ""
	}
	return itemKind, apiVersion
}

// join combines the parts to one document again.
func (l *list) join() *document {
	for _, part := range l.parts {
		*part = document{file: part.file, line: part.line}
	}
	l.parts[0].text = l.text
	return l.parts[0]
}
