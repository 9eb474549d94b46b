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

// manifestSource is an object with configuration, or an object that creates one in the cluster.
type manifestSource struct {
	// key identifies the ConfigMap or Secret. kind is the kind of the object in the manifest.
	key  source.Key
	kind string
	// object is the usual name of the object, or empty if it gets its name in the cluster.
	object string
	digest digest.Digest
	// data is nil for an object that creates the source, so that its keys are unknown.
	data *source.Source
	// empty reports whether the object has no data.
	empty       bool
	annotations source.Annotations
	renamed     renamed
	warnings    []warning
	file        string
	line        int
}

// The kinds that create a Secret in the cluster.
const (
	sealedSecret   = "SealedSecret"
	externalSecret = "ExternalSecret"
)

// sourceOf returns nil for an object that is not a source.
func (o *Options) sourceOf(obj *object) (*manifestSource, error) {
	meta := metav1.ObjectMeta{Namespace: obj.ns, Name: obj.name, Annotations: texts(get(obj.node, "metadata", "annotations")), Labels: texts(get(obj.node, "metadata", "labels"))}
	named := obj.String()
	if obj.generated { // its name in the cluster is unknown, so nothing can reference it
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
		for key, value := range plain { // like the API server
			s.Data[key] = []byte(value)
		}
		read = source.FromSecret(&s, o.Key, o.Names)
	case "bitnami.com/" + sealedSecret:
		meta.Annotations, meta.Labels = texts(get(obj.node, "spec", "template", "metadata", "annotations")), texts(get(obj.node, "spec", "template", "metadata", "labels"))
		return standIn(obj, named, o.secretOf(meta))
	case "external-secrets.io/" + externalSecret:
		meta.Name = cmp.Or(text(get(obj.node, "spec", "target", "name")), meta.Name)
		if template := get(obj.node, "spec", "target", "template"); template != nil && !isNull(template) {
			meta.Annotations, meta.Labels = texts(get(template, "metadata", "annotations")), texts(get(template, "metadata", "labels"))
		}
		switch text(get(obj.node, "spec", "target", "manifest", "kind")) {
		case "", source.Secret.String():
			return standIn(obj, named, o.secretOf(meta))
		case source.ConfigMap.String():
			return standIn(obj, named, source.FromConfigMap(&corev1.ConfigMap{ObjectMeta: meta}, o.Names))
		default:
			return nil, nil // no pod template references the created object
		}
	default:
		return nil, nil
	}
	return &manifestSource{key: read.Key, kind: obj.kind, object: named, digest: read.Digest, data: &read, empty: len(read.Keys) == 0, annotations: read.Annotations, warnings: warningsOf(obj, nil, read.Mistakes), line: obj.node.Line}, nil
}

// digestOf is the digest of the keys that count, or of everything if the keys are unknown.
func (s *manifestSource) digestOf(keys *source.Keys) digest.Digest {
	if s.data == nil {
		return s.digest
	}
	return s.data.DigestOf(keys)
}

func (o *Options) secretOf(meta metav1.ObjectMeta) source.Source {
	return source.FromSecret(&corev1.Secret{ObjectMeta: meta}, digest.Key{}, o.Names)
}

// standIn represents the Secret or ConfigMap that will be created. Its digest covers the spec,
// without the order and the style of the text.
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

// stringsIn reads values that the API server accepts as strings. Like the API server, it rejects
// numbers, booleans, and anything that is not a mapping.
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
