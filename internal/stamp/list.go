package stamp

import (
	"bytes"
	"strings"
	"sync/atomic"

	"go.yaml.in/yaml/v3"
)

// long is from which size on the items of a list are read one at a time. As a tree, they would take ten times their size.
const long = 64 << 10

// list is one of which each item is a document of its own here.
type list struct {
	// kind and apiVersion are what the list says of its items, empty where it says nothing.
	kind, apiVersion string
	text             []byte
	// parts are the documents, in front of them what comes before the first item.
	parts []*document
	// failed tells that a part could not be read by itself.
	failed atomic.Bool
}

// parted returns the parts of a list that is written in lines, and nil for everything else. Whether they are right shows when
// they are read: none can be that has only one end of a text in it, or the alias of an anchor of another one.
func parted(d *document) []*document {
	starts, rest := itemLines(d.text)
	if len(starts) < 2 {
		return nil
	}
	shell, err := parse(append(bytes.Clone(d.text[:starts[0]]), d.text[rest:]...))
	if err != nil || shell.root == nil || shell.root.Kind != yaml.MappingNode || len(shell.shared) > 0 {
		return nil
	}
	kind, apiVersion := text(get(shell.root, "kind")), text(get(shell.root, "apiVersion"))
	if items := get(shell.root, "items"); items == nil || !isNull(items) || apiVersion == "" || !strings.HasSuffix(kind, "List") {
		return nil
	}
	l := &list{text: d.text}
	l.kind, l.apiVersion = ofItems(kind, apiVersion)
	line := d.line
	from := 0
	for i, to := range append(starts, rest, len(d.text)) {
		part := &document{file: d.file, line: line, text: d.text[from:to], list: l, shell: i == 0 || i > len(starts)}
		l.parts = append(l.parts, part)
		line += bytes.Count(part.text, []byte("\n"))
		from = to
	}
	return l.parts
}

// itemLines returns where the items of a list begin, and where the last one ends.
func itemLines(doc []byte) (starts []int, rest int) {
	margin, in, at := -1, false, 0
	for line := range bytes.Lines(doc) {
		from := at
		at += len(line)
		bare := bytes.TrimRight(line, "\r\n")
		inner := bytes.TrimLeft(bare, " ")
		indent := len(bare) - len(inner)
		switch {
		case !in:
			name, comment, _ := bytes.Cut(bare, []byte(":"))
			comment = bytes.TrimSpace(comment)
			in = string(bytes.Trim(name, `"'`)) == "items" && (len(comment) == 0 || comment[0] == '#')
		case len(inner) == 0, inner[0] == '#':
		case isItem(inner) && (margin < 0 || indent == margin):
			margin = indent
			starts = append(starts, from)
		case margin >= 0 && indent > margin:
		case margin >= 0 && indent == 0:
			return starts, from
		default:
			return nil, 0
		}
	}
	return starts, at
}

func isItem(line []byte) bool {
	return line[0] == '-' && (len(line) == 1 || line[1] == ' ')
}

// ofItems is what a list says of its items, where they do not say it themselves.
func ofItems(kind, apiVersion string) (itemKind, itemVersion string) {
	itemKind = strings.TrimSuffix(kind, "List")
	if itemKind == "" || itemKind == "Resource" {
		return "", ""
	}
	return itemKind, apiVersion
}

// join makes one document of the parts again.
func (l *list) join() *document {
	for _, part := range l.parts {
		*part = document{file: part.file, line: part.line}
	}
	l.parts[0].text = l.text
	return l.parts[0]
}
