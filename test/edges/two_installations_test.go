package edges

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/test/harness"
)

// Each sees the ConfigMap of the other. The first one has adopted the workload, so the second one
// leaves it alone.
func TestTwoInstallationsWatchTheSameNamespaces(t *testing.T) {
	p, outside := install(t), installOn(t, shared)
	p.must(p.ns.Apply(p.ctx, strings.ReplaceAll(watchesFor, "NAMESPACE", outside.ns.Name)))
	p.must(outside.ns.Apply(p.ctx, strings.ReplaceAll(watchesFor, "NAMESPACE", p.ns.Name)))
	secretive := strings.Replace(shopManifest, "{configMapRef: {name: web}}", "{configMapRef: {name: web}}, {secretRef: {name: web}}", 1)
	p.must(p.ns.Apply(p.ctx, "{apiVersion: v1, kind: Secret, metadata: {name: web}, stringData: {password: first}}\n---"+secretive))
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
		p.rolledSoFar(p.ns, web, i+1)
	}
}
