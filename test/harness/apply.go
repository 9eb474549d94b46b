package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// applier is the field manager of Apply: what kubectl apply --server-side calls itself.
const applier = "kubectl"

// Apply applies every document of a YAML text in its order, server-side. As the tools of GitOps do,
// it takes fields back that somebody else has set since. ${NS} in the text stands for the
// namespace.
func (n *Namespace) Apply(ctx context.Context, manifest string) error {
	objects, err := parseObjects(strings.ReplaceAll(manifest, "${NS}", n.Name))
	if err != nil {
		return err
	}
	if len(objects) == 0 {
		return errors.New("no object in it")
	}
	for i, obj := range objects {
		if err := n.applyObject(ctx, obj); err != nil {
			return fmt.Errorf("document %d, %s %q: %w", i+1, obj.GetKind(), obj.GetName(), err)
		}
	}
	return nil
}

func (n *Namespace) applyObject(ctx context.Context, obj *unstructured.Unstructured) error {
	if ns := obj.GetNamespace(); ns != "" && ns != n.Name {
		return fmt.Errorf("it is for namespace %q: leave the namespace out, or write ${NS}, since each test has its own", ns)
	}
	gvk := obj.GroupVersionKind()
	resource, err := n.resource(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return err
	}
	_, err = resource.Apply(ctx, obj.GetName(), obj, metav1.ApplyOptions{FieldManager: applier, Force: true})
	return err
}

func parseObjects(manifest string) ([]*unstructured.Unstructured, error) {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewBufferString(manifest), 4096)
	var objects []*unstructured.Unstructured
	for document := 1; ; document++ {
		obj := &unstructured.Unstructured{}
		err := decoder.Decode(&obj.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", document, err)
		}
		if len(obj.Object) == 0 {
			continue // nothing but comments
		}
		if obj.GetKind() == "" || obj.GetAPIVersion() == "" || obj.GetName() == "" {
			return nil, fmt.Errorf("document %d: an object needs apiVersion, kind and metadata.name", document)
		}
		objects = append(objects, obj)
	}
}
