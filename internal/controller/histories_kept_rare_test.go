package controller

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/test/simapi"
)

// keptRareHistories are those that fail about once in 8,000 random histories.
func keptRareHistories() map[string]keptHistory {
	settings, routes, token := sources()[0], sources()[1], sources()[2]
	web, auto := workloads()[0], map[string]string{annotations.DefaultNames().Auto: "true"}
	return map[string]keptHistory{
		"a key is removed, and a workload refers to its source and is rolled again, in a rollout that began before the controller": {draws{}, func(s script) {
			s.rest()
			s.elapse(2 * longestSettle)
			s.users.deleteSource(settings)
			s.users.editTemplate(web) // the new Pods wait for settings
			s.rest()
			s.stop()
			s.rest()
			s.users.removeKey(routes)
			s.shown()
			s.users.edit(web, func(obj simapi.Object) { refer(templateOf(obj), routes, nil) })
			s.users.edit(web, func(obj simapi.Object) { templateOf(obj).Spec.Containers[0].Image = "app:next" })
		}},
		"a source is edited in the second of the installation, and loses its field managers": {draws{}, func(s script) {
			s.elapse(2 * longestSettle)
			s.edit(settings, "helm")
			s.removes(settings, "b", "helm")
			s.start()
			s.shown()
			s.users.forgetManagers(settings)
		}},
		"the first ledger shows that the removal of a key waits, while the Pods are younger than the source": {draws{}, func(s script) {
			s.again("web", nil)
			s.rest()
			s.elapse(2 * longestSettle)
			s.edit(settings, "kubectl-edit")
			s.evictAll("web")
			s.shown()
			s.ask("web", auto)
			s.shown()
			s.removes(settings, "b", "kubectl-edit")
			s.shown()
			s.freezes()
			s.stop()
		}},
		"a template with a new reference is undone and redone, after a key of its source was removed": {draws{}, func(s script) {
			s.rest()
			s.elapse(2 * longestSettle)
			s.removes(routes, "b", "kubectl-edit")
			s.shown()
			s.elapse(2 * longestSettle)
			s.users.edit(web, func(obj simapi.Object) { refer(templateOf(obj), routes, nil) })
			for _, steps := range []int{3, 1} { // the first of its new Pods are there
				for range steps {
					obj, _ := s.server.Get(web.resource, inShop(web.name))
					s.pods.Step(obj)
				}
				s.shown()
				s.users.undo("web")
			}
		}},
		"the first ledger shows that a reload waits, which another client brings, and then another source is deleted and made again as it was": {draws{onCreate: true}, func(s script) {
			s.start()
			s.shown()
			s.edit(token, "kubectl-edit")
			s.shown()
			s.freezes()
			s.users.edit(web, func(obj simapi.Object) { templateOf(obj).Spec.Containers[0].Image = "app:next" })
			s.users.deleteSource(settings)
			s.shown()
			s.rest()
			s.elapse(2 * longestSettle)
			s.users.makeAgain(settings)
		}},
		"a rollout is undone, and a later one with new data is undone, too": {draws{}, func(s script) {
			s.rest()
			for range 2 {
				s.elapse(2 * longestSettle)
				s.edit(settings, "kubectl-edit")
				s.shown()
				s.elapse(longestSettle)
				s.lookAtAll()
				s.users.undo("web")
				s.rest()
			}
		}},
		"the first ledger shows that the data of a deleted source is unknown, and then another one is deleted and made again as it was": {draws{onCreate: true}, func(s script) {
			s.again("web", nil)
			s.rest()
			s.stop()
			s.users.deleteSource(settings)
			s.users.createSource(settings)
			s.start()
			s.shown()
			s.ask("web", auto)
			s.shown()
			s.edit(token, "kubectl-edit")
			s.shown()
			s.users.deleteSource(token)
			s.rest()
			s.elapse(2 * longestSettle)
			s.users.deleteSource(settings)
			s.shown()
			s.users.makeAgain(settings)
		}},
		"a list of keys is replaced while a source is deleted, after a new snapshot, and the source is created again as it was": {draws{keysChosen: true}, func(s script) {
			s.users.countKeys(web, keyRules()[3])
			s.rest()
			s.elapse(2 * longestSettle)
			s.edit(settings, "kubectl-edit")
			s.rest()
			s.elapse(2 * longestSettle)
			s.users.deleteSource(settings)
			s.shown()
			s.takeSnapshot(s.feed(settings.Resource))
			s.shown()
			s.users.countKeys(web, "all")
			s.rest()
			s.elapse(2 * longestSettle)
			s.users.makeAgain(settings)
		}},
		"a list of keys is replaced, a source is deleted before the controller compares the workload, and created again as it was for the next controller": {draws{keysChosen: true}, func(s script) {
			s.users.countKeys(web, keyRules()[3])
			s.rest()
			s.elapse(2 * longestSettle)
			s.edit(settings, "kubectl-edit")
			s.rest()
			s.elapse(2 * longestSettle)
			s.users.countKeys(web, "all")
			s.users.deleteSource(settings)
			s.stop()
			s.rest()
			s.elapse(2 * longestSettle)
			s.users.makeAgain(settings)
		}},
		"a source is labeled, a Job is resumed before its Pods are gone, and a key is removed, all while the controller is away": {draws{kind: kinds.Jobs().Name}, func(s script) {
			migrate := jobs()[1]
			s.rest()
			s.elapse(2 * longestSettle)
			s.edit(settings, "kubectl-edit")
			s.rest()
			s.elapse(2 * longestSettle)
			s.stop()
			s.touch(settings, "kubectl-edit")
			s.elapse(2 * longestSettle)
			s.users.suspendJob(migrate, true)
			obj, _ := s.server.Get(migrate.resource, inShop(migrate.name))
			s.pods.StepJob(obj.(*batchv1.Job))
			s.users.suspendJob(migrate, false)
			for range 60 {
				s.stepPods()
			}
			s.elapse(2 * longestSettle)
			s.removes(settings, "b", "kubectl-edit")
		}},
		"a source is edited unseen, and labeled by its manager, which loses the label before the first ledger": {draws{}, func(s script) {
			s.rest()
			s.touch(settings, "helm")
			s.rest()
			s.elapse(2 * longestSettle)
			s.stop()
			s.again("web", auto)
			for _, write := range []func(simapi.Source, string){s.edit, s.touch} {
				s.elapse(2 * longestSettle)
				write(settings, "kubectl-edit")
			}
			s.start()
			s.shown()
			s.touch(settings, "helm")
		}},
		"the first ledger comes before the controller has seen that its namespace is not selected, and later a source is deleted and made again as it was": {draws{inNamespace: true, onCreate: true}, func(s script) {
			if s.oracle.unselected {
				s.users.selectNamespace()
			}
			s.elapse(2 * longestSettle)
			s.edit(settings, "kubectl-edit") // Pods have earlier data
			s.elapse(2 * longestSettle)
			s.start()
			s.shown()
			s.users.selectNamespace()
			s.elapse(longestSettle)
			for s.lookAtAll() { // some wait for --adopt-rate
				s.elapse(time.Second)
			}
			s.shown()
			s.users.selectNamespace()
			s.shown()
			s.elapse(2 * longestSettle)
			s.users.deleteSource(settings)
			s.shown()
			s.users.makeAgain(settings)
		}},
		"the digest key is lost before the first ledger, which shows the data of a deleted Secret, and the Secret is made again as it was": {draws{onCreate: true}, func(s script) {
			s.elapse(2 * longestSettle)
			s.edit(token, "kubectl-edit") // Pods have earlier data
			s.elapse(2 * longestSettle)
			s.start()
			s.shown()
			s.stop()
			s.keyMade = time.Time{}
			s.start()
			s.shown()
			s.users.deleteSource(token)
			s.rest()
			s.elapse(2 * longestSettle)
			s.users.makeAgain(token)
		}},
	}
}
