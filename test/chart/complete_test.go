package chart

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/reroll-dev/reroll/test/cluster"
)

// complete are the values of testdata/complete.yaml by their paths.
func complete(t *testing.T) map[string]any {
	t.Helper()
	text, err := os.ReadFile("testdata/complete.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		t.Fatal(err)
	}
	return values
}

// nested puts a value where its path says.
func nested(t *testing.T, path string, value any) string {
	t.Helper()
	for _, key := range slices.Backward(strings.Split(path, ".")) {
		value = map[string]any{key: value}
	}
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// properties are the paths of the schema of the chart that have no others below them.
func properties(t *testing.T) []string {
	t.Helper()
	type schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	var all []string
	var walk func(path string, text []byte)
	walk = func(path string, text []byte) {
		var s schema
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		for key, below := range s.Properties {
			walk(path+"."+key, below)
		}
		if len(s.Properties) == 0 {
			all = append(all, strings.TrimPrefix(path, "."))
		}
	}
	text, err := os.ReadFile(filepath.Join(chart, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	walk("", text)
	return all
}

func TestEveryValueOfTheSchemaIsTried(t *testing.T) {
	want := properties(t)
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(complete(t)))); diff != "" {
		t.Errorf("testdata/complete.yaml (-the schema +the file):\n%s", diff)
	}
}

// onlyOld are values that charts of Reloader have and this one takes without having them itself.
func onlyOld() []string {
	return []string{"enabled", "enterprise", "global.host", "kubernetes", "reloader.legacy", "reloader.volumes", "reloader.volumeMounts", "reloader.deployment.image", "reloader.deployment.imagePullSecrets"}
}

func TestTheSchemaHasTheValuesOfTheChart(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.Unmarshal(text, &values); err != nil {
		t.Fatal(err)
	}
	for _, path := range properties(t) {
		if slices.ContainsFunc(onlyOld(), func(old string) bool { return strings.HasPrefix(path+".", old+".") }) {
			continue
		}
		at := values
		for key := range strings.SplitSeq(path, ".") {
			below, has := at[key]
			if !has {
				t.Errorf("%s is in the schema and not in values.yaml", path)
				break
			}
			deeper, _ := below.(map[string]any)
			if len(deeper) == 0 {
				break // not written out
			}
			at = deeper
		}
	}
}

// beside is what has to be set before a value makes a difference.
func beside(path string) string {
	section := func(name string) string { return "reloader: {" + name + ": {enabled: true}}" }
	switch {
	case path == "image.name":
		return "global: {imageRegistry: registry.example.com}"
	case path == "reloader.pprofAddr":
		return "reloader: {enablePProf: true}"
	case path == "reloader.kubeApiBurst":
		return "reloader: {kubeApiQps: 40}"
	case path == "reloader.deployment.replicas":
		return "reloader: {enableHA: true}"
	case path == "reloader.isOpenshift":
		return "reloader: {deployment: {securityContext: {runAsUser: 1}}}"
	case path == "reloader.deployment.image.base":
		return "global: {imageRegistry: registry.example.com}"
	case path == "reloader.deployment.image.name":
		return ""
	case strings.HasPrefix(path, "reloader.deployment.image."):
		return "reloader: {deployment: {image: {name: registry.example.com/old/reroll}}}"
	case path == "reloader.ui.ingress.enabled":
		return "reloader: {ui: {enabled: true, ingress: {host: example.com}}}"
	case strings.HasPrefix(path, "reloader.ui.ingress."):
		return "reloader: {ui: {enabled: true, ingress: {enabled: true, host: example.com}}}"
	case path == "reloader.ui.from":
		return "reloader: {ui: {enabled: true}, netpol: {enabled: true}}"
	case strings.HasSuffix(path, ".enabled"):
		return ""
	case strings.HasPrefix(path, "reloader.ui."):
		return section("ui")
	case strings.HasPrefix(path, "reloader.admissionPolicy."):
		return section("admissionPolicy")
	case strings.HasPrefix(path, "reloader.serviceMonitor."):
		return section("serviceMonitor")
	case strings.HasPrefix(path, "reloader.podMonitor."):
		return section("podMonitor")
	case strings.HasPrefix(path, "reloader.podDisruptionBudget."):
		return section("podDisruptionBudget")
	case strings.HasPrefix(path, "reloader.netpol."):
		return section("netpol")
	case strings.HasPrefix(path, "reloader.prometheusRule."):
		return section("prometheusRule")
	case strings.HasPrefix(path, "reloader.dashboard."):
		return section("dashboard")
	case strings.HasPrefix(path, "reloader.verticalPodAutoscaler."):
		return section("verticalPodAutoscaler")
	}
	return ""
}

// withoutEffect are the values that render nothing, each with what the notes say of it.
func withoutEffect() map[string]string {
	return map[string]string{
		"enabled":              "", // for the condition of a parent chart
		"enterprise":           "WARNING: enterprise has no effect",
		"global.host":          "WARNING: global.host has no effect",
		"kubernetes.host":      "WARNING: kubernetes has no effect",
		"reloader.legacy.rbac": "WARNING: reloader.legacy has no effect",
	}
}

func TestEveryValueRendersSomethingOrIsWarnedOf(t *testing.T) {
	rendered := map[string]string{}
	for path, value := range complete(t) {
		before := beside(path)
		without, known := rendered[before]
		if !known {
			var err error
			if without, err = template(t, release, before); err != nil {
				t.Fatal(err)
			}
			rendered[before] = without
		}
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			after := merged(t, before, nested(t, path, value))
			with, err := template(t, release, after)
			if err != nil {
				t.Fatal(err)
			}
			said, none := withoutEffect()[path]
			if none != (with == without) {
				t.Errorf("it is said to be without effect: %v; what is rendered differs: %v", none, with != without)
			}
			if none && !strings.Contains(notes(t, after), said) {
				t.Errorf("the notes do not say: %s", said)
			}
		})
	}
}

// Whoever takes a value back by null gets a default, or is told that it cannot be missing.
func TestValuesOfNull(t *testing.T) {
	needed := []string{"reloader.watchGlobally", "reloader.rbac.enabled", "reloader.serviceAccount.create", "reloader.deployment.replicas"}
	var optional []string
	groups := map[string]bool{}
	for path := range complete(t) {
		for i, c := range path {
			if c == '.' {
				groups[path[:i]] = true
			}
		}
		if !slices.Contains(needed, path) && !strings.HasSuffix(path, ".enabled") && !strings.Contains(path, ".bearerTokenSecret.") {
			optional = append(optional, nested(t, path, nil))
		}
	}
	const on = "reloader: {serviceMonitor: {enabled: true}, podMonitor: {enabled: true}, podDisruptionBudget: {enabled: true}, netpol: {enabled: true}, verticalPodAutoscaler: {enabled: true}, prometheusRule: {enabled: true}, dashboard: {enabled: true}}"
	text, err := template(t, release, merged(t, append(optional, on)...))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"run"}, parsed(t, text).container(t).Args); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(text, "<nil>") || strings.Contains(text, "%!") {
		t.Error(text)
	}
	for _, path := range needed {
		expectMissing(t, path)
	}
	for path := range groups {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			switch path {
			case "reloader", "reloader.rbac", "reloader.serviceAccount", "reloader.deployment":
				expectMissing(t, path)
				return
			}
			text, err := template(t, release, nested(t, path, nil))
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(text, "<nil>") {
				t.Error(text)
			}
		})
	}
}

func expectMissing(t *testing.T, path string) {
	t.Helper()
	keys := strings.Split(path, ".")
	want := "missing property '" + keys[len(keys)-1] + "'"
	if _, err := template(t, release, nested(t, path, nil)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: error: %v, want it to say: %s", path, err, want)
	}
}

// together are all values but those that exclude others. What is rendered then has every kind of
// object in it.
func together(t *testing.T) string {
	t.Helper()
	var all []string
	for path, value := range complete(t) {
		switch path {
		case "reloader.ignoreConfigMaps", "reloader.rbac.enabled", "reloader.serviceAccount.create", "namespace":
		default:
			all = append(all, nested(t, path, value))
		}
	}
	return merged(t, all...)
}

// Both versions of Helm render the same, and the API server takes it with no field that it does not
// know.
func TestAllValuesTogether(t *testing.T) {
	t.Parallel()
	clients, err := cluster.BuildClients(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	i := newInstaller(t, pool.OfTest(t))
	values := together(t)
	rendered := map[string]string{}
	for version, program := range map[string]string{"3": clients.Helm3, "4": clients.Helm4} {
		text, err := i.helm(program, values, "template", release, "charts/reroll", "--skip-tests", "--namespace", namespace, "--kube-version", oldestCluster, "--values", "-")
		if err != nil {
			t.Fatal(err)
		}
		rendered[version] = text
		if _, err := i.helm(program, values, "lint", "charts/reroll", "--strict", "--kube-version", oldestCluster, "--values", "-"); err != nil {
			t.Errorf("Helm %s: %v", version, err)
		}
		for _, kind := range []string{"ServiceMonitor", "PodMonitor", "PrometheusRule", "VerticalPodAutoscaler"} {
			_, err := i.helm(program, "", "install", release, "charts/reroll", "--set", "reloader."+strings.ToLower(kind[:1])+kind[1:]+".enabled=true")
			if err == nil || !strings.Contains(err.Error(), `no matches for kind "`+kind+`"`) {
				t.Errorf("Helm %s, without that kind in the cluster: error: %v", version, err)
			}
		}
	}
	if diff := cmp.Diff(strings.Fields(rendered["3"]), strings.Fields(rendered["4"])); diff != "" {
		t.Errorf("Helm 3 and 4 (-3 +4): %s", diff)
	}
	o := parsed(t, rendered["4"])
	kinds := []int{len(o.custom), len(o.configMaps), len(o.admission), len(o.services), len(o.policies), len(o.ingresses), len(o.budgets)}
	if want := []int{4, 1, 4, 2, 1, 1, 1}; !slices.Equal(kinds, want) {
		t.Errorf("not every kind is there: %d, want %d", kinds, want)
	}
	for _, name := range []string{namespace, "team-a", "team-b"} {
		if _, err := i.on.Harness.NamedNamespace(i.ctx, name); err != nil {
			t.Fatal(err)
		}
	}
	for _, doc := range documents(rendered["4"]) {
		if strings.Contains(doc, "\napiVersion: monitoring.coreos.com/") || strings.Contains(doc, "\napiVersion: autoscaling.k8s.io/") {
			continue // kinds that this API server does not have
		}
		if out, err := i.helm(clients.Kubectl, doc, "apply", "--server-side", "--validate=strict", "--filename", "-"); err != nil {
			t.Errorf("%v %s\n%s", err, out, doc)
		}
	}
}
