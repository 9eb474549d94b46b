package controller

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/workload"
)

// historyReport compares the reports with the events.
type historyReport struct {
	noReport
	h *history
}

// Rolled checks that no Pod from before the reload runs.
func (r historyReport) Rolled(w *workload.Workload, _ rollout.Outcome, _ time.Duration) {
	r.h.count(toldRolled)
	r.h.say("%s is told to have rolled", w.Key)
	obj, err := r.h.server.Get(plural(w.Key.Kind), inShop(w.Key.Name))
	if err != nil || obj.GetUID() != w.UID {
		return
	}
	reloaded := r.h.reloaded[w.LedgerText]
	truth := r.h.oracle.workloads[w.UID]
	for _, pod := range r.h.pods.Of(obj) {
		switch {
		case !lives(pod) || r.h.oracle.podMade[pod.UID] >= reloaded:
		case truth != nil && truth.returned && truth.foreign > reloaded:
			r.h.oracle.excused(templateReturned) // Pods of an earlier reload for the same data have the same marks
		default:
			r.h.oracle.fail("%s is told to have rolled, and %s runs from before its reload", w.Key, pod.Name)
		}
	}
}

// lives reports whether a Pod has neither ended nor is being deleted.
func lives(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// noReport ignores all reports, and counts nothing.
type noReport struct{}

func (noReport) Seen(string, string) {}

func (noReport) Processed(string, string) {}

func (noReport) WatchFailed() {}

func (noReport) Spared(int) {}

func (noReport) Queued() {}

func (noReport) Waited(time.Duration) {}

func (noReport) Reconciled(Reconciliation) {}

func (noReport) Reloaded(*workload.Workload, reload.Decision, time.Duration) {}

func (noReport) Reverted(*workload.Workload, reload.Decision) {}

func (noReport) Rolled(*workload.Workload, rollout.Outcome, time.Duration) {}

func (noReport) NotRolled(*workload.Workload, rollout.Outcome) {}

func (noReport) Undecided(int) {}

func (noReport) LedgerTaken() {}

func (noReport) Failed(*workload.Workload, reload.Decision, error, time.Duration, bool) {}

func (noReport) Notify(notice.Notice) {}
