package controller

import "github.com/reroll-dev/reroll/test/simapi"

// selects gives a source the label by which controllers select, or takes it away.
func (s script) selects(src simapi.Source, value string) {
	s.users.save(src, keeper{manager: "kubectl-label"}, func(obj simapi.Object) { s.users.label(obj, selectLabel, value) })
}

// keptSelectedHistories are those of controllers that select sources by a label.
func keptSelectedHistories() map[string]keptHistory {
	token := sources()[2]
	return map[string]keptHistory{
		"a workload has no reference to a Secret for a while, in which it loses the label that selects it, and it is deleted while the controller is away": {draws{selector: true, onDelete: true}, func(s script) {
			s.selects(token, selectValue)
			s.rest()
			s.elapse(2 * longestSettle)
			s.edit(token, "kubectl-edit")
			s.rest()
			s.users.unrefer("web", token)
			s.shown()
			s.selects(token, "")
			s.shown()
			s.users.edit(workloads()[0], func(obj simapi.Object) { refer(templateOf(obj), token, new(true)) })
			s.rest()
			s.elapse(2 * longestSettle)
			s.stop()
			s.users.deleteSource(token)
		}},
	}
}
