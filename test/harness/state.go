package harness

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// observed reports whether the controller of a workload has acted upon its present template.
func observed(obj *unstructured.Unstructured) error {
	done, err := observedGeneration(obj)
	if err != nil {
		return final{err}
	}
	return actedUpon(obj, done)
}

// actedUpon compares with the generation that the controller of a workload has acted upon.
func actedUpon(obj metav1.Object, done int64) error {
	// Some controllers leave one that is going alone.
	if obj.GetDeletionTimestamp() == nil && done < obj.GetGeneration() {
		return fmt.Errorf("generation %d of %s is not acted upon yet", obj.GetGeneration(), obj.GetName())
	}
	return nil
}

// observedGeneration is a number, but for Rollouts, which write it as a text.
func observedGeneration(obj *unstructured.Unstructured) (int64, error) {
	if obj.GetKind() != "Rollout" {
		done, _, err := unstructured.NestedInt64(obj.Object, "status", "observedGeneration")
		return done, err
	}
	text, found, err := unstructured.NestedString(obj.Object, "status", "observedGeneration")
	if err != nil || !found {
		return 0, err
	}
	return strconv.ParseInt(text, 10, 64)
}

// ledger is the annotation by which the controller tells that it has taken a workload into its
// care.
const ledger = "reroll.dev/ledger"

// AwaitAdopted returns when the controller has noted on a workload what its pods run with. A change
// from before is judged by other evidence.
func (n *Namespace) AwaitAdopted(ctx context.Context, workload Ref) error {
	return Await(ctx, "the controller to note what "+workload.String()+" runs with", func(ctx context.Context) error {
		obj, err := n.Get(ctx, workload)
		if err != nil {
			return err
		}
		return adopted(obj)
	})
}

func adopted(obj metav1.Object) error {
	if obj.GetAnnotations()[ledger] == "" {
		return fmt.Errorf("%s has no annotation %s yet", obj.GetName(), ledger)
	}
	return nil
}

// Template returns the pod template of a workload.
func (n *Namespace) Template(ctx context.Context, workload Ref) (*corev1.PodTemplateSpec, error) {
	obj, err := n.Get(ctx, workload)
	if err != nil {
		return nil, err
	}
	return template(obj)
}

func template(obj *unstructured.Unstructured) (*corev1.PodTemplateSpec, error) {
	path := []string{"spec", "template"}
	if obj.GetKind() == "CronJob" {
		path = []string{"spec", "jobTemplate", "spec", "template"}
	}
	raw, found, err := unstructured.NestedMap(obj.Object, path...)
	if err != nil || !found {
		return nil, fmt.Errorf("%s %s has no pod template", obj.GetKind(), obj.GetName())
	}
	var t corev1.PodTemplateSpec
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, &t); err != nil {
		return nil, fmt.Errorf("the pod template of %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return &t, nil
}

// AwaitFresh returns when no pod of a workload is older than the content of a ConfigMap or Secret.
// Containers read it when they start, so this is what a reload is for. The versions of the API
// server are compared, not clocks.
func (n *Namespace) AwaitFresh(ctx context.Context, workload, source Ref) error {
	return Await(ctx, fmt.Sprintf("all pods of %s to be younger than the content of %s", workload, source), func(ctx context.Context) error {
		changed, err := n.contentVersion(ctx, source)
		if err != nil {
			return err
		}
		pods, err := n.podsOf(ctx, workload)
		if err != nil {
			return err
		}
		if len(pods) == 0 {
			return errors.New("there is no pod")
		}
		for i := range pods {
			if err := n.Observer.hasSeen(&pods[i]); err != nil {
				return err
			}
			if made := n.Observer.madeIn(pods[i].UID); made < changed {
				return fmt.Errorf("pod %s was made in version %d, the content is of version %d", pods[i].Name, made, changed)
			}
		}
		return nil
	})
}

// contentVersion returns the version in which the content of a source became what it is now.
func (n *Namespace) contentVersion(ctx context.Context, source Ref) (uint64, error) {
	if source.Kind != "configmap" && source.Kind != "secret" {
		return 0, final{fmt.Errorf("%s has no content that pods read: name a configmap or a secret", source)}
	}
	obj, err := n.Get(ctx, source)
	if err != nil {
		return 0, err
	}
	if err := n.Observer.hasSeen(obj); err != nil {
		return 0, err
	}
	n.Observer.mu.Lock()
	defer n.Observer.mu.Unlock()
	return n.Observer.contents[obj.GetUID()].changed, nil
}

// madeIn returns the version that a pod was created with, 0 if that was before the observer began.
func (o *Observer) madeIn(pod types.UID) uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.pods[pod]
}

// podsOf returns the pods that a workload owns, itself or through ReplicaSets and Jobs.
func (n *Namespace) podsOf(ctx context.Context, workload Ref) ([]corev1.Pod, error) {
	obj, err := n.Get(ctx, workload)
	if err != nil {
		return nil, err
	}
	owners := map[types.UID]bool{obj.GetUID(): true}
	sets, err := n.clients.typed.AppsV1().ReplicaSets(n.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range sets.Items {
		if metav1.IsControlledBy(&sets.Items[i], obj) {
			owners[sets.Items[i].UID] = true
		}
	}
	jobs, err := n.jobsOf(ctx, workload)
	if err != nil {
		return nil, err
	}
	for i := range jobs {
		owners[jobs[i].UID] = true
	}
	all, err := n.clients.typed.CoreV1().Pods(n.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var pods []corev1.Pod
	for _, pod := range all.Items {
		if owner := metav1.GetControllerOf(&pod); owner != nil && owners[owner.UID] {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}
