package controller

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// told keeps the reports about the ends of rollouts.
type told struct {
	stageReport
	lines *[]string
}

// Rolled implements Report.
func (r told) Rolled(_ *workload.Workload, o rollout.Outcome, took time.Duration) {
	*r.lines = append(*r.lines, fmt.Sprintf("rolled %d pods after %s", o.All, took.Round(time.Second)))
}

// NotRolled implements Report.
func (r told) NotRolled(_ *workload.Workload, o rollout.Outcome) {
	*r.lines = append(*r.lines, fmt.Sprintf("not rolled: %s, %d of %d", o.Cause, o.Old, o.All))
}

// road is a stage with a Deployment whose reload is tracked. Before is the progress until then,
// rolled out.
type road struct {
	*stage
	lines  []string
	before simapi.Object
}

func newRoad(t *testing.T) *road {
	t.Helper()
	r := &road{stage: newStage(t)}
	r.tells(told{stageReport{stage: r.stage}, &r.lines})
	r.add("web", true, "")
	r.status(3, 3, 3)
	r.play(time.Minute)
	before := r.stands().(*appsv1.Deployment).DeepCopy()
	before.Status.ObservedGeneration = before.Generation
	r.before = before
	r.edit("web", "2")
	r.play(2 * time.Second)
	if r.controller.RolloutsInProgress() != 1 || r.askedAfter != 0 {
		t.Fatalf("%d are followed, pods were asked for %d times", r.controller.RolloutsInProgress(), r.askedAfter)
	}
	return r
}

// stands is the Deployment of the API server.
func (r *road) stands() simapi.Object {
	r.Helper()
	obj, err := r.server.Get("deployments", inShop("web"))
	if err != nil {
		r.Fatal(err)
	}
	return obj
}

// status is what the Deployment's controller says of what it has seen last.
func (r *road) status(total, updated, available int32) {
	r.Helper()
	r.change(func(d *appsv1.Deployment) {
		d.Status.ObservedGeneration = d.Generation
		d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas = total, updated, available
	})
}

// pods are what there is: of the reload as many as of the template, and others.
func (r *road) pods(old, updated int, troubles ...func(*corev1.Pod)) {
	r.Helper()
	obj := r.stands()
	r.running = nil
	for i := range old + updated {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("web-%d", i)},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
		}
		if i >= old {
			pod.Spec = obj.(*appsv1.Deployment).Spec.Template.Spec
			for _, trouble := range troubles {
				trouble(pod)
			}
		}
		r.running = append(r.running, rollout.ReadPod(pod, annotations.DefaultNames()))
	}
}

func (r *road) want(asked int, lines ...string) {
	r.Helper()
	if r.askedAfter != asked || !slices.Equal(r.lines, lines) {
		r.Errorf("pods were asked for %d times, told was %q; want %d times, %q", r.askedAfter, r.lines, asked, lines)
	}
}

func unready(pod *corev1.Pod) { pod.Status.Conditions = nil }
