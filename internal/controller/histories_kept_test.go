package controller

import (
	"maps"
	"slices"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/test/simapi"
)

// script is a history that is written down, and judged by the same oracle. A seed would give
// another history as soon as the generator changes.
type script struct{ *history }

// rest waits until nothing is left to do. A script has no faults.
func (s script) rest() {
	s.history.rest()
	s.calm = true
}

// stop ends the controller at this point. It loses only its state in memory.
func (s script) stop() { s.c, s.feeds, s.looks = nil, nil, nil }

// shown delivers everything to the controller, which then waits for the settle period.
func (s script) shown() {
	for slices.ContainsFunc(s.feeds, s.deliver) {
		continue
	}
}

// shownAll delivers all objects of one resource to the controller.
func (s script) shownAll(resource string) {
	f := s.feed(resource)
	for s.deliver(f) {
		continue
	}
}

func (s script) feed(resource string) *simFeed {
	return s.feeds[slices.IndexFunc(s.feeds, func(f *simFeed) bool { return f.resource == resource })]
}

// evictAll replaces all Pods of a workload.
func (s script) evictAll(name string) {
	s.elapse(2 * longestSettle)
	for _, obj := range s.workloads() {
		if obj.GetName() != name {
			continue
		}
		for _, pod := range s.pods.Of(obj) {
			s.pods.Evict(pod)
		}
	}
	for range 60 {
		s.stepPods()
	}
}

func (s script) edit(src simapi.Source, manager string) { s.put(src, manager, s.users.value()) }

func (s script) put(src simapi.Source, manager, value string) {
	s.users.save(src, keeper{manager: manager}, func(obj simapi.Object) {
		content := data(obj)
		content["a"] = value
		setData(obj, content)
	})
}

// removes a key as the manager of the data, for which the API records no time.
func (s script) removes(src simapi.Source, key, manager string) {
	s.users.save(src, keeper{manager: manager}, func(obj simapi.Object) {
		content := data(obj)
		delete(content, key)
		setData(obj, content)
	})
}

func (s script) touch(src simapi.Source, manager string) {
	s.users.save(src, keeper{manager: manager}, func(obj simapi.Object) { s.users.label(obj, "touched", s.users.value()) })
}

// again recreates a workload with only these annotations.
func (s script) again(name string, annotations map[string]string) {
	w := workloads()[slices.IndexFunc(workloads(), func(w drawnWorkload) bool { return w.name == name })]
	_ = s.server.Delete(w.resource, inShop(name))
	w.annotations = annotations
	s.users.createWorkload(w)
	for range 60 {
		s.stepPods()
	}
}

// ask replaces all opt-in annotations of a workload.
func (s script) ask(name string, ann map[string]string) {
	w := workloads()[slices.IndexFunc(workloads(), func(w drawnWorkload) bool { return w.name == name })]
	s.users.edit(w, func(obj simapi.Object) {
		kept := map[string]string{}
		if ledger, ok := obj.GetAnnotations()[annotations.Ledger]; ok {
			kept[annotations.Ledger] = ledger
		}
		maps.Copy(kept, ann)
		obj.SetAnnotations(kept)
	})
}

type keptHistory struct {
	draws draws
	play  func(s script)
}

// keptHistories are those that have failed once, in their shortest failing form.
func keptHistories() map[string]keptHistory {
	settings := simapi.Source{Resource: "configmaps", Name: "settings"}
	names := annotations.DefaultNames()
	auto := map[string]string{names.Auto: "true"}
	return map[string]keptHistory{
		"who owns the data writes a label, then a workload opts in while the controller is away": {draws{}, func(s script) {
			s.again("web", nil)
			s.rest()
			s.elapse(longestSettle)
			s.edit(settings, "helm")
			s.rest()
			s.stop()
			s.elapse(longestSettle)
			s.touch(settings, "helm")
			s.ask("web", auto)
		}},
		"who owns the data writes a label before a workload is adopted": {draws{}, func(s script) {
			s.edit(settings, "helm")
			s.elapse(longestSettle)
			s.start()
			s.shown()
			s.touch(settings, "helm")
		}},
		"a source is edited, and everything is opted in at the next start": {draws{}, func(s script) {
			s.again("web", nil)
			s.rest()
			s.elapse(longestSettle)
			s.edit(settings, "kubectl-edit")
			s.rest()
			s.stop()
			s.elapse(longestSettle)
			s.all = allAlways
		}},
		"a source that was edited before the controller started comes to match": {draws{}, func(s script) {
			s.again("web", map[string]string{names.Search: "true"})
			s.rest()
			s.edit(settings, "kubectl-edit")
			s.rest()
			s.stop()
			s.start()
			s.rest()
			s.users.save(settings, keeper{manager: "kubectl-annotate"}, func(obj simapi.Object) { s.users.annotate(obj, names.Match, "true") })
		}},
		"a source is deleted unseen, made with other content, and becomes what it was before it is quiet": {draws{}, func(s script) {
			s.rest()
			s.stop()
			s.users.deleteSource(settings)
			s.start()
			s.rest()
			web, _ := s.server.Get("deployments", inShop("web"))
			s.pods.Evict(s.pods.Of(web)[0])
			for range 4 {
				s.pods.Step(web)
			}
			earlier := data(s.users.before[settings][0])
			s.users.createSource(settings)
			s.pods.Step(web)
			s.shown()
			s.put(settings, "kubectl-edit", earlier["a"])
			s.users.save(settings, keeper{manager: "kubectl-edit"}, func(obj simapi.Object) { setData(obj, earlier) })
		}},
		"a source is edited, and then a workload opts in, which arrives first": {draws{}, func(s script) {
			s.again("web", nil)
			s.rest()
			s.edit(settings, "kubectl-edit")
			s.ask("web", auto)
			s.shownAll("deployments")
			s.elapse(longestSettle)
			s.lookAtAll()
		}},
		"a source is deleted, and the workload begins to search before it is quiet": {draws{onDelete: true}, func(s script) {
			s.rest()
			s.users.deleteSource(settings)
			s.shown()
			s.ask("web", map[string]string{names.Search: "true"})
		}},
		"a label is written on a source, which is deleted before its workload is adopted, and made again": {draws{onCreate: true}, func(s script) {
			s.start()
			s.shown()
			s.stop()
			s.elapse(longestSettle)
			by := s.users.keepers[settings]
			s.users.save(settings, by, func(obj simapi.Object) { s.users.touchAs(obj, by) })
			s.start()
			s.shown()
			s.users.deleteSource(settings)
			s.rest()
			s.users.makeAgain(settings)
		}},
		"no pod is found of a workload whose source is edited while the controller is away": {draws{blind: "web"}, func(s script) {
			s.rest()
			s.stop()
			s.elapse(longestSettle)
			s.edit(settings, "kubectl-edit")
		}},
		"a rollout is undone in the middle, and no pod of the workload is found": {draws{blind: "web"}, func(s script) {
			s.rest()
			s.elapse(longestSettle)
			s.edit(settings, "kubectl-edit")
			s.shown()
			s.elapse(longestSettle)
			s.lookAtAll()
			s.users.undo("web")
		}},
		"a source without field managers is edited, and a template comes back in the middle of a rollout": {draws{}, func(s script) {
			s.users.forgetManagers(settings)
			s.evictAll("web") // its pods are younger than the source
			s.rest()
			s.edit(settings, "kubectl-edit")
			s.users.editTemplate(workloads()[0])
			s.users.undo("web")
		}},
		"a source is edited, and somebody drops its field managers before the workload is adopted": {draws{}, func(s script) {
			s.start()
			for !s.synced() {
				s.restless()
			}
			s.stop()
			s.elapse(longestSettle)
			s.edit(settings, "kubectl-edit")
			s.start()
			for !s.synced() {
				s.restless()
			}
			s.users.forgetManagers(settings)
		}},
		"a source that a workload names is edited, and comes to match before the workload is adopted": {draws{}, func(s script) {
			s.start()
			for !s.synced() {
				s.restless()
			}
			s.elapse(longestSettle)
			s.edit(settings, "kubectl-edit")
			s.users.save(settings, keeper{manager: "kubectl-annotate"}, func(obj simapi.Object) { s.users.annotate(obj, names.Match, "true") })
		}},
		"a pod starts without an optional source, which is created with other content and becomes what it was": {draws{}, func(s script) {
			web := workloads()[0]
			s.users.edit(web, func(obj simapi.Object) {
				leave(templateOf(obj), settings)
				refer(templateOf(obj), settings, new(true))
			})
			s.rest()
			earlier, _ := s.server.Get("configmaps", inShop("settings"))
			s.users.deleteSource(settings)
			obj, _ := s.server.Get("deployments", inShop("web"))
			s.pods.Evict(s.pods.Of(obj)[0])
			for range 10 {
				s.pods.Step(obj)
			}
			s.users.createSource(settings)
			s.users.save(settings, keeper{manager: "kubectl-edit"}, func(obj simapi.Object) { setData(obj, data(earlier)) })
		}},
		"a source is edited between two requests of a workload, and the second is for another source": {draws{}, func(s script) {
			s.again("web", nil)
			s.rest()
			s.elapse(longestSettle)
			s.ask("web", map[string]string{names.ConfigMap: "settings"})
			s.shown()
			s.edit(settings, "kubectl-edit")
			s.shown()
			s.ask("web", map[string]string{names.ConfigMap: "settings, more"})
			s.shown()
		}},
		"a source without field managers is edited, and the rollout of that is undone in the middle": {draws{}, func(s script) {
			s.users.forgetManagers(settings)
			s.evictAll("web")
			s.rest()
			s.edit(settings, "kubectl-edit")
			s.shown()
			s.elapse(longestSettle)
			s.lookAtAll()
			s.users.undo("web")
		}},
		"the data that another client rolls is recorded, and the template before is back while the controller is away": {draws{}, func(s script) {
			s.rest()
			s.elapse(longestSettle)
			before, _ := s.server.Get("deployments", inShop("web"))
			s.edit(settings, "kubectl-edit")
			s.users.editTemplate(workloads()[0])
			s.shown()
			s.elapse(longestSettle)
			s.lookAtAll()
			s.stop()
			s.users.edit(workloads()[0], func(obj simapi.Object) { templateOf(obj).Spec = *templateOf(before).Spec.DeepCopy() })
		}},
		"a workload is made, its pods run, and a moment later comes a source that it names": {draws{onCreate: true}, func(s script) {
			s.users.deleteSource(settings)
			s.rest()
			s.ask("api", nil)
			s.again("web", map[string]string{names.ConfigMap: "settings"})
			s.users.unrefer("web", settings)
			for range 60 {
				s.stepPods()
			}
			s.shown()
			s.users.createSource(settings)
		}},
		"a source is deleted while its workload is opted out, and made again after a reload for another one": {draws{onCreate: true, onDelete: true}, func(s script) {
			s.users.edit(workloads()[0], func(obj simapi.Object) {
				leave(templateOf(obj), settings)
				refer(templateOf(obj), settings, new(true))
			})
			s.rest()
			s.ask("web", nil)
			s.rest()
			s.users.deleteSource(settings)
			s.rest()
			s.ask("web", auto)
			s.rest()
			s.elapse(2 * longestSettle)
			s.edit(sources()[2], "kubectl-edit")
			s.rest()
			s.elapse(2 * longestSettle)
			s.users.makeAgain(settings)
		}},
		"a source is made, and the workload asks for it in other words before it is quiet": {draws{onCreate: true, onDelete: true}, func(s script) {
			s.again("web", map[string]string{names.ConfigMap: "settings, extra"})
			s.rest()
			s.users.unrefer("web", settings)
			s.users.deleteSource(settings)
			s.rest()
			s.elapse(2 * longestSettle)
			s.users.createSource(settings)
			s.shown()
			s.ask("web", map[string]string{names.ConfigMap: "settings, more"})
			s.shown()
		}},
	}
}
