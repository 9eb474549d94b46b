package controller

import (
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// keptReturnHistories are those of SecretProviderClasses whose data came back, or seemed to.
func keptReturnHistories() map[string]keptHistory {
	return map[string]keptHistory{
		"a class is rotated twice and back, unseen, and a late status has its data before Pods start that only name it": {draws{kind: classKind}, func(s script) {
			s.rest()
			s.elapse(2 * longestSettle)
			s.stop()
			first := s.users.value()
			s.driver.Store("tls", "password", first)
			bank, _ := s.server.Get("deployments", inShop("bank"))
			late := s.pods.Of(bank)[0]
			s.driver.Step(late) // reads that, and writes it later
			s.rotates("statefulsets", "safe")
			s.driver.Store("tls", "password", s.users.value())
			s.rotates("statefulsets", "safe")
			s.driver.Store("tls", "password", first)
			s.start()
			s.shown()
			s.driver.Step(late)
			s.shown()
			s.elapse(2 * longestSettle)
			s.lookAt(workload.Key{Kind: "DaemonSet", Namespace: namespace, Name: "guard"})
			s.starts("daemonsets", "guard")
			s.rotates("statefulsets", "safe")
		}},
		"a class is rotated twice and back, and one Pod reports that before a rollout, another after it": {draws{kind: classKind}, func(s script) {
			s.rest()
			s.elapse(2 * longestSettle)
			first := s.users.value()
			guard, _ := s.server.Get("daemonsets", inShop("guard"))
			pod := s.pods.Of(guard)[1]
			s.driver.Store("vault", "password", first)
			s.rotates("daemonsets", "guard")
			s.driver.Store("vault", "password", s.users.value())
			s.driver.Step(pod)
			s.driver.Step(pod)
			s.driver.Store("vault", "password", first)
			s.rotates("deployments", "bank")
			s.users.editTemplate(classWorkloads()[0])
			s.driver.Step(pod)
			s.driver.Step(pod)
			s.shown()
			s.elapse(longestSettle)
			s.lookAtAll()
		}},
		"a controller is shown only a Pod from before a rotation, forgets the class without it, and is shown it again": {draws{kind: classKind}, func(s script) {
			s.rest()
			s.elapse(2 * longestSettle)
			class, _ := s.server.Get(simapi.ClassResource, inShop("tls"))
			s.driver.Store("tls", "password", s.users.value())
			safe, _ := s.server.Get("statefulsets", inShop("safe"))
			s.driver.Step(s.pods.Of(safe)[0]) // reads that, and writes it later
			_ = s.server.Delete(simapi.ClassResource, inShop("tls"))
			s.rest() // the old Pod of bank stays, because the new one waits for the class
			s.elapse(2 * longestSettle)
			s.stop()
			s.start()
			s.shown()
			s.elapse(longestSettle)
			s.lookAtAll()
			s.deletesWorkloads("safe", "bank")
			s.shown()
			s.elapse(2 * longestSettle)
			s.users.createClassWorkloadAgain()
			_, _ = s.server.Create(simapi.NewClass(namespace, "tls", simapi.IDs(class)), "kubectl-edit")
		}},
		"a reload for a late status waits, and its rollout is in progress when the data comes again": {draws{kind: classKind}, func(s script) {
			s.rest()
			s.elapse(2 * longestSettle)
			class, _ := s.server.Get(simapi.ClassResource, inShop("tls"))
			s.users.editClass("tls", func(obj simapi.Object) { s.users.annotate(obj, annotations.DefaultNames().Ignore, "true") })
			s.rest()
			s.elapse(2 * longestSettle)
			s.driver.Store("tls", "password", s.users.value())
			safe, _ := s.server.Get("statefulsets", inShop("safe"))
			late := s.pods.Of(safe)[0]
			s.driver.Step(late) // reads that, and writes it later
			s.driver.Store("tls", "password", s.users.value())
			s.rotates("deployments", "bank")
			_ = s.server.Delete(simapi.ClassResource, inShop("tls")) // and with it that it is ignored
			s.shown()
			s.driver.Step(late)
			s.shown()
			s.freezes()
			s.elapse(time.Minute)
			s.lookAtAll()
			s.shown()
			_, _ = s.server.Create(simapi.NewClass(namespace, "tls", simapi.IDs(class)), "kubectl-edit")
			s.rotates("statefulsets", "safe")
			s.shown()
			s.freezes()
		}},
	}
}
