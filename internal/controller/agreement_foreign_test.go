//go:build !race

package controller_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/controller"
	"github.com/reroll-dev/reroll/internal/inspect"
	"github.com/reroll-dev/reroll/internal/reload"
)

// The ConfigMap is in another namespace. The controller and the commands agree about whether a
// change rolls the workload, and say the same whether it does not exist or does not allow that.
func TestTheControllerAndItsExplanationsAgreeAboutOtherNamespaces(t *testing.T) {
	const named, noConsent = `configmap.reloader.stakater.com/reload: "infra/cfg"`, "the source does not exist, or its reroll.dev/allow-from does not allow this namespace"
	const noGrant = "the source does not exist, or neither its reroll.dev/allow-from nor a ReferenceGrant allows this workload"
	grant := func(from, to string) string {
		return "\n---\n{apiVersion: gateway.networking.k8s.io/v1beta1, kind: ReferenceGrant, metadata: {name: g, namespace: infra}, " +
			"spec: {from: [{group: apps, kind: Deployment, namespace: " + from + "}], to: [{group: '', kind: ConfigMap, name: " + to + "}]}}"
	}
	const grants = "--enable-reference-grants"
	allow := func(text string) string { return `annotations: {reroll.dev/allow-from: "` + text + `"}` }
	for about, tc := range map[string]struct {
		agreed
		why, lint string
	}{
		"named and allowed":            {agreed{objects: web(named), cfg: allow("shop"), rolls: true}, "ConfigMap infra/cfg rolls it (named)", ""},
		"allowed by a star":            {agreed{objects: web(named), cfg: allow("bank, sh*"), rolls: true}, "ConfigMap infra/cfg rolls it (named)", ""},
		"not allowed":                  {agreed{objects: web(named), cfg: allow("bank")}, noConsent, noConsent},
		"it does not exist":            {agreed{objects: web(strings.Replace(named, "cfg", "other", 1)), cfg: allow("shop")}, noConsent, noConsent},
		"not allowed, and ignored":     {agreed{objects: web(named), cfg: `annotations: {reloader.stakater.com/ignore: "true"}`}, noConsent, noConsent},
		"allowed, and ignored":         {agreed{objects: web(named), cfg: `annotations: {reloader.stakater.com/ignore: "true", reroll.dev/allow-from: shop}`}, "the source has the ignore annotation", ""},
		"the workload allows itself":   {agreed{objects: web(named + `, reroll.dev/allow-from: "shop"`)}, noConsent, "does nothing here; it belongs on the ConfigMap or Secret"},
		"not named":                    {agreed{objects: web(auto), cfg: allow("shop")}, "", ""},
		"its namespace is left out":    {agreed{flags: "--namespaces-to-ignore=infra", objects: web(named), cfg: allow("shop")}, "the controller does not watch namespace infra", ""},
		"only another one is watched":  {agreed{flags: "--namespaces=shop", objects: web(named), cfg: allow("shop")}, "the controller does not watch namespace infra", ""},
		"not one with these labels":    {agreed{flags: "--namespace-selector=tier=front", objects: web(named), cfg: allow("shop")}, "the controller does not watch namespace infra", ""},
		"not with labels, not allowed": {agreed{flags: "--namespace-selector=tier=front", objects: web(named), cfg: allow("bank")}, noConsent, ""},
		"granted":                      {agreed{flags: grants, objects: web(named) + grant("shop", "cfg"), rolls: true}, "ConfigMap infra/cfg rolls it (named)", ""},
		"granted and allowed":          {agreed{flags: grants, objects: web(named) + grant("shop", "cfg"), cfg: allow("shop"), rolls: true}, "ConfigMap infra/cfg rolls it (named)", ""},
		"only allowed":                 {agreed{flags: grants, objects: web(named) + grant("bank", "cfg"), cfg: allow("shop"), rolls: true}, "ConfigMap infra/cfg rolls it (named)", ""},
		"granted to another one":       {agreed{flags: grants, objects: web(named) + grant("bank", "cfg")}, noGrant, noGrant},
		"another source is granted":    {agreed{flags: grants, objects: web(named) + grant("shop", "other")}, noGrant, noGrant},
		"granted, and ignored":         {agreed{flags: grants, objects: web(named) + grant("shop", "cfg"), cfg: `annotations: {reloader.stakater.com/ignore: "true"}`}, "the source has the ignore annotation", ""},
		"granted, and not named":       {agreed{flags: grants, objects: web(auto) + grant("shop", "cfg")}, "", ""},
		"granted, and not there":       {agreed{flags: grants, objects: web(strings.Replace(named, "cfg", "other", 1)) + grant("shop", "other")}, noGrant, noGrant},
		"grants do not count":          {agreed{objects: web(named) + grant("shop", "cfg")}, noConsent, noConsent},
		"granted in what is left out":  {agreed{flags: grants + " --namespaces=shop", objects: web(named) + grant("shop", "cfg")}, "the controller does not watch namespace infra", ""},
		"ConfigMaps are not read":      {agreed{flags: "--resources-to-ignore=configmaps", objects: web(named), cfg: allow("shop")}, "", ""},
		"labels that do not count":     {agreed{flags: "--resource-label-selector=team=a", objects: web(named), cfg: allow("shop")}, "its labels do not match --resource-label-selector", ""},
		"labels of another one's name": {agreed{objects: web(`reroll.dev/sources: "plugins=grafana"`), cfg: `labels: {plugins: grafana}, ` + allow("shop")}, "", ""},
	} {
		t.Run(about, func(t *testing.T) {
			cfg, flags := tc.config(t)
			settings := cfg.Rules()
			settings.Kinds = cfg.Kinds
			elsewhere := func(value string) string {
				text := strings.Replace(tc.manifests(value), "name: cfg, namespace: shop", "name: cfg, namespace: infra", 1)
				return text + "\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: infra}}\n"
			}
			played := controller.Play(t, settings, decoded(t, elsewhere("one")), decoded(t, elsewhere("two"))[0], installed, edited)
			objects := commandsRead(t, cfg, flags, settings, played.Objects)
			key, err := objects.Workload("shop", "deployment/web")
			if err != nil {
				t.Fatal(err)
			}
			if wrong := tc.played(key, played.Deeds); wrong != "" {
				t.Errorf("the controller: want rolled %t: %s", tc.rolls, wrong)
			}
			status, err := objects.Status("shop", "deployment/web", oldPod, played.Now)
			if err != nil {
				t.Fatal(err)
			}
			if rolls := status.Answers[0].Decision.Action == reload.Reload; rolls != tc.rolls {
				t.Errorf("status: %s, %s", status.Answers[0].State, status.Answers[0].Decision.Why)
			}
			x, err := objects.Explain("shop", "deployment/web", "", oldPod, played.Now)
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(strings.Fields(x.Text(inspect.Paint{})), " "); !strings.Contains(text, tc.why) {
				t.Errorf("why: %s", text)
			}
			found := objects.Lint(false, played.Now)
			if tc.lint != "" && !slices.ContainsFunc(found, func(f inspect.Finding) bool { return strings.Contains(f.Text, tc.lint) }) {
				t.Errorf("lint: %v", found)
			}
		})
	}
}
