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

// KubeletSays are the words for what a kubelet would write into the status of a pod. No container runs here, so none fails
// by itself.
func KubeletSays() []string {
	return []string{"image-pull", "crash-loop", "out-of-memory", "config-error", "volume", "unready", "ready"}
}

// Kubelet writes into the status of the pods of the last revision of a Deployment or StatefulSet what a kubelet would, and
// returns when that is written into one at least. Whatever has no node is Pending there and stays so; the others run.
func (n *Namespace) Kubelet(ctx context.Context, ref Ref, says string) error {
	last := map[string]func(context.Context, Ref) ([]corev1.Pod, error){"deployment": n.lastOfDeployment, "statefulset": n.lastOfStatefulSet}[ref.Kind]
	if last == nil {
		return fmt.Errorf("%s: name a deployment or a statefulset", ref)
	}
	return Await(ctx, "a pod of the last revision of "+ref.String(), func(ctx context.Context) error {
		pods, err := last(ctx, ref)
		if err != nil {
			return err
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

// lastOfDeployment are those of the newest ReplicaSet, once that is of the present template.
func (n *Namespace) lastOfDeployment(ctx context.Context, ref Ref) ([]corev1.Pod, error) {
	d, err := n.clients.typed.AppsV1().Deployments(n.Name).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if d.Status.ObservedGeneration < d.Generation {
		return nil, errors.New("its controller has not seen the present template")
	}
	sets, err := n.clients.typed.AppsV1().ReplicaSets(n.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(sets.Items, func(rs appsv1.ReplicaSet) bool { return !metav1.IsControlledBy(&rs, d) })
	if len(own) == 0 {
		return nil, errors.New("it has no ReplicaSet")
	}
	last := slices.MaxFunc(own, func(a, b appsv1.ReplicaSet) int { return revisionOf(&a) - revisionOf(&b) })
	all, err := n.podsOf(ctx, ref)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, &last) }), nil
}

// lastOfStatefulSet are those of the present template, by the label that they have from their controller.
func (n *Namespace) lastOfStatefulSet(ctx context.Context, ref Ref) ([]corev1.Pod, error) {
	s, err := n.clients.typed.AppsV1().StatefulSets(n.Name).Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if s.Status.ObservedGeneration < s.Generation {
		return nil, errors.New("its controller has not seen the present template")
	}
	all, err := n.podsOf(ctx, ref)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(pod corev1.Pod) bool {
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
