package stamp

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"slices"

	"go.yaml.in/yaml/v3"
)

// meaning represents the content of a document, without its current or future stamps.
type meaning [sha256.Size]byte

// meaningOf leaves out the annotation of each pod template. If it is the only annotation,
// annotations count as absent, and so does metadata without other fields.
func meaningOf(t *tree, stamped map[*yaml.Node][]string) meaning {
	p := printer{Hash: sha256.New(), stamped: stamped}
	if t.root != nil {
		p.node(t.root)
	}
	return meaning(p.Sum(nil))
}

type printer struct {
	hash.Hash
	stamped map[*yaml.Node][]string
}

func (p *printer) text(s string) {
	p.Write(binary.BigEndian.AppendUint32(nil, uint32(len(s)))) //nolint:gosec // a length
	p.Write([]byte(s))
}

func (p *printer) node(n *yaml.Node) {
	p.begin(n)
	if keys, ok := p.stamped[n]; ok {
		p.without(n, []string{"metadata"}, func(meta *yaml.Node) bool { return bareMeta(meta, keys) }, func(meta *yaml.Node) {
			p.without(meta, []string{"annotations"}, func(annotations *yaml.Node) bool { return bare(annotations, keys) }, func(annotations *yaml.Node) {
				p.without(annotations, keys, func(*yaml.Node) bool { return true }, nil)
			})
		})
		return
	}
	for _, child := range n.Content {
		p.node(child)
	}
	p.Write([]byte{0})
}

func (p *printer) begin(n *yaml.Node) {
	p.Write([]byte{1, byte(n.Kind)}) //nolint:gosec // one of five
	p.text(n.Tag)
	p.text(n.Value)
	p.text(n.Anchor)
}

// without visits a mapping. It leaves out the values of some keys, or visits them in another way.
func (p *printer) without(mapping *yaml.Node, names []string, left func(*yaml.Node) bool, other func(*yaml.Node)) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		switch {
		case !isOneOf(key, names):
			p.node(key)
			p.node(value)
		case left(value):
		case value.Kind != yaml.MappingNode:
			p.node(key)
			p.node(value)
		default:
			p.node(key)
			p.begin(value)
			other(value)
		}
	}
	p.Write([]byte{0})
}

func isOneOf(key *yaml.Node, names []string) bool {
	key = resolved(key)
	return key.Kind == yaml.ScalarNode && slices.Contains(names, key.Value)
}

func bareMeta(meta *yaml.Node, keys []string) bool {
	_, annotations := own(meta, "annotations")
	return isNull(meta) || meta.Kind == yaml.MappingNode && (len(meta.Content) == 0 || len(meta.Content) == 2 && annotations != nil && bare(annotations, keys))
}

func bare(annotations *yaml.Node, keys []string) bool {
	if annotations.Kind != yaml.MappingNode {
		return isNull(annotations)
	}
	for i := 0; i+1 < len(annotations.Content); i += 2 {
		if !isOneOf(annotations.Content[i], keys) {
			return false
		}
	}
	return true
}

// stampedIn returns the pod templates of a document that have or get a stamp, with the annotation.
func (o *Options) stampedIn(t *tree, objects []*object, found []*target) map[*yaml.Node][]string {
	all := map[*yaml.Node][]string{}
	for _, target := range found {
		obj := objects[target.order]
		if kind, ok := o.kindOf(obj); ok {
			if pods := t.find(obj, kind); pods != nil {
				all[pods.node] = append([]string{target.key}, target.dropped...)
			}
		}
	}
	return all
}

// holds reports whether a document with edits has its previous meaning, and the stamps.
func (o *Options) holds(d *document, edits []edit) bool {
	return apart(edits) && o.reads(d, apply(d.text, edits))
}

func (o *Options) reads(d *document, text []byte) bool {
	t, err := parse(text)
	if err != nil {
		return false
	}
	objects, err := d.objects(t, o.Namespace)
	if err != nil {
		return false
	}
	for _, target := range d.found {
		if target.order >= len(objects) {
			return false
		}
	}
	stamped := o.stampedIn(t, objects, d.found)
	if len(stamped) != len(d.found) || meaningOf(t, stamped) != d.before {
		return false
	}
	for _, target := range d.found {
		if !o.stands(t, objects[target.order], target) {
			return false
		}
	}
	return true
}

// stands reports whether the value is present.
func (o *Options) stands(t *tree, obj *object, want *target) bool {
	kind, ok := o.kindOf(obj)
	if !ok {
		return false
	}
	pods := t.find(obj, kind)
	if pods == nil || obj.String() != want.about {
		return false
	}
	annotations := get(pods.node, "metadata", "annotations")
	gone := !slices.ContainsFunc(want.dropped, func(key string) bool { return get(annotations, key) != nil })
	return gone && text(get(annotations, want.key)) == want.value
}
