package stamp

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"go.yaml.in/yaml/v3"
)

// ReadFunction reads what a KRM function is given, one list. Its options are those that configure returns for the list
// without its items, or with them where they cannot be read one at a time; it is nil if nothing was given.
func ReadFunction(name string, from io.Reader, configure func(around *yaml.Node) (Options, error)) (*Stream, error) {
	s := New(Options{})
	s.long = 0 // also of a short one each item is told by its number
	if err := s.Read(name, from); err != nil {
		return nil, err
	}
	around, err := s.around()
	if err != nil {
		return nil, err
	}
	s.options, err = configure(around)
	return s, err
}

// around returns what the first list says of itself, and gives its items names of their own.
func (s *Stream) around() (*yaml.Node, error) {
	for _, d := range s.documents {
		text := d.text
		if d.list != nil {
			text = slices.Concat(d.list.nameItems()...)
		}
		t, err := parse(text)
		if err != nil {
			return nil, d.in(err)
		}
		if t.root != nil {
			return t.root, nil
		}
	}
	return nil, nil
}

// nameItems returns the texts in front of the first item and behind the last one.
func (l *list) nameItems() (around [][]byte) {
	l.function = true
	item := 0
	for i, part := range l.parts {
		switch {
		case !part.shell:
			part.file = &File{Name: fmt.Sprintf("items[%d] of %s", item, part.file.Name)}
			item++
		case item == 0, i == len(l.parts)-1:
			around = append(around, part.text)
		}
	}
	return around
}

// nameOrigin puts the file that an item was read from in front of its name, if whoever runs the function has noted that.
func (d *document) nameOrigin(objects []*object) {
	if d.list == nil || !d.list.function || len(objects) == 0 {
		return
	}
	for _, annotation := range []string{"internal.config.kubernetes.io/path", "config.kubernetes.io/path"} {
		if path := text(get(objects[0].node, "metadata", "annotations", annotation)); path != "" {
			d.file.Name = path + ", " + d.file.Name
			return
		}
	}
}

// atItem is for a mistake in a list that was read as a whole: it is told with the name of its item, if that has lines of its own.
func (l *list) atItem(err error) error {
	at, ok := errors.AsType[*Error](err)
	if !ok || !l.function {
		return err
	}
	last := len(l.parts) - 1
	for last > 0 && l.parts[last].line > at.Line {
		last--
	}
	if last == 0 || l.parts[last-1].line < l.parts[last].line {
		at.File = l.parts[last].file.Name
	}
	return at
}
