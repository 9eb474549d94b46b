package stamp

import (
	"errors"

	"go.yaml.in/yaml/v3"
)

// resolved follows aliases.
func resolved(n *yaml.Node) *yaml.Node {
	for n != nil && n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// own returns a key of a mapping and its value, unless they come from a merge.
func own(mapping *yaml.Node, name string) (key, value *yaml.Node) {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if key := resolved(mapping.Content[i]); key.Kind == yaml.ScalarNode && key.Value == name {
			return mapping.Content[i], mapping.Content[i+1]
		}
	}
	return nil, nil
}

// get returns the value of a key, including values from a merge, or nil. Further names descend.
func get(n *yaml.Node, names ...string) *yaml.Node {
	for _, name := range names {
		if n = getOne(n, name, 0); n == nil {
			return nil
		}
	}
	return n
}

// deep limits nested merges, which may be circular.
const deep = 20

func getOne(n *yaml.Node, name string, depth int) *yaml.Node {
	mapping := resolved(n)
	if _, value := own(mapping, name); value != nil {
		return resolved(value)
	}
	for _, from := range merged(mapping) {
		if depth < deep {
			if value := getOne(from, name, depth+1); value != nil {
				return value
			}
		}
	}
	return nil
}

// merged returns the mappings that a mapping merges, in the order of their precedence.
func merged(mapping *yaml.Node) []*yaml.Node {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	var all []*yaml.Node
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].ShortTag() != "!!merge" {
			continue
		}
		switch from := resolved(mapping.Content[i+1]); from.Kind {
		case yaml.MappingNode:
			all = append(all, from)
		case yaml.SequenceNode:
			for _, one := range from.Content {
				all = append(all, resolved(one))
			}
		}
	}
	return all
}

// text returns a scalar as it is spelled, or empty for anything else.
func text(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || isNull(n) {
		return ""
	}
	return n.Value
}

// texts returns the scalars of a mapping.
func texts(n *yaml.Node) map[string]string {
	all := map[string]string{}
	pairs(n, 0, func(key, value *yaml.Node) {
		if value.Kind == yaml.ScalarNode && !isNull(value) {
			all[key.Value] = value.Value
		}
	})
	return all
}

// pairs calls each with all keys of a mapping. Keys from a merge come before those that override
// them.
func pairs(n *yaml.Node, depth int, each func(key, value *yaml.Node)) {
	mapping := resolved(n)
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return
	}
	from := merged(mapping)
	for i := len(from) - 1; i >= 0 && depth < deep; i-- {
		pairs(from[i], depth+1, each)
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if key := resolved(mapping.Content[i]); mapping.Content[i].ShortTag() != "!!merge" {
			each(key, resolved(mapping.Content[i+1]))
		}
	}
}

// values converts nodes to plain values. It fails if nested aliases would make a document grow
// without limit.
type values struct{ left, deeper int }

const (
	mostValues = 1 << 20
	deepest    = 1000
)

var errTooMany = errors.New("its aliases make it too large")

func plain(n *yaml.Node) (any, error) {
	v := values{left: mostValues, deeper: deepest}
	return v.of(n)
}

func (v *values) of(n *yaml.Node) (any, error) {
	if v.left--; v.left < 0 || v.deeper == 0 {
		return nil, errTooMany
	}
	v.deeper--
	defer func() { v.deeper++ }()
	switch n = resolved(n); n.Kind {
	case yaml.MappingNode:
		all := map[string]any{}
		var failed error
		pairs(n, 0, func(key, value *yaml.Node) {
			if failed == nil {
				all[key.Value], failed = v.of(value)
			}
		})
		return all, failed
	case yaml.SequenceNode:
		all := make([]any, 0, len(n.Content))
		for _, child := range n.Content {
			one, err := v.of(child)
			if err != nil {
				return nil, err
			}
			all = append(all, one)
		}
		return all, nil
	default:
		return scalar(n), nil
	}
}

// scalar also accepts the booleans of YAML 1.1, like tools that apply manifests. Numbers keep their
// spelling, because no value that is read here is a number.
func scalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return n.Value == "true" || n.Value == "True" || n.Value == "TRUE"
	case "!!str":
		if n.Style == 0 {
			switch n.Value {
			case "yes", "Yes", "YES", "on", "On", "ON":
				return true
			case "no", "No", "NO", "off", "Off", "OFF":
				return false
			}
		}
	}
	return n.Value
}
