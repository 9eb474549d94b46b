package controller

import (
	batchv1 "k8s.io/api/batch/v1"

	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// deleteRuns deletes the Jobs that Reroll created from a change on.
func (s script) deleteRuns(from uint64) {
	for _, job := range s.jobs() {
		if _, own := job.Labels[workload.RunLabel]; own && s.oracle.began[job.UID] > from {
			_ = s.server.Delete("jobs", inShop(job.Name))
		}
	}
}

// keptRunHistories are those of CronJobs.
func keptRunHistories() map[string]keptHistory {
	settings := simapi.Source{Resource: "configmaps", Name: "settings"}
	report := cronJobs()[0]
	changeTwice := func(s script) {
		s.users.edit(report, func(obj simapi.Object) { obj.(*batchv1.CronJob).Spec.ConcurrencyPolicy = batchv1.AllowConcurrent })
		s.rest()
		for range 2 {
			s.elapse(2 * longestSettle)
			s.edit(settings, "kubectl-edit")
			s.rest()
		}
	}
	return map[string]keptHistory{
		"the latest run is deleted, and the ledger is removed while the controller starts": {draws{kind: cronJobKind}, func(s script) {
			changeTwice(s)
			s.deleteRuns(latestChange(s, settings))
			s.stop()
			s.start()
			s.shown()
			s.users.wipe(report)
		}},
		"the latest run is deleted, and the ledger is removed while no controller runs": {draws{kind: cronJobKind}, func(s script) {
			changeTwice(s)
			s.deleteRuns(latestChange(s, settings))
			s.stop()
			s.users.wipe(report)
		}},
	}
}

func latestChange(s script, src simapi.Source) uint64 {
	changes := s.oracle.sources[src].changes
	return changes[len(changes)-1].version
}
