package faults

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/test/harness"
)

const noLedger = "killed when it has landed, and the ledger taken away"

// runWays are how a write about a Job or CronJob meets the end of the controller.
func runWays() map[string]func(*exchange) {
	return map[string]func(*exchange){
		"killed before it is passed on": func(x *exchange) { x.kill(); x.hangUp() },
		"killed when it has landed":     func(x *exchange) { x.swallow(); x.kill(); x.hangUp() },
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

// Whatever dies between which two writes: one change is one run, no run is lost and none comes twice.
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

// cleanedAway returns when Kubernetes has deleted every Job that has run, which the next controller then cannot find.
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
