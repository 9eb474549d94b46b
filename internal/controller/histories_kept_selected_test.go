package controller

import (
	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/test/simapi"
)

// selects gives a source the label by which controllers select, or takes it away.
func (s script) selects(src simapi.Source, value string) {
	s.users.save(src, keeper{manager: "kubectl-label"}, func(obj simapi.Object) { s.users.label(obj, selectLabel, value) })
}

// optsInAndEdits opts a workload in and edits a source after that was recorded. The controller sees
// nothing else of what happened before.
func (s script) optsInAndEdits(src simapi.Source) {
	s.ask("web", map[string]string{annotations.DefaultNames().Auto: "true"})
	s.shownAll("deployments")
	s.elapse(2 * longestSettle)
	s.lookAtAll()
	s.edit(src, "kubectl-edit")
	s.shownAll("configmaps")
}

// selectsDuringReload edits a source that is not selected, and selects it after the controller has
// decided to reload workloads for another source. The controller restarts before new Pods are there.
func (s script) selectsDuringReload(src, other simapi.Source) {
	s.edit(src, "kubectl-edit")
	s.selects(other, selectValue)
	s.edit(other, "kubectl-edit")
	s.shown()
	s.selects(src, selectValue)
	s.elapse(2 * longestSettle)
	s.lookAtAll()
	s.stop()
}

// keptSelectedHistories are those of controllers that select sources or namespaces by a label.
func keptSelectedHistories() map[string]keptHistory {
	settings, token, cert := sources()[0], sources()[2], sources()[3]
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
		"a Secret is edited, and selected again while a reload for another source is sent, and the controller restarts during the rollout": {draws{selector: true}, func(s script) {
			s.selects(cert, selectValue)
			s.rest()
			s.elapse(2 * longestSettle)
			s.selects(cert, "")
			s.rest()
			s.selectsDuringReload(cert, settings)
		}},
		"a Secret is edited, and first selected while a reload for another source is sent, and the controller restarts during the rollout": {draws{selector: true}, func(s script) {
			s.selects(cert, "")
			s.rest()
			s.elapse(2 * longestSettle)
			s.selectsDuringReload(cert, settings)
		}},
		"a workload is opted in before the controller has seen that its namespace is not selected, and a source is edited before it is selected again": {draws{inNamespace: true}, func(s script) {
			if s.oracle.unselected {
				s.users.selectNamespace()
			}
			s.again("web", nil)
			s.rest()
			s.elapse(2 * longestSettle)
			s.users.selectNamespace()
			s.optsInAndEdits(settings)
			s.users.selectNamespace()
		}},
		"a workload is opted in before the controller has seen that a source is ignored, and the source is edited before it is not ignored any more": {draws{}, func(s script) {
			ignores := func(value string) {
				s.users.save(settings, keeper{manager: "kubectl-annotate"}, func(obj simapi.Object) { s.users.annotate(obj, annotations.DefaultNames().Ignore, value) })
			}
			s.again("web", nil)
			s.rest()
			s.elapse(2 * longestSettle)
			ignores("true")
			s.optsInAndEdits(settings)
			ignores("")
		}},
	}
}
