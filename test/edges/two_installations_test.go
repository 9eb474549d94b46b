package edges

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/test/harness"
)

const secretive = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {colour: green}
---
apiVersion: v1
kind: Secret
metadata: {name: web}
stringData: {password: first}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: web, envFrom: [{configMapRef: {name: web}}, {secretRef: {name: web}}]}]}
`

// Each sees the ConfigMap of the other. The first one has adopted the workload, so the second one leaves it alone.
func TestTwoInstallationsWatchTheSameNamespaces(t *testing.T) {
	p, outside := install(t), installOn(t, shared)
	p.must(p.ns.Apply(p.ctx, strings.ReplaceAll(watchesFor, "NAMESPACE", outside.ns.Name)))
	p.must(outside.ns.Apply(p.ctx, strings.ReplaceAll(watchesFor, "NAMESPACE", p.ns.Name)))
	p.must(p.ns.Apply(p.ctx, secretive))
	both := "--namespaces=" + p.ns.Name + "," + outside.ns.Name
	outside.start(both)
	p.adopted(p.ns, web)
	second := p.start(both)
	_, err := second.Says(p.ctx, "another installation of Reroll watches the same namespaces", `"namespace":"`+outside.ns.Name+`"`)
	p.must(err)

	left := func() float64 {
		t.Helper()
		got, err := second.Metric(p.ctx, "reloader_skipped_total", map[string]string{"reason": "other_installation"})
		p.must(err)
		return got.Sum
	}
	secret := harness.Ref{Kind: "secret", Name: "web"}
	for i, change := range []struct {
		of   harness.Ref
		data string
	}{{webConfig, "colour=red"}, {secret, "password=second"}, {secret, "password-"}} {
		before := left()
		p.must(p.ns.Edit(p.ctx, change.of, change.data))
		p.must(p.ns.AwaitRolls(p.ctx, web, i+1))
		p.must(p.ns.AwaitFresh(p.ctx, web, change.of))
		p.must(harness.Await(p.ctx, "the second one to decide", func(context.Context) error {
			if now := left(); now <= before {
				return fmt.Errorf("it has left %v workloads to the other one", now)
			}
			return nil
		}))
		p.rolledOnce(web, i+1)
	}
}

func (p *place) rolledOnce(workload harness.Ref, want int) {
	p.Helper()
	got, err := p.ns.Rolls(p.ctx, workload)
	p.must(err)
	if got != want {
		p.Errorf("%s has rolled %d times, want %d\n%s", workload, got, want, p.ns.Report(p.ctx))
	}
}
