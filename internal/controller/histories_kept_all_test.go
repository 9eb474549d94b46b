package controller

import (
	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/test/simapi"
)

// shownWorkloads starts a controller with --auto-reload-all, and delivers all workloads, one of
// which is not opted in otherwise.
func (s script) shownWorkloads() {
	s.again("api", nil)
	for range 60 {
		s.stepPods()
	}
	s.elapse(2 * longestSettle)
	s.start()
	for _, f := range s.feeds {
		s.shownAll(f.resource)
	}
}

// selectedUntil lets a workload select a source by its labels, which ends while no controller runs.
// The next controller has another --auto-reload-all.
func (s script) selectedUntil(end func(src simapi.Source), src simapi.Source, next optInAll) {
	s.again("web", map[string]string{annotations.Sources: "!" + pluginsLabel})
	for range 2 { // the second time, its data is in the ledger
		s.touch(src, "kubectl-label")
		s.rest()
		s.elapse(2 * longestSettle)
	}
	s.stop()
	s.oracle.stepped()
	end(src)
	s.all = next
}

// keptAllHistories are those of controllers with --auto-reload-all.
func keptAllHistories() map[string]keptHistory {
	settings, routes, cert := sources()[0], sources()[1], sources()[3]
	losesLabel := func(s script) func(simapi.Source) {
		return func(src simapi.Source) {
			s.users.save(src, keeper{manager: "kubectl-label"}, func(obj simapi.Object) { s.users.label(obj, pluginsLabel, "loki") })
		}
	}
	return map[string]keptHistory{
		"a source that a workload selects loses its label, and the next controller opts in all workloads": {draws{onDelete: true, byLabel: true}, func(s script) {
			s.selectedUntil(losesLabel(s), routes, allAlways)
		}},
		"a source that a workload selects loses its label, and the next controller opts in no others": {draws{all: allAlways, onDelete: true, byLabel: true}, func(s script) {
			s.selectedUntil(losesLabel(s), routes, allNever)
		}},
		"a source that a workload selects and references loses its label, and the next controller opts in all workloads": {draws{onDelete: true, byLabel: true}, func(s script) {
			s.selectedUntil(losesLabel(s), settings, allAlways)
		}},
		"a source that a workload selects is deleted, and the next controller opts in no others": {draws{all: allAlways, onDelete: true, byLabel: true}, func(s script) {
			s.selectedUntil(func(src simapi.Source) { s.users.deleteSource(src) }, routes, allNever)
		}},
		"a source is edited before its namespace is selected, and then a workload names it": {draws{all: allAlways, inNamespace: true}, func(s script) {
			s.again("api", nil)
			if !s.oracle.unselected {
				s.users.selectNamespace()
			}
			s.rest()
			s.elapse(2 * longestSettle)
			s.edit(settings, "kubectl-edit")
			s.shown()
			s.users.selectNamespace()
			s.shown()
			s.ask("api", map[string]string{annotations.DefaultNames().ConfigMap: "settings"})
			s.shown()
			s.elapse(longestSettle)
			s.lookAtAll()
		}},
		"a controller without --auto-reload-all ends before it can record that": {draws{all: allAlways}, func(s script) {
			s.shownWorkloads()
			s.stop()
			s.elapse(2 * longestSettle)
			s.edit(settings, "kubectl-edit")
			s.users.editTemplate(workloads()[1])
			for range 60 {
				s.stepPods()
			}
			s.all = allNever
			s.start()
			s.stop()
			s.all = allAlways
		}},
		"a namespace is not selected any more before a controller with --auto-reload-all has seen everything": {draws{all: allAlways, inNamespace: true}, func(s script) {
			if s.oracle.unselected {
				s.users.selectNamespace()
			}
			s.shownWorkloads()
			s.shownAll("secrets")
			s.elapse(2 * longestSettle)
			s.edit(cert, "kubectl-edit")
			s.shownAll("secrets")
			s.users.selectNamespace()
			s.shownAll("configmaps")
			s.elapse(longestSettle)
			s.lookAtAll()
		}},
		"a workload that selects others by label is no longer opted in by default, and a source is deleted meanwhile": {draws{all: allAlways, onDelete: true}, func(s script) {
			s.again("db", nil)
			s.ask("db", map[string]string{annotations.Sources: "plugins=none"})
			s.elapse(2 * longestSettle)
			s.rest()
			s.elapse(2 * longestSettle)
			s.stop()
			s.users.deleteSource(sources()[1])
			s.all = allNever
			s.start()
			s.shown()
			s.elapse(2 * longestSettle)
			s.lookAtAll()
		}},
	}
}
