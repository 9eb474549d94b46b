package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Insists says what a tool takes away from a workload each time it sees it there.
type Insists struct{ Marks, Ledger bool }

// Insist is a tool that takes away what the controller writes, until the context ends. It returns
// when it has begun.
func (n *Namespace) Insist(ctx context.Context, ref Ref, what Insists) error {
	resource, err := n.at(ref)
	if err != nil {
		return err
	}
	only := fields.OneTermEqualSelector("metadata.name", ref.Name).String()
	lw := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			opts.FieldSelector = only
			return resource.List(ctx, opts)
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			opts.FieldSelector = only
			return resource.Watch(ctx, opts)
		},
	}
	take := func(c change) error {
		obj, ok := c.object.(*unstructured.Unstructured)
		if !ok || c.deleted {
			return nil
		}
		marked, noted := marksOf(obj), obj.GetAnnotations()[ledger] != ""
		var err error
		if what.Marks && marked {
			err = n.Unmark(ctx, ref)
		}
		if what.Ledger && noted {
			err = errors.Join(err, n.Annotate(ctx, ref, ledger+"-"))
		}
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	return follow(ctx, lw, take, func(err error) { fmt.Printf("whoever takes the marks of %s away has given up: %v\n", ref, err) })
}

// marksOf reports whether a mark stands in the pod template.
func marksOf(obj *unstructured.Unstructured) bool {
	annotations, _, _ := unstructured.NestedStringMap(obj.Object, "spec", "template", "metadata", "annotations")
	for _, key := range []string{"reloader.stakater.com/last-reloaded-from", "reroll.dev/rolled"} {
		if annotations[key] != "" {
			return true
		}
	}
	containers, _, _ := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers")
	for _, c := range containers {
		container, _ := c.(map[string]any)
		env, _, _ := unstructured.NestedSlice(container, "env")
		for _, e := range env {
			variable, _ := e.(map[string]any)
			if name, _ := variable["name"].(string); strings.HasPrefix(name, "STAKATER_") {
				return true
			}
		}
	}
	return false
}
