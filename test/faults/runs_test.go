package faults

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/test/harness"
)

const (
	hasLanded = "killed when it has landed"
	noLedger  = hasLanded + ", and the ledger taken away"
)

// runWays are how a write about a Job or CronJob meets the end of the controller.
func runWays() map[string]func(*exchange) {
	return map[string]func(*exchange){
		"killed before it is passed on": func(x *exchange) { x.kill(); x.hangUp() },
		hasLanded:                       func(x *exchange) { x.swallow(); x.kill(); x.hangUp() },
		// Until the Job goes, it is what tells that it is owed.
		noLedger: func(x *exchange) { x.swallow(); x.kill(); x.hangUp() },
		"killed with a refusal on its way": func(x *exchange) {
			x.kill()
			x.refuse(http.StatusInternalServerError, metav1.StatusReasonInternalError, 0)
		},
		"answer lost": func(x *exchange) { x.loseAnswer() },
		"refused":     func(x *exchange) { x.refuse(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, 0) },
	}
}

// Whatever dies between which two writes: one change is one run, no run is lost and none comes
// twice.
func TestACronJobRunsOnceWhateverDies(t *testing.T) {
	t.Parallel()
	runsOnce(t, harness.Ref{Kind: "cronjob", Name: "report"}, 3, `
apiVersion: v1
kind: ConfigMap
metadata: {name: report}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: report, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  schedule: 0 0 29 2 *
  successfulJobsHistoryLimit: 0
  jobTemplate:
    spec:
      ttlSecondsAfterFinished: 0
      template:
        spec:
          restartPolicy: Never
          containers: [{name: app, image: "report:1.0", envFrom: [{configMapRef: {name: report}}]}]
`)
}

// cleanedAway returns when Kubernetes has deleted every Job that has run, which the next controller
// then cannot find.
func (h *history) cleanedAway() error {
	return h.until(h.ctx, func() (bool, error) {
		jobs, err := shared.Admin.BatchV1().Jobs(h.ns.Name).List(h.ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for i := range jobs.Items {
			if suspended := jobs.Items[i].Spec.Suspend; suspended == nil || !*suspended {
				return false, nil
			}
		}
		return true, nil
	})
}

// strikeWrite edits what a workload reads, and returns when the n-th write that follows has met its
// fault.
func (h *history) strikeWrite(t *testing.T, n int, about string, way func(*exchange), workload harness.Ref) {
	t.Helper()
	struck := make(chan struct{})
	for range n - 1 {
		h.proxy.arm(rule{fault: "a write passes", on: runWrite, do: (*exchange).pass})
	}
	h.proxy.arm(rule{fault: about, on: runWrite, do: func(x *exchange) {
		way(x)
		close(struck)
	}})
	must(t, h.ns.Edit(h.ctx, harness.Ref{Kind: "configmap", Name: workload.Name}, fmt.Sprintf("value=%d %s", n, about)))
	select {
	case <-struck:
	case <-h.ctx.Done():
		t.Fatalf("write %d did not come: %v", n, context.Cause(h.ctx))
	}
}

// runsAnew reports whether another Job of the name was made, and may run.
func (h *history) runsAnew(t *testing.T, workload harness.Ref, before types.UID) bool {
	t.Helper()
	job, err := shared.Admin.BatchV1().Jobs(h.ns.Name).Get(h.ctx, workload.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false
	}
	must(t, err)
	return job.UID != before && (job.Spec.Suspend == nil || !*job.Spec.Suspend)
}

// endAndGo ends the pods of a Job that cleans itself away, and returns when it is gone.
func (h *history) endAndGo(t *testing.T, workload harness.Ref) {
	t.Helper()
	must(t, h.until(h.ctx, func() (bool, error) {
		_, err := h.ns.Get(h.ctx, workload)
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		pods, err := shared.Admin.CoreV1().Pods(h.ns.Name).List(h.ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for i := range pods.Items {
			pod := &pods.Items[i]
			if metav1.GetControllerOf(pod) == nil || pod.Status.Phase == corev1.PodSucceeded {
				continue
			}
			_, err := shared.Admin.CoreV1().Pods(h.ns.Name).Patch(h.ctx, pod.Name, types.MergePatchType, []byte(`{"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{}, "status")
			if err != nil && !apierrors.IsNotFound(err) {
				return false, err
			}
		}
		return false, nil
	}))
}

// runsOnce tries every way at each of so many writes that one reload of a workload takes.
func runsOnce(t *testing.T, workload harness.Ref, writes int, manifest string) {
	t.Helper()
	h := newHistory(t, 1, &tally{counts: map[string]int{}})
	must(t, h.ns.Apply(h.ctx, manifest))
	must(t, h.revive(nil))
	must(t, h.ns.AwaitAdopted(h.ctx, workload))
	must(t, h.ns.Quiet(h.ctx))
	made, err := h.ns.Made(h.ctx, workload)
	must(t, err)
	for n := 1; n <= writes; n++ {
		for about, way := range runWays() {
			if about == noLedger && n == writes {
				continue // the run may be over, and cleaned away, and then nothing is left that could tell
			}
			t.Logf("write %d of %d: %s", n, writes, about)
			h.strikeWrite(t, n, about, way, workload)
			if !h.alive() {
				must(t, h.cleanedAway())
				if about == noLedger {
					must(t, h.ns.Annotate(h.ctx, workload, "reroll.dev/ledger-"))
				}
			}
			must(t, h.revive(nil))
			made++
			if err := h.ns.AwaitMade(h.ctx, workload, made); err != nil {
				t.Fatalf("write %d, %s: %v", n, about, err)
			}
			must(t, h.ns.Quiet(h.ctx))
			if got, err := h.ns.Made(h.ctx, workload); err != nil || got != made {
				t.Fatalf("write %d, %s: %d pods were made and not %d (%v)", n, about, got, made, err)
			}
		}
	}
}

// The same of a Job, which is deleted in between. It goes away as soon as it has ended, so that
// whoever takes one that has run for one that was lost makes it twice.
func TestAJobIsMadeAgainOnceWhateverDies(t *testing.T) {
	t.Parallel()
	const writes = 7
	for n := 1; n <= writes; n++ {
		t.Run(fmt.Sprintf("write %d of %d", n, writes), func(t *testing.T) {
			t.Parallel()
			madeAgainOnce(t, n, n == writes)
		})
	}
}

// madeAgainOnce tries every way at the n-th write.
func madeAgainOnce(t *testing.T, n int, last bool) {
	t.Helper()
	workload := harness.Ref{Kind: "job", Name: "load"}
	h := newHistory(t, 1, &tally{counts: map[string]int{}})
	must(t, h.ns.Apply(h.ctx, "{apiVersion: v1, kind: ConfigMap, metadata: {name: load}}"))
	must(t, h.revive(nil))
	made := 0
	for about, way := range runWays() {
		if about == noLedger {
			continue // there is no other object that could have one
		}
		t.Log(about)
		must(t, h.ns.Apply(h.ctx, jobThatEnds))
		must(t, h.ns.AwaitAdopted(h.ctx, workload))
		must(t, h.ns.AwaitMade(h.ctx, workload, made+1))
		must(t, h.ns.Quiet(h.ctx))
		made += 2
		before, err := h.ns.Get(h.ctx, workload)
		must(t, err)
		h.strikeWrite(t, n, about, way, workload)
		ran := !h.alive() && h.runsAnew(t, workload, before.GetUID())
		if ran {
			must(t, h.ns.AwaitMade(h.ctx, workload, made))
			h.endAndGo(t, workload)
		}
		must(t, h.revive(nil))
		if err := h.ns.AwaitMade(h.ctx, workload, made); err != nil {
			t.Fatalf("%s: %v", about, err)
		}
		must(t, h.ns.Quiet(h.ctx))
		if !ran { // else it is gone, and has to stay so
			if got, err := h.ns.Made(h.ctx, workload); err != nil || got != made {
				t.Fatalf("%s: %d pods were made and not %d (%v)", about, got, made, err)
			}
			h.endAndGo(t, workload)
		}
		if ran != (last && about == hasLanded) {
			t.Errorf("%s: it has run before the next controller came: %v", about, ran)
		}
		left, err := shared.Admin.BatchV1().Jobs(h.ns.Name).List(h.ctx, metav1.ListOptions{})
		if err != nil || len(left.Items) > 0 {
			t.Fatalf("%s: %d Jobs are left (%v)", about, len(left.Items), err)
		}
	}
}

// A Job that goes before the copy says that we delete it has gone by itself, or by its user: nobody
// makes it again.
func TestAJobThatGoesBeforeItIsDeletedStaysAway(t *testing.T) {
	t.Parallel()
	workload := harness.Ref{Kind: "job", Name: "load"}
	h := newHistory(t, 1, &tally{counts: map[string]int{}})
	must(t, h.ns.Apply(h.ctx, "{apiVersion: v1, kind: ConfigMap, metadata: {name: load}}"))
	must(t, h.revive(nil))
	killed := runWays()["killed before it is passed on"]
	made := 0
	for about, goes := range map[string]func(){
		"it is cleaned away": func() { h.endAndGo(t, workload) },
		"its user deletes it": func() {
			must(t, h.ns.Delete(h.ctx, workload))
			must(t, h.until(h.ctx, func() (bool, error) {
				_, err := h.ns.Get(h.ctx, workload)
				if apierrors.IsNotFound(err) {
					return true, nil
				}
				return false, err
			}))
		},
	} {
		must(t, h.ns.Apply(h.ctx, jobThatEnds))
		must(t, h.ns.AwaitAdopted(h.ctx, workload))
		made++
		must(t, h.ns.AwaitMade(h.ctx, workload, made))
		must(t, h.ns.Quiet(h.ctx))
		const noting = 2 // the copy is there
		h.strikeWrite(t, noting, about, killed, workload)
		goes()
		must(t, h.revive(nil))
		must(t, h.until(h.ctx, func() (bool, error) {
			left, err := shared.Admin.BatchV1().Jobs(h.ns.Name).List(h.ctx, metav1.ListOptions{})
			if err != nil {
				return false, err
			}
			return !slices.ContainsFunc(left.Items, func(job batchv1.Job) bool { return job.Name != workload.Name }), nil
		}))
		must(t, h.ns.Quiet(h.ctx))
		if _, err := h.ns.Get(h.ctx, workload); !apierrors.IsNotFound(err) {
			t.Fatalf("%s: it is there again (%v)", about, err)
		}
	}
}

const jobThatEnds = `
apiVersion: batch/v1
kind: Job
metadata: {name: load, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  ttlSecondsAfterFinished: 0
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {where: nowhere}
      containers: [{name: app, image: "load:1.0", envFrom: [{configMapRef: {name: load}}]}]
`
