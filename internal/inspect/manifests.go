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

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/reroll-dev/reroll/internal/clientset"
)

// Manifest is an object in a file.
type Manifest struct {
	Object runtime.Object
	// mistyped are the annotations and the data with a value that is not a string. The API server
	// rejects such an object. Here, these annotations have the intended string.
	mistyped []mistyped
	// raw has also the fields that the type of the object does not have. It is nil for a Secret, whose
	// values must not stay.
	raw map[string]any
}

// Unread is a file or a document that could not be read.
type Unread struct {
	File string
	// Line is 0 for a file.
	Line int
	Text string
}

// String returns the message in the form of compilers.
func (u Unread) String() string {
	if u.Line == 0 {
		return u.File + ": " + u.Text
	}
	return fmt.Sprintf("%s:%d: %s", u.File, u.Line, u.Text)
}

// ReadManifests adds the objects of a file, and returns the documents that could not be read.
func (o *Objects) ReadManifests(file string, from io.Reader) []Unread {
	text, err := io.ReadAll(from)
	if err != nil {
		return []Unread{{File: file, Text: cmp.Or(errors.Unwrap(err), err).Error()}}
	}
	var unread []Unread
	documents(text, func(first int, document []byte) {
		all, err := Decode(bytes.NewReader(document))
		if err != nil {
			unread = append(unread, Unread{file, first + lineOf(document, err) - 1, err.Error() + hintOf(document, err)})
		}
		o.locateDocument(file, first, document)
		o.putAll(all)
	})
	return unread
}

// putAll adds objects with the mistakes in the values of their annotations.
func (o *Objects) putAll(all []Manifest) {
	for _, m := range all {
		o.Put(m.Object)
		head, err := meta.Accessor(m.Object)
		if err != nil {
			continue
		}
		gvk := m.Object.GetObjectKind().GroupVersionKind()
		name := o.named(gvk.Group, gvk.Kind, head.GetNamespace(), head.GetName())
		if kind, known := o.settings.Rules.Kinds.Of(gvk.Group, gvk.Kind); known {
			o.fieldNotes[name] = fieldNotes(kind, m.raw)
		}
		if len(m.mistyped) > 0 {
			o.mistyped[name] = m.mistyped
		}
	}
}

// hintOf returns a hint for a document that cannot be read because it is a template of Helm.
func hintOf(document []byte, err error) string {
	if _, ok := errors.AsType[unparsable](err); !ok || !bytes.Contains(document, []byte("{{")) {
		return ""
	}
	return "; it looks like a template of Helm: check the output of helm template"
}

// lineOf returns the line of an error in a document: the one that the parser names, or the first
// one with content.
func lineOf(document []byte, err error) int {
	if at, ok := errors.AsType[unparsable](err); ok && at > 0 {
		return int(at)
	}
	line := 1
	for text := range bytes.Lines(document) {
		if text = bytes.TrimSpace(text); len(text) > 0 && text[0] != '#' {
			return line
		}
		line++
	}
	return 1
}

// Decode reads manifests in YAML or JSON, including lists. A document that is not a Kubernetes
// object is an error, which comes with the objects before it. The result includes objects that do
// not matter here.
func Decode(from io.Reader) ([]Manifest, error) {
	var all []Manifest
	documents := yaml.NewYAMLOrJSONDecoder(from, 4096)
	for {
		var raw runtime.RawExtension
		if err := documents.Decode(&raw); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return all, unparsed(err)
		}
		if text := bytes.TrimSpace(raw.Raw); len(text) == 0 || string(text) == "null" {
			continue
		}
		objects, err := decodeOne(raw.Raw)
		all = append(all, objects...)
		if err != nil {
			return all, err
		}
	}
}

// unparsed keeps only the position from an error of the parser. The rest quotes text that may be
// the value of a Secret.
func unparsed(err error) error {
	text := strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ")
	text, ok := strings.CutPrefix(text, "yaml: line ")
	line, _, ended := strings.Cut(text, ":")
	if n, bad := strconv.Atoi(line); ok && ended && bad == nil {
		return unparsable(n)
	}
	return unparsable(0)
}

// unparsable is an error of the parser, with its line; 0 if that is unknown.
type unparsable int

// Error returns the message.
func (unparsable) Error() string { return "it is neither YAML nor JSON" }

// errNoKind and the following errors do not quote the text, because it may be a Secret.
const (
	errNoKind   = unusable("it is not a Kubernetes object: it has no apiVersion or no kind")
	errNoObject = unusable("it is not a Kubernetes object")
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
		var failed error
		err := plain.EachListItem(func(item runtime.Object) error {
			one, ok := item.(*unstructured.Unstructured)
			if !ok {
				return fmt.Errorf("a list with a %T in it", item)
			}
			m, err := manifestOf(one)
			if err == nil {
				all = append(all, m)
			}
			failed = cmp.Or(failed, err)
			return nil // the other items are still read
		})
		return all, cmp.Or(err, failed)
	}
	m, err := manifestOf(plain)
	if err != nil {
		return nil, err
	}
	return []Manifest{m}, nil
}

func manifestOf(plain *unstructured.Unstructured) (Manifest, error) {
	found := quote(plain)
	obj, err := typed(plain)
	m := Manifest{Object: obj, mistyped: found}
	if _, secret := obj.(*corev1.Secret); !secret {
		m.raw = plain.Object
	}
	return m, err
}

// typed converts an object to its Go type, if it has one.
func typed(plain *unstructured.Unstructured) (runtime.Object, error) {
	obj, err := clientset.Scheme.New(plain.GroupVersionKind())
	if err != nil {
		return plain, nil //nolint:nilerr // a custom kind, which has no Go type
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(plain.Object, obj); err != nil {
		if plain.GetKind() == "Secret" {
			err = errNoSecret
		}
		return nil, fmt.Errorf("%s %s: %w", plain.GetKind(), plain.GetName(), cmp.Or(wrongField(plain, obj), err))
	}
	obj.GetObjectKind().SetGroupVersionKind(plain.GroupVersionKind())
	return obj, nil
}
