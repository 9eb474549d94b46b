package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// KubeletSays are the words for what a kubelet would write into the status of a pod. No container
// runs here, so none fails by itself.
func KubeletSays() []string {
	return []string{"image-pull", "crash-loop", "out-of-memory", "config-error", "volume", "unready", "ready"}
}

// Kubelet writes into the status of the pods of the last revision of a Deployment or StatefulSet
// what a kubelet would, and returns when that is written into one at least. Whatever has no node is
// Pending there and stays so; the others run.
func (n *Namespace) Kubelet(ctx context.Context, ref Ref, says string) error {
	return n.kubeletOf(ctx, ref, "", says)
}

// KubeletOfNext is Kubelet for the next revision, and returns at once: the pods of that revision
// are not healthy for long, however slow the test is. It gives up when the context ends.
func (n *Namespace) KubeletOfNext(ctx context.Context, ref Ref, says string) error {
	revision, _, err := n.lastRevision(ctx, ref)
	if err != nil {
		return err
	}
	go func() {
		if err := n.kubeletOf(ctx, ref, revision, says); err != nil && ctx.Err() == nil {
			fmt.Printf("the kubelet of the next revision of %s has given up: %v\n", ref, err)
		}
	}()
	return nil
}

// kubeletOf waits for another revision than the one before.
func (n *Namespace) kubeletOf(ctx context.Context, ref Ref, before, says string) error {
	return Await(ctx, "a pod of the last revision of "+ref.String(), func(ctx context.Context) error {
		revision, pods, err := n.lastRevision(ctx, ref)
		if err != nil {
			return err
		}
		if revision == before {
			return fmt.Errorf("it is still %s", revision)
		}
		if len(pods) == 0 {
			return errors.New("there is none")
		}
		for i := range pods {
			if !spoken(&pods[i]) {
				return fmt.Errorf("nobody has said anything of %s", pods[i].Name)
			}
		}
		for i := range pods {
			if err := n.writePodStatus(ctx, &pods[i], says); err != nil {
				return err
			}
		}
		return nil
	})
}

// lastRevision is the name of the last revision of a Deployment or StatefulSet, and its pods.
func (n *Namespace) lastRevision(ctx context.Context, ref Ref) (string, []corev1.Pod, error) {
	switch ref.Kind {
	case "deployment":
		return n.lastOfDeployment(ctx, ref)
	case "statefulset":
		return n.lastOfStatefulSet(ctx, ref)
	}
	return "", nil, fmt.Errorf("%s: name a deployment or a statefulset", ref)
}

// lastOfDeployment is the newest ReplicaSet, once that is of the present template.
func (n *Namespace) lastOfDeployment(ctx context.Context, ref Ref) (string, []corev1.Pod, error) {
	d, err := n.clients.typed.AppsV1().Deployments(n.Name).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return "", nil, err
	}
	if d.Status.ObservedGeneration < d.Generation {
		return "", nil, errors.New("its controller has not seen the present template")
	}
	sets, err := n.clients.typed.AppsV1().ReplicaSets(n.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return "", nil, err
	}
	own := slices.DeleteFunc(sets.Items, func(rs appsv1.ReplicaSet) bool { return !metav1.IsControlledBy(&rs, d) })
	if len(own) == 0 {
		return "", nil, errors.New("it has no ReplicaSet")
	}
	last := slices.MaxFunc(own, func(a, b appsv1.ReplicaSet) int { return revisionOf(&a) - revisionOf(&b) })
	all, err := n.podsOf(ctx, ref)
	if err != nil {
		return "", nil, err
	}
	return last.Name, slices.DeleteFunc(all, func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, &last) }), nil
}

// lastOfStatefulSet are the pods of the present template, by the label that they have from their
// controller.
func (n *Namespace) lastOfStatefulSet(ctx context.Context, ref Ref) (string, []corev1.Pod, error) {
	s, err := n.clients.typed.AppsV1().StatefulSets(n.Name).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return "", nil, err
	}
	if s.Status.ObservedGeneration < s.Generation {
		return "", nil, errors.New("its controller has not seen the present template")
	}
	all, err := n.podsOf(ctx, ref)
	if err != nil {
		return "", nil, err
	}
	return s.Status.UpdateRevision, slices.DeleteFunc(all, func(pod corev1.Pod) bool {
		return pod.Labels[appsv1.StatefulSetRevisionLabel] != s.Status.UpdateRevision
	}), nil
}

func (n *Namespace) writePodStatus(ctx context.Context, pod *corev1.Pod, says string) error {
	status, err := SimulatedStatus(pod, says)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return err
	}
	_, err = n.clients.typed.CoreV1().Pods(n.Name).Patch(ctx, pod.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: "kubelet"}, "status")
	if err != nil {
		return fmt.Errorf("write the status of pod %s: %w", pod.Name, err)
	}
	return nil
}

// spoken reports whether scheduler and kwok are done with a pod, so that they overwrite nothing.
func spoken(pod *corev1.Pod) bool {
	if pod.Spec.NodeName != "" {
		return pod.Status.StartTime != nil
	}
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse
	})
}
