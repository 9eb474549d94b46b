package edges

import (
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/test/harness"
)

// fleetManifest is a canary, which has to be ready for a while, and two Deployments after it. They
// use one ConfigMap, and no object sets anything but its wave.
var fleetManifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: ca}
data: {step: "0"}
` + inWave("canary", "-1", "minReadySeconds: 12, progressDeadlineSeconds: 13,") + inWave("one", "0", "") + inWave("two", "0", "")

func inWave(name, wave, spec string) string {
	return strings.NewReplacer("NAME", name, "WAVE", wave, "SPEC", spec).Replace(`---
apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME, annotations: {reloader.stakater.com/auto: "true", reroll.dev/wave: "WAVE"}}
spec: {SPEC strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}, selector: {matchLabels: {app: NAME}}, template: {metadata: {labels: {app: NAME}}, spec: {containers: [{name: app, image: web, envFrom: [{configMapRef: {name: ca}}]}]}}}
`)
}

// The annotations of a Namespace are the settings of the waves of its sources. A new value counts at
// once, also for workloads that wait, and the annotation of a source is more specific.
func TestTheWavesOfANamespace(t *testing.T) {
	p := installGlobally(t, asShipped)
	ns, err := p.Harness.EmptyNamespace(p.ctx, "waves")
	p.must(err)
	canary, one, two := harness.Ref{Kind: "deployment", Name: "canary"}, harness.Ref{Kind: "deployment", Name: "one"}, harness.Ref{Kind: "deployment", Name: "two"}
	ca := harness.Ref{Kind: "configmap", Name: "ca"}
	p.must(ns.Apply(p.ctx, fleetManifest))
	c := p.start(everywhere)
	for _, ref := range []harness.Ref{canary, one, two} {
		p.must(ns.AwaitReady(p.ctx, ref))
		p.adopted(ns, ref)
	}
	p.annotateNamespace(ns, `"reroll.dev/max-rolling":"1","reroll.dev/soak":"1s","reroll.dev/max-failures":"0"`)
	p.says("at most 1 at a time (reroll.dev/max-rolling on the namespace), each has to stay available for 1s (reroll.dev/soak on the namespace), more than 0 failures stop it (reroll.dev/max-failures on the namespace)",
		"plan", "configmap/ca", "-n", ns.Name)

	p.must(ns.KubeletOfNext(p.ctx, canary, "crash-loop"))
	p.must(ns.Edit(p.ctx, ca, "step=1"))
	p.reads(c, "reloader_sources_stopped", nil, 1)
	p.hasEvent(ns, ca, "WavesStopped", `wave -1 stopped, deployment/canary does not start \(crash loop\)`)
	p.rolled(ns, one, 0)
	p.rolled(ns, two, 0)

	p.annotateNamespace(ns, `"reroll.dev/max-failures":"1"`)
	for _, ref := range []harness.Ref{one, two} {
		p.must(ns.AwaitFresh(p.ctx, ref, ca))
		p.rolled(ns, ref, 1)
	}

	p.must(ns.Annotate(p.ctx, ca, "reroll.dev/max-failures=0"))
	p.must(ns.KubeletOfNext(p.ctx, canary, "crash-loop"))
	p.must(ns.Edit(p.ctx, ca, "step=2"))
	p.reads(c, "reloader_sources_stopped", nil, 1)
	p.rolled(ns, one, 1)
	p.rolled(ns, two, 1)
}
