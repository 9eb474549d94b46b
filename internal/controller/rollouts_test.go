package controller

import (
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/workqueue"
)

func TestThePodsOfACompletedRolloutAreListedOnce(t *testing.T) {
	r := newRoad(t)
	for i := range int32(3) {
		r.status(4, i, 3)
		r.play(30 * time.Second)
	}
	r.want(0)
	r.pods(0, 3)
	r.status(3, 3, 3)
	r.play(time.Second)
	r.want(1, "rolled 3 pods after 1m31s")

	// Afterwards nobody asks for anything, whatever the status says.
	for i := range int32(20) {
		r.status(3, 3, i%3)
		r.play(time.Hour)
	}
	r.want(1, "rolled 3 pods after 1m31s")
	if r.controller.RolloutsInProgress() != 0 || r.controller.rollouts.Depth() != 0 {
		t.Errorf("%d are followed, %d wait", r.controller.RolloutsInProgress(), r.controller.rollouts.Depth())
	}
}

func TestTheStatusAloneProvesNothing(t *testing.T) {
	r := newRoad(t)
	r.pods(1, 2)
	r.status(3, 3, 3)
	r.play(time.Minute)
	r.want(1)
	// It is asked again when the status has come to rest once more.
	r.status(4, 2, 3)
	r.pods(0, 3)
	r.status(3, 3, 3)
	r.play(time.Minute)
	r.want(2, "rolled 3 pods after 1m1s")
}

// A StatefulSet deletes its last old Pod before it creates the new one, which may never start.
func TestARolloutIsNotCompleteUntilItsLastPodExists(t *testing.T) {
	r := newRoad(t)
	r.change(func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(3)) })
	r.pods(0, 2)
	r.status(2, 2, 2)
	r.play(time.Minute)
	r.want(0)
	r.pods(0, 3, unready)
	r.status(3, 3, 2)
	r.play(time.Minute)
	r.want(1, "rolled 3 pods after 1m1s")
}

// The status counts pods, and the selector finds none. They may be from before the reload.
func TestARolloutWithoutFoundPodsIsNotComplete(t *testing.T) {
	r := newRoad(t)
	r.pods(0, 0)
	r.status(3, 3, 3)
	r.play(9 * time.Minute)
	r.want(1)
	r.play(2 * time.Minute)
	r.want(2, "not rolled: pods-not-found, 0 of 0")
	r.pods(0, 3)
	r.play(time.Hour)
	if last := r.lines[len(r.lines)-1]; r.controller.RolloutsInProgress() != 0 || last[:len("rolled 3 pods")] != "rolled 3 pods" {
		t.Errorf("%d are followed, told was %q", r.controller.RolloutsInProgress(), r.lines)
	}
}

func TestAReloadThatIsStuckIsToldOnceAfterItsDeadline(t *testing.T) {
	r := newRoad(t)
	r.status(4, 1, 3)
	r.pods(3, 1, unready)
	r.play(9 * time.Minute)
	r.want(0)
	r.play(2 * time.Minute)
	r.want(1, "not rolled: readiness, 3 of 4")
	// What its status says meanwhile, and that a pod is ready for a moment, changes nothing.
	for i := range int32(50) {
		r.status(4, 1, 3+i%2)
		r.play(20 * time.Minute)
	}
	// In 17 hours it has come forward once; since then it was asked after 10, 20, 40 minutes and so
	// on.
	r.want(9, "not rolled: readiness, 3 of 4")
	r.pods(0, 3)
	r.status(3, 3, 3)
	r.play(time.Second)
	if last := r.lines[len(r.lines)-1]; len(r.lines) != 2 || last[:len("rolled 3 pods")] != "rolled 3 pods" {
		t.Errorf("told was %q", r.lines)
	}
}

func TestACauseInPodsAfterTheDeadlineIsReported(t *testing.T) {
	r := newRoad(t)
	r.status(4, 1, 3)
	r.pods(3, 1)
	r.play(11 * time.Minute)
	r.want(1, "not rolled: unknown, 3 of 4")
	r.pods(3, 1, unready)
	r.play(8 * time.Minute)
	r.want(1, "not rolled: unknown, 3 of 4")
	r.play(2 * time.Minute)
	r.want(2, "not rolled: unknown, 3 of 4", "not rolled: readiness, 3 of 4")
	// A week of that is few requests, and nothing more is reported.
	r.play(7 * 24 * time.Hour)
	r.want(10, "not rolled: unknown, 3 of 4", "not rolled: readiness, 3 of 4")
}

// A Pod that crashed becomes ready, and the deadline of the workload is shorter than the time in
// which Kubernetes deletes the older Pods.
func TestAnUnknownCauseDoesNotFollowAProblemOfThePods(t *testing.T) {
	r := newRoad(t)
	r.status(4, 1, 3)
	r.pods(3, 1, unready)
	r.play(11 * time.Minute)
	r.want(1, "not rolled: readiness, 3 of 4")
	r.pods(3, 1)
	r.play(11 * time.Minute)
	r.want(2, "not rolled: readiness, 3 of 4")
	r.pods(0, 3)
	r.status(3, 3, 3)
	r.play(time.Second)
	r.want(3, "not rolled: readiness, 3 of 4", "rolled 3 pods after 22m1s")
}

func TestACauseInTheStatusAfterTheDeadlineIsReportedAtOnce(t *testing.T) {
	r := newRoad(t)
	quota := func(there bool) {
		r.change(func(d *appsv1.Deployment) {
			d.Status.Conditions = nil
			if there {
				d.Status.Conditions = []appsv1.DeploymentCondition{{
					Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota: two",
				}}
			}
		})
	}
	r.status(3, 0, 3)
	r.pods(3, 0)
	quota(true)
	r.play(5 * time.Minute)
	r.want(0)
	quota(false)
	r.play(6 * time.Minute)
	r.want(1, "not rolled: unknown, 3 of 3")
	quota(true)
	r.play(time.Second)
	r.want(2, "not rolled: unknown, 3 of 3", "not rolled: quota, 3 of 3")
	// It comes and goes, which is no reason to ask.
	for i := range 100 {
		quota(i%2 == 0)
		r.play(time.Second)
	}
	r.want(2, "not rolled: unknown, 3 of 3", "not rolled: quota, 3 of 3")
}

func TestASlowRolloutWithProgressIsNotStuck(t *testing.T) {
	r := newRoad(t)
	r.status(31, 1, 30)
	for i := range int32(29) {
		r.play(9 * time.Minute)
		r.status(31, 2+i, 30)
	}
	r.want(0)
}

func TestTheDeadlineIsTheProgressDeadlineOfTheWorkload(t *testing.T) {
	r := newRoad(t)
	r.status(4, 1, 3)
	r.pods(3, 1, unready)
	r.play(time.Minute)
	r.change(func(d *appsv1.Deployment) { d.Spec.ProgressDeadlineSeconds = new(int32(30)) })
	r.status(4, 1, 3)
	r.play(time.Second)
	r.want(1, "not rolled: readiness, 3 of 4")
}

func TestAnotherTemplateHasItsOwnTime(t *testing.T) {
	r := newRoad(t)
	r.status(4, 1, 3)
	r.pods(3, 1, unready)
	r.play(11 * time.Minute)
	r.want(1, "not rolled: readiness, 3 of 4")
	r.change(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "web:2.0" })
	r.pods(3, 1, func(pod *corev1.Pod) {
		pod.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse}}}
	})
	r.status(4, 1, 3)
	r.play(9 * time.Minute)
	r.want(1, "not rolled: readiness, 3 of 4")
	r.play(2 * time.Minute)
	r.want(2, "not rolled: readiness, 3 of 4", "not rolled: unschedulable, 3 of 4")
}

func TestAPausedDeploymentIsReportedAtOnceWithoutListingPods(t *testing.T) {
	r := newRoad(t)
	r.change(func(d *appsv1.Deployment) { d.Spec.Paused = true })
	r.status(3, 0, 3)
	for range 5 {
		r.play(time.Hour)
		r.status(3, 0, 3)
	}
	r.want(0, "not rolled: paused, 3 of 3")
	// It goes on later, and from then on has its time.
	r.change(func(d *appsv1.Deployment) { d.Spec.Paused = false })
	r.status(3, 0, 3)
	r.play(time.Second)
	r.want(0, "not rolled: paused, 3 of 3")
	r.status(4, 1, 3)
	r.pods(3, 1, unready)
	r.play(9 * time.Minute)
	r.want(0, "not rolled: paused, 3 of 3")
	r.play(2 * time.Minute)
	r.want(1, "not rolled: paused, 3 of 3", "not rolled: readiness, 3 of 4")
}

func TestAFailedListOfPodsIsRetried(t *testing.T) {
	r := newRoad(t)
	r.pods(0, 3)
	r.refuses = errors.New("not now")
	r.status(3, 3, 3)
	r.play(time.Minute)
	if r.failed < 3 || r.failed != r.askedAfter || len(r.lines) != 0 {
		t.Fatalf("%d failures for %d tries, told was %q", r.failed, r.askedAfter, r.lines)
	}
	r.refuses = nil
	r.play(workqueue.LastRetry)
	if len(r.lines) != 1 {
		t.Errorf("told was %q", r.lines)
	}
}

func TestADeletedWorkloadLeavesNoRetries(t *testing.T) {
	r := newRoad(t)
	r.refuses = errors.New("not now")
	r.status(3, 3, 3)
	r.play(time.Minute)
	if r.controller.rollouts.TriesOf(named("web")) == 0 {
		t.Fatal("listing the Pods did not fail")
	}
	r.deployments().departs(inShop("web"), "")
	r.play(workqueue.LastRetry)
	if tries := r.controller.rollouts.TriesOf(named("web")); tries != 0 {
		t.Errorf("a new workload of the name begins with %d tries", tries)
	}
}

func TestWhatEndsBeforeItsEnd(t *testing.T) {
	for about, end := range map[string]func(*road){
		"the workload is deleted": func(r *road) { r.deployments().departs(inShop("web"), "") },
		"its mark is taken away": func(r *road) {
			r.change(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Env = nil })
		},
	} {
		t.Run(about, func(t *testing.T) {
			r := newRoad(t)
			end(r)
			if r.controller.RolloutsInProgress() != 0 {
				t.Fatal("it is followed")
			}
			before := r.askedAfter
			r.controller.rollouts.Add(named("web"), 0, 0)
			r.play(time.Second)
			r.want(before)
		})
	}
}

func TestANewerReloadTakesThePlaceOfTheOneBefore(t *testing.T) {
	r := newRoad(t)
	r.status(4, 1, 3)
	r.pods(3, 1, unready)
	r.play(11 * time.Minute)
	r.edit("web", "3")
	r.play(time.Minute)
	r.pods(0, 3)
	r.status(3, 3, 3)
	r.play(time.Second)
	r.want(2, "not rolled: readiness, 3 of 4", "rolled 3 pods after 59s")
}

func TestARolloutUnderAnotherImageIsTheEndOfTheReloadToo(t *testing.T) {
	r := newRoad(t)
	r.change(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "web:2.0" })
	r.pods(0, 3)
	r.status(3, 3, 3)
	r.play(time.Second)
	r.want(1, "rolled 3 pods after 1s")
}

func TestADryRunFollowsNothing(t *testing.T) {
	r := newRoad(t)
	r.status(4, 1, 3)
	n := r.next(func(o *Options) { o.DryRun = true })
	n.edit("web", "3")
	n.play(time.Hour)
	if n.controller.RolloutsInProgress() != 0 || n.askedAfter != 0 {
		t.Errorf("%d are followed, asked for %d times", n.controller.RolloutsInProgress(), n.askedAfter)
	}
}
