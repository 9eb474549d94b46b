package harness

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Rolls returns how often a workload has rolled, once everything is seen that has led to the
// present state of the namespace. Whether more is to come is another question: see Quiet.
func (n *Namespace) Rolls(ctx context.Context, workload Ref) (int, error) {
	if err := n.caughtUp(ctx); err != nil {
		return 0, err
	}
	if err := n.Observer.knows(workload); err != nil {
		return 0, err
	}
	return n.Observer.Rollouts(workload)
}

// AwaitRolls returns when a workload has rolled this often and its pods all run the last revision.
// That it has rolled more often is an error at once.
func (n *Namespace) AwaitRolls(ctx context.Context, workload Ref, wanted int) error {
	return Await(ctx, fmt.Sprintf("%s to have rolled, times: %d", workload, wanted), func(ctx context.Context) error {
		rolled, err := n.Observer.Rollouts(workload)
		if err != nil {
			return final{err}
		}
		if rolled < wanted {
			return errors.Join(fmt.Errorf("it is %d yet", rolled), n.Observer.knows(workload))
		}
		if rolled > wanted {
			// The count never falls, so there is nothing to wait for.
			return final{fmt.Errorf("it is %d already", rolled)}
		}
		return n.complete(ctx, workload)
	})
}

// Made returns how many pods were made for a workload since the namespace is watched, once
// everything is seen that has led to its present state.
func (n *Namespace) Made(ctx context.Context, workload Ref) (int, error) {
	if err := n.caughtUp(ctx); err != nil {
		return 0, err
	}
	known := n.Observer.knows(workload)
	if runsAndEnds(workload) {
		known = n.begun(ctx, workload)
	}
	if known != nil {
		return 0, known
	}
	if err := Await(ctx, "the observer to see all pods of "+workload.String(), func(ctx context.Context) error {
		pods, err := n.podsOf(ctx, workload)
		if err != nil {
			return err
		}
		for i := range pods {
			if err := n.Observer.hasSeen(&pods[i]); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		return 0, err
	}
	return n.Observer.Made(workload)
}

// AwaitReady returns when all pods of a workload run its last template and are available.
func (n *Namespace) AwaitReady(ctx context.Context, workload Ref) error {
	return Await(ctx, workload.String()+" to be ready", func(ctx context.Context) error {
		return n.complete(ctx, workload)
	})
}

// complete answers what kubectl rollout status does.
func (n *Namespace) complete(ctx context.Context, workload Ref) error {
	obj, err := n.Get(ctx, workload)
	if err != nil {
		return err
	}
	if err := observed(obj); err != nil {
		return err
	}
	from := runtime.DefaultUnstructuredConverter.FromUnstructured
	switch workload.Kind {
	case "deployment":
		var d appsv1.Deployment
		if err := from(obj.Object, &d); err != nil {
			return final{err}
		}
		return allNew(replicas(d.Spec.Replicas), d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas)
	case "statefulset":
		var s appsv1.StatefulSet
		if err := from(obj.Object, &s); err != nil {
			return final{err}
		}
		return allNew(replicas(s.Spec.Replicas), s.Status.Replicas, s.Status.UpdatedReplicas, s.Status.AvailableReplicas)
	case "daemonset":
		var d appsv1.DaemonSet
		if err := from(obj.Object, &d); err != nil {
			return final{err}
		}
		if d.Status.DesiredNumberScheduled == 0 {
			return errors.New("it has no node to run on yet")
		}
		return allNew(d.Status.DesiredNumberScheduled, d.Status.CurrentNumberScheduled, d.Status.UpdatedNumberScheduled, d.Status.NumberAvailable)
	case "rollout":
		return completeRollout(obj)
	default:
		return final{fmt.Errorf("%s has no rollout: name a deployment, statefulset, daemonset or rollout", workload)}
	}
}

// completeRollout also waits until the former pods are gone, which a Rollout itself does not.
func completeRollout(obj *unstructured.Unstructured) error {
	var r struct {
		Spec struct {
			Replicas  *int32 `json:"replicas"`
			RestartAt string `json:"restartAt"`
		} `json:"spec"`
		Status struct {
			Replicas          int32  `json:"replicas"`
			UpdatedReplicas   int32  `json:"updatedReplicas"`
			AvailableReplicas int32  `json:"availableReplicas"`
			Phase             string `json:"phase"`
			Message           string `json:"message"`
			RestartedAt       string `json:"restartedAt"`
		} `json:"status"`
	}
	wanted := map[string]any{"spec": obj.Object["spec"], "status": obj.Object["status"]}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(wanted, &r); err != nil {
		return final{err}
	}
	if r.Status.Phase != "Healthy" || r.Spec.RestartAt != r.Status.RestartedAt {
		return fmt.Errorf("its phase is %q (%s), it was restarted at %q and is to be at %q", r.Status.Phase, r.Status.Message, r.Status.RestartedAt, r.Spec.RestartAt)
	}
	return allNew(replicas(r.Spec.Replicas), r.Status.Replicas, r.Status.UpdatedReplicas, r.Status.AvailableReplicas)
}

// workloadKinds are those whose templates lead to pods here.
func (n *Namespace) workloadKinds() []string {
	kinds := []string{"deployment", "statefulset", "daemonset"}
	if n.argoRollouts {
		kinds = append(kinds, "rollout")
	}
	return kinds
}

func replicas(wanted *int32) int32 {
	if wanted == nil {
		return 1
	}
	return *wanted
}

func allNew(wanted, all, updated, available int32) error {
	if all != wanted || updated != wanted || available != wanted {
		return fmt.Errorf("of the %d pods wanted %d are there, %d of the last revision, %d available", wanted, all, updated, available)
	}
	return nil
}

// caughtUp returns when Kubernetes has acted upon every template in the namespace and the observer
// has seen what it did.
func (n *Namespace) caughtUp(ctx context.Context) error {
	return Await(ctx, "Kubernetes to act upon all templates, and the observer to see it", func(ctx context.Context) error {
		for _, acted := range []func(context.Context) error{n.actedUponDeployments, n.actedUponSets, n.actedUponRollouts, n.seenRevisions} {
			if err := acted(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// Scenarios ask this more than anything else. Objects with types take a third of the time of
// others.
func (n *Namespace) actedUponDeployments(ctx context.Context) error {
	list, err := n.clients.typed.AppsV1().Deployments(n.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		if err := actedUpon(&list.Items[i], list.Items[i].Status.ObservedGeneration); err != nil {
			return err
		}
	}
	return nil
}

func (n *Namespace) actedUponSets(ctx context.Context) error {
	sets, err := n.clients.typed.AppsV1().StatefulSets(n.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range sets.Items {
		if err := actedUpon(&sets.Items[i], sets.Items[i].Status.ObservedGeneration); err != nil {
			return err
		}
	}
	daemons, err := n.clients.typed.AppsV1().DaemonSets(n.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range daemons.Items {
		if err := actedUpon(&daemons.Items[i], daemons.Items[i].Status.ObservedGeneration); err != nil {
			return err
		}
	}
	return nil
}

func (n *Namespace) actedUponRollouts(ctx context.Context) error {
	if !n.argoRollouts {
		return nil
	}
	resource, err := n.at(Ref{Kind: "rollout"})
	if err != nil {
		return err
	}
	list, err := resource.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		if err := observed(&list.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

func (n *Namespace) seenRevisions(ctx context.Context) error {
	sets, err := n.clients.typed.AppsV1().ReplicaSets(n.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range sets.Items {
		if err := n.Observer.hasSeen(&sets.Items[i]); err != nil {
			return err
		}
	}
	revisions, err := n.clients.typed.AppsV1().ControllerRevisions(n.Name).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range revisions.Items {
		if err := n.Observer.hasSeen(&revisions.Items[i]); err != nil {
			return err
		}
	}
	return nil
}
