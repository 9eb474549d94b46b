package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/net/http2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Each way to change an object goes by the field manager that the kubectl command of that name has.

// Edit sets keys of a ConfigMap's or Secret's data, all in one write: "key=value" sets one, "key-"
// removes it. Values of a Secret are given as plain text.
func (n *Namespace) Edit(ctx context.Context, ref Ref, changes ...string) error {
	set, err := parseChanges(changes)
	if err != nil {
		return err
	}
	switch ref.Kind {
	case "configmap":
		return n.patch(ctx, ref, "kubectl-edit", map[string]any{"data": set})
	case "secret":
		// stringData only ever adds; to take a key away, the data itself has to be changed.
		removed := map[string]any{}
		for key, value := range set {
			if value == nil {
				removed[key] = nil
				delete(set, key)
			}
		}
		return n.patch(ctx, ref, "kubectl-edit", map[string]any{"data": removed, "stringData": set})
	default:
		return fmt.Errorf("%s has no data to edit: name a configmap or a secret", ref)
	}
}

// Rewrite writes the whole of a Secret by PUT, as a controller does that makes it of something
// else: the first argument is the object that it belongs to, the others are all of its data. An
// annotation differs each time.
func (n *Namespace) Rewrite(ctx context.Context, ref Ref, changes ...string) error {
	ownerRef, err := ParseRef(changes[0])
	if err != nil {
		return err
	}
	data, err := parseChanges(changes[1:])
	if err != nil {
		return err
	}
	owner, err := n.Get(ctx, ownerRef)
	if err != nil {
		return err
	}
	resource, err := n.at(ref)
	if err != nil {
		return err
	}
	obj, err := n.Get(ctx, ref)
	if err != nil {
		return err
	}
	obj.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: owner.GetAPIVersion(), Kind: owner.GetKind(), Name: owner.GetName(), UID: owner.GetUID()}})
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["harness/synced"] = obj.GetResourceVersion()
	obj.SetAnnotations(annotations)
	delete(obj.Object, "data")
	obj.Object["stringData"] = data
	if _, err := resource.Update(ctx, obj, metav1.UpdateOptions{FieldManager: "secret-owner"}); err != nil {
		return fmt.Errorf("rewrite %s: %w", ref, err)
	}
	return nil
}

// Annotate sets ("key=value") and removes ("key-") annotations of an object.
func (n *Namespace) Annotate(ctx context.Context, ref Ref, changes ...string) error {
	return n.patchMetadata(ctx, ref, "annotations", "kubectl-annotate", changes)
}

// Label sets and removes labels of an object.
func (n *Namespace) Label(ctx context.Context, ref Ref, changes ...string) error {
	return n.patchMetadata(ctx, ref, "labels", "kubectl-label", changes)
}

// Scale sets the number of replicas.
func (n *Namespace) Scale(ctx context.Context, ref Ref, replicas int) error {
	return n.patch(ctx, ref, "kubectl", map[string]any{"spec": map[string]any{"replicas": replicas}}, "scale")
}

// WriteStatus puts a condition with this reason into the status of a workload, as controllers write
// there all the time.
func (n *Namespace) WriteStatus(ctx context.Context, ref Ref, reason string) error {
	condition := map[string]any{"type": "Harness", "status": "True", "reason": reason}
	return n.patch(ctx, ref, "harness", map[string]any{"status": map[string]any{"conditions": []any{condition}}}, "status")
}

// Abort gives the rollout of an Argo Rollout up, as kubectl argo rollouts abort does.
func (n *Namespace) Abort(ctx context.Context, ref Ref) error {
	return n.patch(ctx, ref, "kubectl-argo-rollouts", map[string]any{"status": map[string]any{"abort": true}}, "status")
}

// Delete deletes an object and returns when it is gone.
func (n *Namespace) Delete(ctx context.Context, ref Ref) error {
	return n.remove(ctx, ref, metav1.DeletePropagationBackground)
}

// Orphan deletes an object and leaves those that it owns to themselves.
func (n *Namespace) Orphan(ctx context.Context, ref Ref) error {
	return n.remove(ctx, ref, metav1.DeletePropagationOrphan)
}

func (n *Namespace) remove(ctx context.Context, ref Ref, propagation metav1.DeletionPropagation) error {
	resource, err := n.at(ref)
	if err != nil {
		return err
	}
	obj, err := n.Get(ctx, ref)
	if err != nil {
		return err
	}
	if err := resource.Delete(ctx, ref.Name, metav1.DeleteOptions{PropagationPolicy: &propagation}); err != nil {
		return fmt.Errorf("delete %s: %w", ref, err)
	}
	return Await(ctx, "the end of "+ref.String(), func(ctx context.Context) error {
		left, err := resource.Get(ctx, ref.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		case left.GetUID() != obj.GetUID():
			return nil // somebody has made a new one already
		default:
			return fmt.Errorf("it is still there, with finalizers %q", left.GetFinalizers())
		}
	})
}

func (n *Namespace) patchMetadata(ctx context.Context, ref Ref, field, manager string, changes []string) error {
	set, err := parseChanges(changes)
	if err != nil {
		return err
	}
	return n.patch(ctx, ref, manager, map[string]any{"metadata": map[string]any{field: set}})
}

func (n *Namespace) patch(ctx context.Context, ref Ref, manager string, change map[string]any, subresources ...string) error {
	resource, err := n.at(ref)
	if err != nil {
		return err
	}
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	err = despiteEndedStreams(func() error {
		_, err := resource.Patch(ctx, ref.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: manager}, subresources...)
		return err
	})
	if err != nil {
		return fmt.Errorf("change %s: %w", ref, err)
	}
	return nil
}

// despiteEndedStreams repeats a write that may happen twice. Under load, a server ends a stream
// of a connection with many, and nobody knows whether it has read the request.
func despiteEndedStreams(write func() error) error {
	var err error
	for range 3 {
		err = write()
		if ended := (http2.StreamError{}); !errors.As(err, &ended) {
			return err
		}
	}
	return err
}

// parseChanges returns a value for each key, nil for one to be removed.
func parseChanges(changes []string) (map[string]any, error) {
	if len(changes) == 0 {
		return nil, errors.New("no change is given: write key=value to set a key, key- to remove it")
	}
	set := map[string]any{}
	for _, change := range changes {
		key, value, found := strings.Cut(change, "=")
		switch {
		case found && key != "":
			set[key] = value
		case !found && len(change) > 1 && strings.HasSuffix(change, "-"):
			set[strings.TrimSuffix(change, "-")] = nil
		default:
			return nil, fmt.Errorf("%q is no change: write key=value to set a key, key- to remove it", change)
		}
	}
	return set, nil
}
