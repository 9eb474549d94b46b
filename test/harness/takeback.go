package harness

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Unmark takes every mark out of a pod template, as a tool does that writes the whole of it.
func (n *Namespace) Unmark(ctx context.Context, ref Ref) error {
	return n.replace(ctx, ref, "whole-template", func(obj *unstructured.Unstructured) error {
		containers, _, err := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers")
		if err != nil {
			return err
		}
		for _, c := range containers {
			container, _ := c.(map[string]any)
			env, _, _ := unstructured.NestedSlice(container, "env")
			env = slices.DeleteFunc(env, func(e any) bool {
				name, _, _ := unstructured.NestedString(e.(map[string]any), "name")
				return strings.HasPrefix(name, "STAKATER_")
			})
			container["env"] = env
		}
		for _, key := range []string{"reloader.stakater.com/last-reloaded-from", "reroll.dev/rolled"} {
			unstructured.RemoveNestedField(obj.Object, "spec", "template", "metadata", "annotations", key)
		}
		return unstructured.SetNestedSlice(obj.Object, containers, "spec", "template", "spec", "containers")
	})
}

// Undo puts the pod template and the annotations of the revision before the present one back, as
// kubectl rollout undo does for a Deployment. Before Kubernetes has acted upon the present template,
// that would be the revision before the previous one.
func (n *Namespace) Undo(ctx context.Context, ref Ref) error {
	var deployment *unstructured.Unstructured
	if err := Await(ctx, "Kubernetes to act upon "+ref.String(), func(ctx context.Context) (err error) {
		if deployment, err = n.Get(ctx, ref); err != nil {
			return final{err}
		}
		return observed(deployment)
	}); err != nil {
		return err
	}
	sets, err := n.clients.typed.AppsV1().ReplicaSets(n.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list the revisions of %s: %w", ref, err)
	}
	own := slices.DeleteFunc(sets.Items, func(rs appsv1.ReplicaSet) bool { return !metav1.IsControlledBy(&rs, deployment) })
	if len(own) < 2 {
		return fmt.Errorf("%s has %d revisions: there is none to go back to", ref, len(own))
	}
	slices.SortFunc(own, func(a, b appsv1.ReplicaSet) int { return revisionOf(&a) - revisionOf(&b) })
	before := own[len(own)-2]
	delete(before.Spec.Template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	template, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&before.Spec.Template)
	if err != nil {
		return err
	}
	return n.replace(ctx, ref, "kubectl-rollout", func(obj *unstructured.Unstructured) error {
		ofDeployment := func(key string, _ string) bool {
			return !strings.HasPrefix(key, "deployment.kubernetes.io/") && key != "kubectl.kubernetes.io/last-applied-configuration"
		}
		annotations := obj.GetAnnotations()
		maps.DeleteFunc(annotations, ofDeployment)
		for key, value := range before.Annotations {
			if ofDeployment(key, value) {
				annotations[key] = value
			}
		}
		obj.SetAnnotations(annotations)
		return unstructured.SetNestedMap(obj.Object, template, "spec", "template")
	})
}

func revisionOf(rs *appsv1.ReplicaSet) int {
	number, _ := strconv.Atoi(rs.Annotations["deployment.kubernetes.io/revision"])
	return number
}

// replace writes a whole object, again if somebody else was faster.
func (n *Namespace) replace(ctx context.Context, ref Ref, manager string, change func(*unstructured.Unstructured) error) error {
	resource, err := n.at(ref)
	if err != nil {
		return err
	}
	return Await(ctx, "a write of "+ref.String(), func(ctx context.Context) error {
		obj, err := resource.Get(ctx, ref.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := change(obj); err != nil {
			return err
		}
		_, err = resource.Update(ctx, obj, metav1.UpdateOptions{FieldManager: manager})
		return err
	})
}

// Own makes another object the one whose controller has made this one.
func (n *Namespace) Own(ctx context.Context, ref, by Ref) error {
	owner, err := n.Get(ctx, by)
	if err != nil {
		return err
	}
	return n.replace(ctx, ref, "operator", func(obj *unstructured.Unstructured) error {
		obj.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, owner.GroupVersionKind())})
		return nil
	})
}
