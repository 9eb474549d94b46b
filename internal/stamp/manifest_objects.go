package stamp

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/reroll-dev/reroll/internal/kinds"
)

// object is a Kubernetes object in a document.
type object struct {
	node        *yaml.Node
	group, kind string
	// name is the prefix of the name if the cluster generates the name.
	ns, name  string
	generated bool
	// shared reports whether the object, or a list around it, is used in several places.
	shared bool
}

// String returns the usual name of the object.
func (o *object) String() string {
	if o.ns != "" {
		return o.kind + " " + o.ns + "/" + o.name
	}
	return o.kind + " " + o.name
}

// objects returns the objects of a document, including those in lists.
func (d *document) objects(t *tree, namespace string) ([]*object, error) {
	if t.root == nil || isNull(t.root) || d.shell {
		return nil, nil
	}
	w := walk{tree: t, namespace: namespace}
	if d.list == nil {
		err := w.visit(t.root, "", "", false, 0)
		return w.found, err
	}
	item := t.root
	if !d.list.inBraces {
		if item.Kind != yaml.SequenceNode || len(item.Content) != 1 {
			return nil, wrong(item, "it is not an item of a list")
		}
		item = item.Content[0]
	}
	err := w.visit(item, d.list.kind, d.list.apiVersion, false, 1)
	return w.found, err
}

type walk struct {
	*tree
	namespace string
	found     []*object
}

// visit uses the kind and group of a list for items that do not declare their own.
func (w *walk) visit(n *yaml.Node, kind, apiVersion string, shared bool, depth int) error {
	shared = shared || n.Kind == yaml.AliasNode || w.shared[n]
	at := n
	if n = resolved(n); n.Kind != yaml.MappingNode || depth > deep {
		return wrong(at, "it is not a Kubernetes object")
	}
	kind = cmp.Or(text(get(n, "kind")), kind)
	apiVersion = cmp.Or(text(get(n, "apiVersion")), apiVersion)
	switch first := n.Content; {
	case len(first) > 0 && strings.HasPrefix(first[0].Value, byteOrderMark):
		return wrong(at, "remove the byte order mark here: only the beginning of a file can have one")
	case kind == "":
		return wrong(at, "it is not a Kubernetes object: it has no kind")
	case apiVersion == "":
		return wrong(at, "it is not a Kubernetes object: %s without an apiVersion", kind)
	}
	if items := get(n, itemsKey); isList(n, kind, apiVersion, items) {
		_, written := own(n, itemsKey)
		shared = shared || written == nil || written.Kind == yaml.AliasNode || w.shared[items]
		kind, apiVersion := ofItems(kind, apiVersion)
		for _, item := range items.Content {
			if err := w.visit(item, kind, apiVersion, shared, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	group, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		group = ""
	}
	name := text(get(n, "metadata", "name"))
	w.found = append(w.found, &object{
		node: n, group: group, kind: kind, shared: shared,
		ns:   cmp.Or(text(get(n, "metadata", "namespace")), w.namespace),
		name: cmp.Or(name, text(get(n, "metadata", "generateName"))), generated: name == "",
	})
	return nil
}

// isList distinguishes lists from objects of kinds such as PriceList, which have names, or items
// that are not objects. A definite list must contain objects.
func isList(n *yaml.Node, kind, apiVersion string, items *yaml.Node) bool {
	switch {
	case !strings.HasSuffix(kind, "List") || items == nil || items.Kind != yaml.SequenceNode && !isNull(items):
		return false
	case kind == "List" && apiVersion == "v1", kind == "ResourceList":
		return true
	case get(n, "metadata", "name") != nil, get(n, "metadata", "generateName") != nil:
		return false
	}
	return !slices.ContainsFunc(items.Content, func(item *yaml.Node) bool { return resolved(item).Kind != yaml.MappingNode })
}

// kindOf returns the kind of workload of an object, in any version. A change of the pod template of
// a ReplicaSet or a ReplicationController rolls nothing, so the controller does not know these
// kinds either.
func (o *Options) kindOf(obj *object) (*kinds.Kind, bool) {
	kind, ok := o.Kinds.Of(obj.group, obj.kind)
	if !ok || kind.Name == kinds.Jobs().Name && !o.Jobs {
		return nil, false
	}
	return &kind, true
}
