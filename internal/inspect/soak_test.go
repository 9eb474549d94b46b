package inspect

import (
	"fmt"
	"testing"

	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// soaking has a StatefulSet in wave 0, which was rolled with the present data, and a Deployment that
// is rolled after it. The soak time is five minutes.
const soaking = `# heard: 2026-03-01T11:59:58Z
apiVersion: v1
kind: ConfigMap
metadata: {name: ca, namespace: shop, uid: u-ca, resourceVersion: "80", creationTimestamp: "2026-02-01T00:00:00Z", annotations: {reroll.dev/soak: 5m}}
data: {v: "1"}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: canary, namespace: shop, uid: u-canary, resourceVersion: "100", generation: 1, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  replicas: 2
  minReadySeconds: %d
  selector: {matchLabels: {app: canary}}
  template: {metadata: {labels: {app: canary}}, spec: {containers: [{name: app, image: web, envFrom: [{configMapRef: {name: ca}}]}]}}
status: {observedGeneration: 1, replicas: 2, updatedReplicas: 2, availableReplicas: 2}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, uid: u-web, resourceVersion: "100", generation: 1, annotations: {reloader.stakater.com/auto: "true", reroll.dev/wave: "1"}}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: app, image: web, envFrom: [{configMapRef: {name: ca}}]}]}}
status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1}
# then
apiVersion: v1
kind: ConfigMap
metadata:
  {name: ca, namespace: shop, uid: u-ca, resourceVersion: "120", creationTimestamp: "2026-02-01T00:00:00Z", annotations: {reroll.dev/soak: 5m},
  managedFields: [{manager: kubectl-edit, operation: Update, apiVersion: v1, time: "2026-03-01T11:50:00Z", fieldsType: FieldsV1, fieldsV1: {"f:data": {}}}]}
data: {v: "2"}
---
%s
---
%s
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, creationTimestamp: "2026-02-01T00:01:00Z", labels: {app: web}}
`

func podOfCanary(name, ready, since string) string {
	return fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: %s, namespace: shop, creationTimestamp: "2026-03-01T11:51:00Z", labels: {app: canary}, ownerReferences: [{apiVersion: apps/v1, kind: StatefulSet, name: canary, uid: u-canary, controller: true}]}
status: {phase: Running, conditions: [{type: Ready, status: %q, lastTransitionTime: "2026-03-01T%sZ"}]}`, name, ready, since)
}

// Only the Pods of a StatefulSet show since when it has been available.
func TestAStatefulSetSoaksSinceItsPodsAreReady(t *testing.T) {
	canary, web := workload.Key{Kind: "StatefulSet", Namespace: "shop", Name: "canary"}, workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"}
	const waits = "for wave 0 of ConfigMap shop/ca: 1 soaking"
	for about, tc := range map[string]struct {
		minReady            int
		ready, since, later string
		noPods              bool
		// gate is why the Deployment waits, empty if it does not.
		gate, why string
	}{
		"since three minutes":           {0, "True", "11:52:00", "11:57:00", false, waits, "has to stay available until 2026-03-01T12:02:00Z"},
		"since five minutes":            {0, "True", "11:52:00", "11:55:00", false, "", ""},
		"available since three minutes": {120, "True", "11:52:00", "11:55:00", false, waits, "has to stay available until 2026-03-01T12:02:00Z"},
		"one is not ready":              {0, "False", "11:52:00", "11:53:00", false, waits, "has to stay available until 2026-03-01T12:05:00Z"},
		"the user may not list Pods":    {0, "True", "11:52:00", "11:53:00", true, waits, "has to stay available until 2026-03-01T12:05:00Z"},
		"since long ago":                {0, "True", "11:40:00", "11:45:00", false, "", ""},
	} {
		t.Run(about, func(t *testing.T) {
			s := tell(t, fmt.Sprintf(soaking, tc.minReady, podOfCanary("canary-0", tc.ready, tc.since), podOfCanary("canary-1", "True", tc.later)))
			w := s.objects.workloads[canary]
			w.LedgerText = s.objects.Evaluate(s.running, noon).Of(canary).Decision.Ledger.String()
			s.objects.workloads[canary] = w
			s.noPods = tc.noPods
			// Without the Pods, it is unknown whether the Deployment is out of date.
			if a := s.objects.Evaluate(s.running, noon).Of(web); !tc.noPods && a.Gate.Why != tc.gate {
				t.Errorf("%s waits %q, want %q", a.State, a.Gate.Why, tc.gate)
			}
			src, _ := s.objects.source(source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "ca"})
			e := s.objects.Evaluate(s.running, noon)
			fleet := e.fleet(&src, "shop", gate.SettingsOf(&src, s.objects.wavesOf("shop"), s.objects.settings.Rules.Waves))
			if got := fleet.Progress()[0].Members[0]; got.Why != tc.why || got.Soaking != (tc.gate != "") {
				t.Errorf("the canary %+v, want %q", got, tc.why)
			}
		})
	}
}

// The pages of the controller show what the controller knows of each workload.
func TestTheControllerKnowsMoreOfItsWaves(t *testing.T) {
	s := tell(t, fmt.Sprintf(soaking, 0, podOfCanary("canary-0", "False", "11:52:00"), podOfCanary("canary-1", "True", "11:57:00")))
	canary := workload.Key{Kind: "StatefulSet", Namespace: "shop", Name: "canary"}
	followed := NewFollowed(s.objects.settings)
	for _, w := range s.objects.workloads {
		followed.live.state.PutWorkload(w, false)
	}
	for _, src := range s.objects.sources {
		followed.live.state.PutSource(src, false)
	}
	followed.live.member = func(ns string, src *source.Source, _ gate.Settings, key workload.Key) (gate.Member, bool) {
		return gate.Member{Rolled: true, State: gate.Done}, key == canary && ns == "shop" && src.Key.Name == "ca"
	}
	src, _ := followed.source(source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "ca"})
	fleet := followed.Evaluate(s.running, noon).fleet(&src, "shop", gate.Settings{})
	if m, _ := fleet.Member(canary); m.State != gate.Done {
		t.Errorf("%+v", m)
	}
}
