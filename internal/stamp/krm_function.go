package stamp

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"
)

// Setting is one setting in the spec of a functionConfig.
type Setting struct {
	Name string
	// Values has one value, or the values of a list.
	Values []string
	List   bool
	line   int
}

// At adds the position of the setting to an error message.
func (s Setting) At(file string, err error) error {
	return fmt.Errorf("%s:%d: functionConfig: spec.%s: %w", file, s.line, s.Name, err)
}

// ReadFunction reads the ResourceList that a KRM function gets. configure returns the options for
// its settings.
func ReadFunction(name string, from io.Reader, configure func([]Setting) (Options, error)) (*Stream, error) {
	s := New(Options{})
	s.long = 0 // so that errors about items of a short list have their index, too
	if err := s.Read(name, from); err != nil {
		return nil, err
	}
	settings, err := s.settings()
	if err != nil {
		return nil, err
	}
	s.options, err = configure(settings)
	return s, err
}

// settings reads the settings of the first list, and names its items.
func (s *Stream) settings() ([]Setting, error) {
	for _, d := range s.documents {
		text := d.text
		if d.list != nil {
			text = d.list.nameItems()
		}
		t, err := parse(text)
		if err != nil {
			return nil, d.in(err)
		}
		if t.root == nil {
			continue
		}
		all, err := settingsIn(t.root)
		for i := range all {
			all[i].line += d.line - 1
		}
		return all, d.in(err)
	}
	return nil, &Error{File: s.files[0].Name, Line: 1, Text: "it is empty; --function needs a ResourceList"}
}

// settingsIn quotes only names in errors, because an alias can make a value out of a Secret in the
// items.
func settingsIn(list *yaml.Node) ([]Setting, error) {
	if kind := text(get(list, "kind")); kind != "ResourceList" {
		return nil, wrong(list, "it is not a ResourceList, which --function needs%s", but(kind))
	}
	spec := list
	for _, name := range []string{"functionConfig", "spec"} {
		if _, spec = own(spec, name); spec == nil || isNull(spec) {
			return nil, nil
		}
		if spec.Kind != yaml.MappingNode {
			return nil, wrong(spec, "%s must be keys with values, written out", name)
		}
	}
	var all []Setting
	for i := 0; i+1 < len(spec.Content); i += 2 {
		key, value := spec.Content[i], spec.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!merge" {
			return nil, wrong(key, "functionConfig: the keys of spec must be plain strings")
		}
		one := Setting{Name: key.Value, List: value.Kind == yaml.SequenceNode, line: key.Line}
		values := []*yaml.Node{value}
		if one.List {
			values = value.Content
		}
		for _, v := range values {
			if tag := v.ShortTag(); v.Kind != yaml.ScalarNode || tag != "!!str" && tag != "!!bool" && tag != "!!int" {
				return nil, wrong(v, "functionConfig: spec.%s: it must be a text, true or false, or a list of texts", key.Value)
			}
			one.Values = append(one.Values, v.Value)
		}
		all = append(all, one)
	}
	return all, nil
}

func but(kind string) string {
	if kind == "" || !isKey(kind) {
		return ""
	}
	return fmt.Sprintf(", but %q", kind)
}

// nameItems returns the text before the first item and after the last one, with an unchanged number
// of lines between them.
func (l *list) nameItems() []byte {
	l.function = true
	var around []byte
	item := 0
	for i, part := range l.parts {
		between := bytes.Repeat([]byte("\n"), bytes.Count(part.text, []byte("\n")))
		switch {
		case !part.shell:
			part.file = &File{Name: fmt.Sprintf("items[%d] of %s", item, part.file.Name)}
			item++
			around = append(around, between...)
		case item == 0, i == len(l.parts)-1:
			around = append(around, part.text...)
		default:
			around = append(around, between...)
		}
	}
	return around
}

// nameOrigin adds the file that an item was read from to its name, if the caller has recorded it.
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

// atItem handles an error in a list that was read as a whole: it adds the name of the item, if the
// item has its own lines.
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
