package controller

import (
	"time"

	"github.com/reroll-dev/reroll/test/simapi"
)

// keptPodHistories are those in which nothing shows which data Pods have.
func keptPodHistories() map[string]keptHistory {
	settings := simapi.Source{Resource: "configmaps", Name: "settings"}
	db := workloads()[2]
	return map[string]keptHistory{
		"a workload refers to a source after its edit, and its status still counts Pods that were deleted": {draws{}, func(s script) {
			s.rest()
			s.elapse(2 * longestSettle)
			s.edit(settings, "kubectl-edit")
			s.users.edit(db, func(obj simapi.Object) { refer(templateOf(obj), settings, nil) })
			s.stop()
			obj, _ := s.server.Get("statefulsets", inShop("db"))
			for _, pod := range s.pods.Of(obj) {
				s.pods.Evict(pod)
			}
			s.start()
			s.shown()
			s.elapse(longestSettle)
			s.lookAtAll()
		}},
		"a Pod starts without an optional source, which no controller saw deleted, and which becomes what it was": {draws{}, func(s script) {
			web := workloads()[0]
			s.users.edit(web, func(obj simapi.Object) {
				leave(templateOf(obj), settings)
				refer(templateOf(obj), settings, new(true))
			})
			s.rest()
			s.elapse(2 * longestSettle)
			earlier, _ := s.server.Get("configmaps", inShop("settings"))
			s.users.deleteSource(settings)
			s.shown()
			s.stop()
			s.evictAll("web")
			s.rest()
			s.elapse(2 * longestSettle)
			s.users.createSource(settings)
			s.users.save(settings, keeper{manager: "kubectl-edit"}, func(obj simapi.Object) { setData(obj, data(earlier)) })
		}},
		"a Secret is edited before the first ledger, and then the digest key and the field managers are lost": {draws{}, func(s script) {
			s.start()
			for !s.synced() {
				s.restless()
			}
			s.stop()
			s.elapse(2 * longestSettle)
			s.edit(sources()[2], "kubectl-edit")
			s.elapse(2 * longestSettle)
			s.keyMade = time.Time{}
			s.start()
			for !s.synced() {
				s.restless()
			}
			s.users.forgetManagers(sources()[2])
		}},
	}
}
