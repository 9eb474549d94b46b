package edges

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/test/harness"
)

// borrowManifest is a workload that names sources of namespace INFRA, beside one of its own with the
// same name. The annotation that it carries itself is worth nothing.
const borrowManifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: web}
data: {colour: local}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations:
    configmap.reloader.stakater.com/reload: INFRA/web
    secret.reloader.stakater.com/reload: INFRA/token
    reroll.dev/allow-from: "*"
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: web, envFrom: [{configMapRef: {name: web}}]}]}
`

const tokenManifest = "{apiVersion: v1, kind: Secret, metadata: {name: token}, stringData: {token: first}}\n---"

// hasEvent returns when an event of a reason about an object matches.
func (p *place) hasEvent(ns *harness.Namespace, about harness.Ref, reason, text string) {
	p.Helper()
	wanted := regexp.MustCompile(text)
	p.must(harness.Await(p.ctx, fmt.Sprintf("event %s on %s with %q", reason, about, text), func(ctx context.Context) error {
		events, err := ns.Events(ctx, about)
		if err != nil {
			return err
		}
		for i := range events {
			if events[i].Reason == reason && wanted.MatchString(events[i].Note) {
				return nil
			}
		}
		return fmt.Errorf("%d others", len(events))
	}))
}

// counted tells how many events of a reason an object has.
func (p *place) counted(ns *harness.Namespace, about harness.Ref, reason string) int {
	p.Helper()
	events, err := ns.Events(p.ctx, about)
	p.must(err)
	n := 0
	for i := range events {
		if events[i].Reason == reason {
			n++
		}
	}
	return n
}

// A ConfigMap and a Secret of one namespace roll a workload of another one as long as they allow it.
// A workload beside them shows when the controller has seen each edit.
func TestASourceOfAnotherNamespaceRollsWithConsent(t *testing.T) {
	p, infra, reader := install(t), installOn(t, shared), installOn(t, shared)
	p.must(p.ns.Apply(p.ctx, strings.ReplaceAll(watchesFor, "NAMESPACE", reader.ns.Name)))
	explains := func(by *place, text string) {
		t.Helper()
		cmd := by.command("why", "deployment/web")
		cmd.Args[len(cmd.Args)-1] = "--namespace=" + p.ns.Name
		out, _ := cmd.CombinedOutput() // the exit code depends on the state
		if said := strings.Join(strings.Fields(string(out)), " "); !strings.Contains(said, text) {
			t.Errorf("why, want %q:\n%s", text, out)
		}
	}
	p.must(infra.ns.Apply(p.ctx, strings.ReplaceAll(watchesFor, "NAMESPACE", p.ns.Name)))
	token := harness.Ref{Kind: "secret", Name: "token"}
	there := tokenManifest + strings.Replace(shopManifest, "{configMapRef: {name: web}}", "{configMapRef: {name: web}}, {secretRef: {name: token}}", 1)
	p.must(infra.ns.Apply(p.ctx, there))
	both := "--namespaces=" + p.ns.Name + "," + infra.ns.Name
	c := p.start(both)
	p.adopted(infra.ns, web)
	edits, rolls := 0, 0
	edit := func(of harness.Ref, key string, counts bool) {
		t.Helper()
		edits++
		p.must(infra.ns.Edit(p.ctx, of, fmt.Sprintf("%s=%d", key, edits)))
		p.must(infra.ns.AwaitRolls(p.ctx, web, edits))
		if counts {
			rolls++
			p.must(p.ns.AwaitRolls(p.ctx, web, rolls))
		}
		p.rolled(p.ns, web, rolls)
	}
	allow := func(text string, of ...harness.Ref) {
		t.Helper()
		for _, ref := range of {
			p.must(infra.ns.Annotate(p.ctx, ref, text))
		}
		p.rolled(p.ns, web, rolls)
	}

	// Without consent, nothing rolls, and each side is told once.
	p.must(p.ns.Apply(p.ctx, strings.ReplaceAll(borrowManifest, "INFRA", infra.ns.Name)))
	p.must(p.ns.AwaitReady(p.ctx, web))
	p.hasEvent(p.ns, web, "SourceNotAllowed", "No change of ConfigMap "+infra.ns.Name+"/web and Secret "+infra.ns.Name+"/token reloads this Deployment: it does not exist, or does not allow namespace "+p.ns.Name)
	p.hasEvent(p.ns, web, "AnnotationIgnored", "reroll.dev/allow-from .*does nothing here; it belongs on the ConfigMap or Secret")
	p.hasEvent(infra.ns, webConfig, "SourceNotAllowed", "Workloads of namespace "+p.ns.Name+" name this ConfigMap, which does not allow that")
	p.hasEvent(infra.ns, token, "SourceNotAllowed", "name this Secret")
	explains(p, "the source does not exist, or its reroll.dev/allow-from does not allow this namespace")
	edit(webConfig, "colour", false)
	edit(token, "token", false)
	allow("reroll.dev/allow-from=elsewhere, "+p.ns.Name+"-*", webConfig, token)
	edit(webConfig, "colour", false)
	if n := p.counted(p.ns, web, "SourceNotAllowed") + p.counted(infra.ns, webConfig, "SourceNotAllowed"); n != 2 {
		t.Errorf("%d events about missing consent, want one on each side", n)
	}

	// Consent rolls nothing by itself. Later edits do, and the one of its own with that name does not.
	allow("reroll.dev/allow-from=elsewhere, "+p.ns.Name, webConfig, token)
	edit(webConfig, "colour", true)
	edit(token, "token", true)
	explains(p, "ConfigMap "+infra.ns.Name+"/web rolls it (named)")
	explains(reader, "ConfigMap "+infra.ns.Name+"/web: you may not list ConfigMaps in namespace "+infra.ns.Name)
	p.must(p.ns.Edit(p.ctx, webConfig, "colour=other"))
	p.rolled(p.ns, web, rolls)
	asked, err := p.ns.Get(p.ctx, web)
	p.must(err)
	ledger := asked.GetAnnotations()["reroll.dev/ledger"]
	of, err := infra.ns.Get(p.ctx, web)
	p.must(err)
	for _, sum := range regexp.MustCompile(`"(?:web|token)":"([0-9a-f]{32})"`).FindAllStringSubmatch(of.GetAnnotations()["reroll.dev/ledger"], -1) {
		if strings.Contains(ledger, sum[1]) {
			t.Errorf("the ledger %s has the digest %s that namespace %s knows", ledger, sum[1], infra.ns.Name)
		}
	}
	if !strings.Contains(ledger, `"far":{"cm":{"`+infra.ns.Name+`/web":`) {
		t.Errorf("ledger %s", ledger)
	}

	// Two restarts: one in which nothing changes, and one that misses an edit.
	p.must(c.Stop(p.ctx))
	c = p.start(both)
	p.rolled(p.ns, web, rolls)
	p.must(c.Stop(p.ctx))
	edits++
	p.must(infra.ns.Edit(p.ctx, webConfig, "colour=away"))
	c = p.start(both)
	rolls++
	p.must(infra.ns.AwaitRolls(p.ctx, web, edits))
	p.must(p.ns.AwaitRolls(p.ctx, web, rolls))
	p.rolled(p.ns, web, rolls)

	// Consent that is withdrawn ends it, also during a restart. Consent that is given again rolls
	// nothing, even if the data changed in between.
	allow("reroll.dev/allow-from-", webConfig)
	edit(webConfig, "colour", false)
	edit(token, "token", true)
	allow("reroll.dev/allow-from="+p.ns.Name, webConfig)
	edit(webConfig, "colour", true)
	p.must(c.Stop(p.ctx))
	p.must(infra.ns.Annotate(p.ctx, token, "reroll.dev/allow-from-"))
	edits++
	p.must(infra.ns.Edit(p.ctx, token, "token=away"))
	c = p.start(both)
	p.must(infra.ns.AwaitRolls(p.ctx, web, edits))
	p.rolled(p.ns, web, rolls)

	// A controller that does not watch that namespace says so.
	p.must(c.Stop(p.ctx))
	p.start("--namespaces=" + p.ns.Name)
	p.rolled(p.ns, web, rolls)
	p.must(p.ns.Annotate(p.ctx, web, "configmap.reloader.stakater.com/reload=web", "secret.reloader.stakater.com/reload="+infra.ns.Name+"/other"))
	p.hasEvent(p.ns, web, "SourceNotAllowed", "No change of Secret "+infra.ns.Name+"/other reloads this Deployment, because Reroll does not watch that namespace")
	p.must(p.ns.Edit(p.ctx, webConfig, "colour=last"))
	p.must(p.ns.AwaitRolls(p.ctx, web, rolls+1))
}
