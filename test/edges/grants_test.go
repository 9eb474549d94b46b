package edges

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/reroll-dev/reroll/test/harness"
)

// grantOfPage is the ReferenceGrant that the page shows, for ConfigMap web and a namespace.
func grantOfPage(t *testing.T, namespace string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/how-to/select-workloads.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "```yaml\napiVersion: gateway.networking.k8s.io/")
	text, _, _ := strings.Cut(after, "```")
	return "apiVersion: gateway.networking.k8s.io/" + strings.NewReplacer(", namespace: infra", "", "namespace: shop", "namespace: "+namespace, "ca-bundle", "web").Replace(text)
}

// withGrants are the permissions that the controller is shipped with for ReferenceGrants.
func withGrants(t *testing.T) func([]rbacv1.PolicyRule) []rbacv1.PolicyRule {
	return func([]rbacv1.PolicyRule) []rbacv1.PolicyRule {
		path, err := harness.ShippedForReferenceGrants()
		if err != nil {
			t.Fatal(err)
		}
		role, err := harness.ReadClusterRole(path)
		if err != nil {
			t.Fatal(err)
		}
		return role.Rules
	}
}

// A ReferenceGrant allows a ConfigMap as the annotation does: from the moment at which the cluster
// serves them, in either version, until it is deleted.
func TestAReferenceGrantConsents(t *testing.T) {
	p := installGlobally(t, withGrants(t))
	infra, err := p.Harness.EmptyNamespace(p.ctx, "infra")
	p.must(err)
	p.must(infra.Apply(p.ctx, shopManifest))
	p.must(p.ns.Apply(p.ctx, strings.ReplaceAll(borrowManifest, "INFRA", infra.Name)))
	p.must(p.ns.AwaitReady(p.ctx, web))
	c := p.start(everywhere, "--enable-reference-grants")
	p.adopted(infra, web)
	edits, rolls := 0, 0
	edit := func(counts bool) {
		t.Helper()
		edits++
		p.must(infra.Edit(p.ctx, webConfig, fmt.Sprintf("colour=%d", edits)))
		p.must(infra.AwaitRolls(p.ctx, web, edits))
		if counts {
			rolls++
			p.must(p.ns.AwaitRolls(p.ctx, web, rolls))
		}
		p.rolled(p.ns, web, rolls)
	}
	counts := func(counts bool) {
		t.Helper()
		p.must(harness.Await(p.ctx, fmt.Sprintf("consent %t in the ledger", counts), func(ctx context.Context) error {
			obj, err := p.ns.Get(ctx, web)
			if err != nil {
				return err
			}
			if ledger := obj.GetAnnotations()["reroll.dev/ledger"]; strings.Contains(ledger, infra.Name+"/web") != counts {
				return fmt.Errorf("ledger %s", ledger)
			}
			return nil
		}))
		p.rolled(p.ns, web, rolls)
	}
	grant := grantOfPage(t, p.ns.Name)

	// The cluster does not serve them yet.
	p.hasEvent(p.ns, web, "SourceNotAllowed", "or create a ReferenceGrant from group apps, kind Deployment, namespace "+p.ns.Name+" there")
	edit(false)
	p.later(infra, "edit")

	// It does, in the version of earlier releases.
	p.must(p.Cluster.InstallReferenceGrants(p.ctx, false))
	p.must(p.Harness.AwaitKind(p.ctx, "referencegrants"))
	p.must(infra.Apply(p.ctx, grant))
	counts(true)
	edit(true)
	cmd := p.command("why", "deployment/web")
	out, _ := cmd.CombinedOutput() // the exit code depends on the state
	if said := strings.Join(strings.Fields(string(out)), " "); !strings.Contains(said, "ConfigMap "+infra.Name+"/web rolls it (named)") {
		t.Errorf("why:\n%s", out)
	}
	p.must(infra.Delete(p.ctx, harness.Ref{Kind: "referencegrant.gateway.networking.k8s.io", Name: "shop"}))
	counts(false)
	edit(false)

	// It comes while no controller runs, which then reads the newer version.
	p.must(c.Stop(p.ctx))
	p.must(p.Cluster.InstallReferenceGrants(p.ctx, true))
	p.must(infra.Apply(p.ctx, grant))
	p.start(everywhere, "--enable-reference-grants")
	counts(true)
	edit(true)
}
