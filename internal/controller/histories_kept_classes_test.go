package controller

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// rotates lets the driver act on one Pod of a workload.
func (s script) rotates(resource, name string) {
	obj, _ := s.server.Get(resource, inShop(name))
	for s.driver.Step(s.pods.Of(obj)[0]) {
		continue
	}
}

// replaces the Pod of a StatefulSet. Its status replaces that of the earlier Pod.
func (s script) replaces(name string) {
	for range 60 {
		obj, _ := s.server.Get("statefulsets", inShop(name))
		s.pods.Step(obj)
	}
	obj, _ := s.server.Get("statefulsets", inShop(name))
	s.pods.Evict(s.pods.Of(obj)[0])
	s.starts("statefulsets", name)
}

// starts lets the Pods of a workload start, while the driver acts on no others.
func (s script) starts(resource, name string) {
	for range 60 {
		obj, _ := s.server.Get(resource, inShop(name))
		s.pods.Step(obj)
		for _, pod := range s.pods.Of(obj) {
			s.driver.Step(pod)
		}
	}
}

// deletesWorkloads deletes workloads with their Pods and the statuses of these.
func (s script) deletesWorkloads(names ...string) {
	for _, w := range classWorkloads() {
		if slices.Contains(names, w.name) {
			s.users.deleteWorkload(w)
		}
	}
	for s.pods.Clean() || s.driver.Clean() {
		continue
	}
}

// losesAnObject removes an object from a class, and lets the workload that only names the class
// cover it again when the order of these events is unknown. Later replaces the Pods of that
// workload.
func (s script) losesAnObject(later bool) {
	objects := func(ids ...string) {
		s.users.editClass("tls", func(obj simapi.Object) { simapi.SetIDs(obj, ids) })
		s.rest()
		s.elapse(2 * longestSettle)
	}
	objects("user", "password")
	objects("password")
	if later {
		s.evictAll("guard")
	}
	s.users.editClass("tls", func(obj simapi.Object) { s.users.annotate(obj, annotations.DefaultNames().Ignore, "true") })
	s.rest()
	for _, f := range s.feeds {
		if f.resource == simapi.StatusResource {
			s.takeSnapshot(f)
		}
	}
	s.rest()
	s.elapse(2 * longestSettle)
	_ = s.server.Delete(simapi.ClassResource, inShop("tls"))
}

// losesAnObjectUnseen rotates a class and then removes an object from it while no controller runs. A Pod
// starts after that. The next controller reconciles before another Pod reports without the object.
func (s script) losesAnObjectUnseen(later time.Duration) {
	objects := func(ids ...string) {
		s.users.editClass("tls", func(obj simapi.Object) { simapi.SetIDs(obj, ids) })
	}
	objects("user", "password")
	s.rest()
	s.elapse(2 * longestSettle)
	s.stop()
	s.driver.Store("tls", "password", s.users.value())
	safe, _ := s.server.Get("statefulsets", inShop("safe"))
	bank, _ := s.server.Get("deployments", inShop("bank"))
	for _, pod := range slices.Concat(s.pods.Of(safe), s.pods.Of(bank)) {
		for s.driver.Step(pod) {
			continue
		}
	}
	objects("password")
	s.elapse(later)
	s.pods.Evict(s.pods.Of(bank)[0])
	s.starts("deployments", "bank")
	for s.pods.Clean() || s.driver.Clean() {
		continue
	}
	s.start()
	s.shown()
	s.elapse(longestSettle)
	s.lookAtAll()
}

// keptClassHistories are those of SecretProviderClasses.
func keptClassHistories() map[string]keptHistory {
	return map[string]keptHistory{
		"a Pod starts with a version that a class has for a moment": {draws{kind: classKind}, func(s script) {
			s.rest()
			s.elapse(2 * longestSettle)
			before := s.driver.Stored("vault")["password"]
			s.driver.Store("vault", "password", s.users.value())
			till, _ := s.server.Get("deployments", inShop("till"))
			s.pods.Evict(s.pods.Of(till)[0])
			for range 10 {
				s.pods.Step(till)
				for _, pod := range s.pods.Of(till) {
					if _, mounted := s.driver.Given(pod.UID, "vault"); !mounted {
						s.driver.Step(pod)
					}
				}
			}
			s.elapse(2 * longestSettle)
			s.driver.Store("vault", "password", before)
		}},
		"an ignored class is rotated and deleted, and the watch of its statuses has a gap": {draws{kind: classKind}, func(s script) {
			s.rest()
			s.users.editClass("tls", func(obj simapi.Object) { s.users.annotate(obj, annotations.DefaultNames().Ignore, "true") })
			s.deletesWorkloads("safe")
			s.rest()
			s.users.createClassWorkloadAgain()
			s.rest()
			s.elapse(2 * longestSettle)
			for _, f := range s.feeds {
				if f.resource == simapi.StatusResource {
					s.takeSnapshot(f)
				}
			}
			s.driver.Store("tls", "password", s.users.value())
			s.rotates("deployments", "bank")
			_ = s.server.Delete(simapi.ClassResource, inShop("tls"))
			s.shownAll(simapi.ClassResource)
			s.shown()
			s.rotates("statefulsets", "safe")
		}},
		"a rotation is seen, and its Pods are deleted before the controller acts": {draws{kind: classKind}, func(s script) {
			s.rest()
			s.elapse(2 * longestSettle)
			s.driver.Store("tls", "password", s.users.value())
			s.rotates("statefulsets", "safe")
			s.shown()
			s.stop()
			s.deletesWorkloads("safe", "bank")
			s.rest()
			s.elapse(2 * longestSettle)
			for range 2 {
				s.users.createClassWorkloadAgain()
			}
		}},
		"a status is written late, and the class is ignored for the next reload": {draws{kind: classKind}, func(s script) {
			s.rest()
			s.elapse(2 * longestSettle)
			s.driver.Store("tls", "password", s.users.value())
			safe, _ := s.server.Get("statefulsets", inShop("safe"))
			pod := s.pods.Of(safe)[0]
			s.driver.Step(pod)
			s.driver.Store("tls", "password", s.users.value())
			s.rotates("deployments", "bank")
			s.shown()
			s.elapse(longestSettle)
			s.driver.Step(pod)
			s.lookAtAll()
			s.shown()
			s.users.editClass("tls", func(obj simapi.Object) { s.users.annotate(obj, annotations.DefaultNames().Ignore, "true") })
			s.rest()
			s.elapse(2 * longestSettle)
			s.driver.Store("vault", "password", s.users.value())
			s.rest()
			s.elapse(2 * longestSettle)
			_ = s.server.Delete(simapi.ClassResource, inShop("tls"))
		}},
		"an object of a class goes back before all Pods have its version, and the class is ignored and deleted": {draws{kind: classKind}, func(s script) {
			s.rest()
			s.elapse(2 * longestSettle)
			before := s.driver.Stored("tls")["password"]
			s.driver.Store("tls", "password", s.users.value())
			s.rotates("statefulsets", "safe")
			s.driver.Store("tls", "password", before)
			s.shown()
			s.elapse(longestSettle)
			for s.lookAtAll() {
				s.shown()
			}
			s.rest()
			s.elapse(2 * longestSettle)
			s.users.editClass("tls", func(obj simapi.Object) { s.users.annotate(obj, annotations.DefaultNames().Ignore, "true") })
			s.rest()
			s.elapse(2 * longestSettle)
			_ = s.server.Delete(simapi.ClassResource, inShop("tls"))
		}},
		"a class is rotated, and deleted with all Pods that mount it": {draws{kind: classKind}, func(s script) {
			s.rest()
			s.elapse(2 * longestSettle)
			s.driver.Store("tls", "password", s.users.value())
			s.rotates("deployments", "bank")
			s.shown()
			_ = s.server.Delete(simapi.ClassResource, inShop("tls"))
			s.deletesWorkloads("safe", "bank")
			s.shown()
		}},
		"a class is rotated back, and only a deleted Pod had reported the version between": {draws{kind: classKind}, func(s script) {
			s.rest()
			s.elapse(2 * longestSettle)
			before := s.driver.Stored("tls")["user"]
			s.driver.Store("tls", "password", s.users.value())
			bank, _ := s.server.Get("deployments", inShop("bank"))
			pod := s.pods.Of(bank)[0]
			s.driver.Step(pod) // reads that, and writes it later
			s.driver.Store("tls", "user", s.users.value())
			s.rotates("statefulsets", "safe")
			s.shown()
			s.elapse(longestSettle)
			s.lookAt(workload.Key{Kind: "DaemonSet", Namespace: namespace, Name: "guard"})
			for range 30 {
				guard, _ := s.server.Get("daemonsets", inShop("guard"))
				s.pods.Step(guard)
			}
			s.stop()
			s.elapse(2 * longestSettle)
			s.driver.Store("tls", "user", before)
			s.driver.Step(pod)
			s.deletesWorkloads("safe")
		}},
		"a Pod starts with a turn that no running Pod gets, and reports it to the next controller, too": {draws{kind: classKind}, func(s script) {
			s.rest()
			s.elapse(2 * longestSettle)
			s.driver.Store("tls", "password", s.users.value())
			s.rotates("deployments", "bank")
			s.rotates("statefulsets", "safe")
			s.rest()
			s.elapse(2 * longestSettle)
			s.deletesWorkloads("bank")
			s.driver.Store("tls", "password", s.users.value())
			s.replaces("safe")
			s.shown()
			s.driver.Store("vault", "password", s.users.value())
			s.rotates("daemonsets", "guard")
			s.shown()
			s.elapse(longestSettle)
			s.lookAtAll()
			s.shown()
			s.stop()
			s.start()
			s.shown()
			s.replaces("safe")
		}},
		"a class is rotated and loses an object, unseen, and a Pod starts at once":                             {draws{kind: classKind}, func(s script) { s.losesAnObjectUnseen(0) }},
		"a class is rotated and loses an object, unseen, and a Pod starts later":                               {draws{kind: classKind}, func(s script) { s.losesAnObjectUnseen(time.Minute) }},
		"a class loses an object, and a watch begins again before a workload covers the class again":           {draws{kind: classKind}, func(s script) { s.losesAnObject(true) }},
		"a class loses an object, Pods start soon, and a watch begins again before a workload covers it again": {draws{kind: classKind}, func(s script) { s.losesAnObject(false) }},
	}
}
