package inspect

import (
	"bytes"
	"maps"
	"strings"

	"go.yaml.in/yaml/v3"
)

// place is the position of an object in a file.
type place struct {
	file string
	line int
	// own and template have the lines of its annotations, and of those in its pod template.
	own, template map[string]int
	// data has the lines of the keys of a ConfigMap or Secret.
	data map[string]int
}

// of returns the line of the annotation or key of a finding, or else the line of the object.
func (p *place) of(f *Finding) int {
	lines, key := p.own, f.annotation
	switch {
	case f.key != "":
		lines, key = p.data, f.key
	case f.inTemplate:
		lines = p.template
	}
	if line, ok := lines[key]; ok {
		return line
	}
	return p.line
}

// locateDocument finds the lines of the objects in a document, if it is YAML for a parser that
// keeps lines. Other objects are reported only by their names.
func (o *Objects) locateDocument(file string, first int, document []byte) {
	var top yaml.Node
	if yaml.Unmarshal(document, &top) == nil && len(top.Content) == 1 {
		o.locate(file, first-1, top.Content[0])
	}
}

// documents calls each with every document of a file and the number of its first line.
func documents(text []byte, each func(first int, document []byte)) {
	line, first := 1, 1
	var document []byte
	for one := range bytes.Lines(text) {
		if bytes.HasPrefix(one, []byte("---")) {
			each(first, document)
			document, first = nil, line+1
		} else {
			document = append(document, one...)
		}
		line++
	}
	each(first, document)
}

// locate records the lines of one object, or of the items of a list. above is the number of lines
// before the document.
func (o *Objects) locate(file string, above int, n *yaml.Node) {
	kind := scalarIn(n, "kind")
	if items := nodeIn(n, "items"); items != nil && strings.HasSuffix(kind, "List") {
		for _, item := range items.Content {
			o.locate(file, above, item)
		}
		return
	}
	group, _, qualified := strings.Cut(scalarIn(n, "apiVersion"), "/")
	if !qualified {
		group = ""
	}
	template := []string{"spec", "template"}
	if known, ok := o.settings.Rules.Kinds.Of(group, kind); ok {
		template = known.Template
	}
	lines := func(path ...string) map[string]int {
		all, found := map[string]int{}, nodeIn(n, path...)
		for i := 0; found != nil && i+1 < len(found.Content); i += 2 {
			all[found.Content[i].Value] = found.Content[i].Line + above
		}
		return all
	}
	data := map[string]int{}
	for _, field := range []string{"data", "stringData", "binaryData"} {
		maps.Copy(data, lines(field))
	}
	name := o.named(group, kind, scalarIn(n, "metadata", "namespace"), scalarIn(n, "metadata", "name"))
	o.places[name] = &place{
		file: file, line: n.Line + above, own: lines("metadata", "annotations"),
		template: lines(append(append([]string{}, template...), "metadata", "annotations")...), data: data,
	}
}

// named returns the name of an object in findings.
func (o *Objects) named(group, kind, ns, name string) string {
	if known, ok := o.settings.Rules.Kinds.Of(group, kind); ok {
		kind = known.Name
	}
	return named(kind, ns, name)
}

// nodeIn returns the node at a path of nested mappings, or nil.
func nodeIn(n *yaml.Node, path ...string) *yaml.Node {
	for _, name := range path {
		if n == nil || n.Kind != yaml.MappingNode {
			return nil
		}
		var found *yaml.Node
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == name {
				found = n.Content[i+1]
			}
		}
		n = found
	}
	return n
}

func scalarIn(n *yaml.Node, path ...string) string {
	if found := nodeIn(n, path...); found != nil && found.Kind == yaml.ScalarNode {
		return found.Value
	}
	return ""
}
