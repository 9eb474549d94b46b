package node_test

import (
	"context"
	"testing"

	"github.com/reroll-dev/reroll/test/harness"
)

// TestTheChartWithItsDefaultsReloadsInAnotherNamespace installs Reroll for all namespaces, with a
// ClusterRole. It runs before the parallel tests, whose workloads such a Reroll would reload, too.
func TestTheChartWithItsDefaultsReloadsInAnotherNamespace(t *testing.T) {
	p := &installed{place: newPlace(t), values: []string{"image.repository=" + rerollImage, "image.pullPolicy=Never"}}
	t.Cleanup(func() {
		p.ctx = context.Background()
		p.runHelm("uninstall", "reroll", "--namespace="+p.Name, "--wait")
	})
	p.helm("install", rerollTags()[0])
	other := newPlace(t)
	other.apply(envAndFile)
	other.must(other.AwaitReady(other.ctx, deployment("app")))
	other.awaitLedger("app")
	other.edit("configmap", "settings", "text=B")
	other.must(other.AwaitRolls(other.ctx, deployment("app"), 1))
	other.allPrinted("app", "env TEXT=B", "file /etc/password/text=A")
	other.must(other.Edit(other.ctx, harness.Ref{Kind: "secret", Name: "password"}, "text=B"))
	other.must(other.AwaitRolls(other.ctx, deployment("app"), 2))
	other.allPrinted("app", "env TEXT=B", "file /etc/password/text=B")
}
