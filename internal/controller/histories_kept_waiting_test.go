package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// freezes starts a freeze of a minute, and lets all workloads wait for its end.
func (s script) freezes() {
	s.c.putFreeze(annotations.Frozen{Until: s.clock.Now().Add(time.Minute).Truncate(time.Second), By: "alice", Reason: "incident"}.String())
	s.elapse(2 * longestSettle)
	s.lookAtAll()
	s.shown()
	for range 60 {
		s.stepPods()
	}
}

// keptWaitingHistories are those of changes that no rollout had brought yet.
func keptWaitingHistories() map[string]keptHistory {
	settings, token := sources()[0], sources()[2]
	return map[string]keptHistory{
		"a reload waits, its source is deleted, the workload rolls twice without it, and the source is back with the same data": {draws{onCreate: true}, func(s script) {
			s.rest()
			s.elapse(2 * longestSettle)
			s.edit(settings, "kubectl-edit")
			s.shown()
			s.freezes()
			s.users.deleteSource(settings)
			s.shown()
			s.edit(token, "kubectl-edit")
			s.rest() // Pods of the reload for the Secret wait for settings
			s.users.editTemplate(workloads()[0])
			s.shown()
			s.users.makeAgain(settings)
		}},
		"a Secret is edited and loses its field managers, and the rollout with the edit is undone while the controller is away": {draws{}, func(s script) {
			s.rest()
			s.elapse(2 * longestSettle)
			s.edit(token, "kubectl-edit")
			s.users.forgetManagers(token)
			s.rest()
			s.stop()
			s.elapse(2 * longestSettle)
			s.users.undo("web")
			for range 60 {
				s.stepPods()
			}
		}},
	}
}
