package inspect

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

// Manifest is an object in a file.
type Manifest struct {
	Object runtime.Object
	// mistyped are the annotations with a value that is not a string. The API server rejects such
	// an object. Here, these annotations have the intended string.
	mistyped []mistyped
}

// ReadManifests adds the objects of a file.
func (o *Objects) ReadManifests(file string, from io.Reader) error {
	text, err := io.ReadAll(from)
	if err != nil {
		return cmp.Or(errors.Unwrap(err), err)
	}
	all, err := Decode(bytes.NewReader(text))
	if err != nil {
		return err
	}
	o.locateAll(file, text)
	for _, m := range all {
		o.Put(m.Object)
		head, err := meta.Accessor(m.Object)
		if err != nil || len(m.mistyped) == 0 {
			continue
		}
		gvk := m.Object.GetObjectKind().GroupVersionKind()
		o.mistyped[o.named(gvk.Group, gvk.Kind, head.GetNamespace(), head.GetName())] = m.mistyped
	}
	return nil
}

// Decode reads manifests in YAML or JSON, including lists. A document that is not a Kubernetes
// object is an error. The result includes objects that do not matter here.
func Decode(from io.Reader) ([]Manifest, error) {
	var all []Manifest
	documents := yaml.NewYAMLOrJSONDecoder(from, 4096)
	for n := 1; ; n++ {
		var raw runtime.RawExtension
		if err := documents.Decode(&raw); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, unparsed(err))
		}
		if text := bytes.TrimSpace(raw.Raw); len(text) == 0 || string(text) == "null" {
			continue
		}
		objects, err := decodeOne(raw.Raw)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		all = append(all, objects...)
	}
}

// unparsed keeps only the position from an error of the parser. The rest quotes text that may be
// the value of a Secret.
func unparsed(err error) error {
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	text, ok := strings.CutPrefix(text, "yaml: line ")
	line, _, ended := strings.Cut(text, ":")
	if n, bad := strconv.Atoi(line); ok && ended && bad == nil {
		return unusable(fmt.Sprintf("%s, as line %d of it shows", errNoYAML, n))
	}
	return errNoYAML
}

// errNoKind and the following errors do not quote the text, because it may be a Secret.
const (
	errNoKind   = unusable("it is not a Kubernetes object: it has no apiVersion or no kind")
	errNoObject = unusable("it is not a Kubernetes object")
	errNoYAML   = unusable("it is neither YAML nor JSON")
	errNoSecret = unusable("it is not a valid Secret")
)

// unusable is an error about input that cannot be used.
type unusable string

// Error returns the message.
func (e unusable) Error() string { return string(e) }

func decodeOne(text []byte) ([]Manifest, error) {
	var head metav1.TypeMeta
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, errNoObject
	}
	if head.Kind == "" || head.APIVersion == "" {
		return nil, errNoKind
	}
	plain := &unstructured.Unstructured{}
	if err := plain.UnmarshalJSON(text); err != nil {
		return nil, errNoObject
	}
	if plain.IsList() {
		var all []Manifest
		err := plain.EachListItem(func(item runtime.Object) error {
			one, ok := item.(*unstructured.Unstructured)
			if !ok {
				return fmt.Errorf("a list with a %T in it", item)
			}
			m, err := manifestOf(one)
			all = append(all, m)
			return err
		})
		return all, err
	}
	m, err := manifestOf(plain)
	return []Manifest{m}, err
}

func manifestOf(plain *unstructured.Unstructured) (Manifest, error) {
	found := quote(plain)
	obj, err := typed(plain)
	return Manifest{obj, found}, err
}

// typed converts an object to its Go type, if it has one.
func typed(plain *unstructured.Unstructured) (runtime.Object, error) {
	obj, err := scheme.Scheme.New(plain.GroupVersionKind())
	if err != nil {
		return plain, nil //nolint:nilerr // a custom kind, which has none
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(plain.Object, obj); err != nil {
		if plain.GetKind() == "Secret" {
			err = errNoSecret
		}
		return nil, fmt.Errorf("%s %s: %w", plain.GetKind(), plain.GetName(), err)
	}
	obj.GetObjectKind().SetGroupVersionKind(plain.GroupVersionKind())
	return obj, nil
}
