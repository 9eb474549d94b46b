package stamp

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"

	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
)

// manifestSource is an object that carries configuration, or from which one is made in the cluster.
type manifestSource struct {
	// key is that of the ConfigMap or Secret, and kind that of the object here.
	key  source.Key
	kind string
	// object is what people call that, and empty if it gets its name in the cluster.
	object string
	digest digest.Digest
	// empty reports whether there is no data in it.
	empty       bool
	annotations source.Annotations
	renamed     renamed
	told        []told
	file        string
	line        int
}

// The kinds of which a Secret is made in the cluster.
const (
	sealedSecret   = "SealedSecret"
	externalSecret = "ExternalSecret"
)

// sourceOf returns nil for an object that is none.
func (o *Options) sourceOf(obj *object) (*manifestSource, error) {
	meta := metav1.ObjectMeta{Namespace: obj.ns, Name: obj.name, Annotations: texts(get(obj.node, "metadata", "annotations"))}
	named := obj.String()
	if obj.generated { // nothing can refer to it by what it will be called
		named, meta.Name = "", ""
	}
	var read source.Source
	switch obj.group + "/" + obj.kind {
	case "/ConfigMap":
		cm := corev1.ConfigMap{ObjectMeta: meta}
		var err error
		if cm.Data, err = stringsIn(get(obj.node, "data")); err != nil {
			return nil, err
		}
		if cm.BinaryData, err = bytesIn(get(obj.node, "binaryData")); err != nil {
			return nil, err
		}
		read = source.FromConfigMap(&cm, o.Names)
	case "/Secret":
		s := corev1.Secret{ObjectMeta: meta}
		var err error
		if s.Data, err = bytesIn(get(obj.node, "data")); err != nil {
			return nil, err
		}
		plain, err := stringsIn(get(obj.node, "stringData"))
		if err != nil {
			return nil, err
		}
		for key, value := range plain { // as the API server does
			s.Data[key] = []byte(value)
		}
		read = source.FromSecret(&s, o.Key, o.Names)
	case "bitnami.com/" + sealedSecret:
		meta.Annotations = texts(get(obj.node, "spec", "template", "metadata", "annotations"))
		return standIn(obj, named, o.secretOf(meta))
	case "external-secrets.io/" + externalSecret:
		meta.Name = cmp.Or(text(get(obj.node, "spec", "target", "name")), meta.Name)
		if template := get(obj.node, "spec", "target", "template"); template != nil && !isNull(template) {
			meta.Annotations = texts(get(template, "metadata", "annotations"))
		}
		switch text(get(obj.node, "spec", "target", "manifest", "kind")) {
		case "", source.Secret.String():
			return standIn(obj, named, o.secretOf(meta))
		case source.ConfigMap.String():
			return standIn(obj, named, source.FromConfigMap(&corev1.ConfigMap{ObjectMeta: meta}, o.Names))
		default:
			return nil, nil // no pod template refers to what it makes
		}
	default:
		return nil, nil
	}
	return &manifestSource{key: read.Key, kind: obj.kind, object: named, digest: read.Digest, empty: len(read.Keys) == 0, annotations: read.Annotations, told: toldOf(obj, nil, read.Problems), line: obj.node.Line}, nil
}

func (o *Options) secretOf(meta metav1.ObjectMeta) source.Source {
	return source.FromSecret(&corev1.Secret{ObjectMeta: meta}, digest.Key{}, o.Names)
}

// standIn stands for the Secret or ConfigMap that will be made. Its spec tells all that can be told of the content: the order and the
// style in which it is written do not count.
func standIn(obj *object, named string, made source.Source) (*manifestSource, error) {
	spec := get(obj.node, "spec")
	if spec == nil {
		return nil, wrong(obj.node, "%s has no spec", obj)
	}
	all, err := plain(spec)
	if err != nil {
		return nil, wrong(spec, "the spec of %s cannot be read: %v", obj, err)
	}
	canonical, err := json.Marshal(all)
	if err != nil {
		return nil, wrong(spec, "the spec of %s cannot be read: %v", obj, err)
	}
	sum := sha256.Sum256(canonical)
	return &manifestSource{key: made.Key, kind: obj.kind, object: named, digest: digest.Digest(sum[:len(digest.Digest{})]), annotations: made.Annotations, line: obj.node.Line}, nil
}

// stringsIn reads what the API server takes as texts. Numbers and booleans are refused there, and so is what is no mapping.
func stringsIn(n *yaml.Node) (map[string]string, error) {
	all := map[string]string{}
	err := each(n, func(key string, value *yaml.Node) error {
		all[key] = value.Value
		return nil
	})
	return all, err
}

func bytesIn(n *yaml.Node) (map[string][]byte, error) {
	all := map[string][]byte{}
	err := each(n, func(key string, value *yaml.Node) (err error) {
		if all[key], err = base64.StdEncoding.DecodeString(value.Value); err != nil {
			return wrong(value, "the value of key %q is not base64", key)
		}
		return nil
	})
	return all, err
}

func each(n *yaml.Node, take func(key string, value *yaml.Node) error) error {
	if n == nil || isNull(n) {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		return wrong(n, "data must be keys with values")
	}
	var failed error
	pairs(n, 0, func(key, value *yaml.Node) {
		switch {
		case failed != nil:
		case value.Kind == yaml.ScalarNode && isNull(value):
			failed = take(key.Value, &yaml.Node{Kind: yaml.ScalarNode})
		case value.Kind != yaml.ScalarNode:
			failed = wrong(value, "the value of key %q must be a string", key.Value)
		case value.Style == 0 && notText(value.ShortTag()):
			failed = wrong(value, "the value of key %q is not a string: put it in quotes", key.Value)
		default:
			failed = take(key.Value, value)
		}
	})
	return failed
}

func notText(tag string) bool { return tag == "!!int" || tag == "!!float" || tag == "!!bool" }
