package gitops

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// parameters are those that people set in the Application.
func (a *stampedApp) parameters(all ...map[string]any) {
	a.Helper()
	a.must(a.Patch(a.ctx, map[string]any{"spec": map[string]any{"source": map[string]any{"plugin": map[string]any{"parameters": all}}}}))
}

// The plugin takes the files that Argo CD would take, and renders a chart with what Argo CD would
// give it: however it is written, the same data is the same stamp, and nothing rolls.
func TestAPluginOfArgoCDTakesWhatArgoCDTakes(t *testing.T) {
	p := newPlace(t)
	repo := p.newRepository()
	a := p.deployStamped(repo)
	inJSON, err := yaml.YAMLToJSON([]byte(stampedWeb))
	p.must(err)
	first, _ := a.brings("plain files", files{
		"settings.yml": stampedSettings, "web page.json": string(inJSON), "values.yaml": "# +argocd:skip-file-rendering\ngreeting: hello\n",
	})
	is := func(about, stamp string, rolls int) {
		t.Helper()
		if stamp != first || rolls != 0 {
			t.Errorf("%s: the stamp is %s and was %s, after %d rollouts", about, stamp, first, rolls)
		}
	}

	a.refuses("a folder below", "ConfigMap "+p.ns.Name+"/settings, which it needs, is not in these manifests", files{"settings.yml": "", "base/settings.yml": stampedSettings})
	a.parameters(map[string]any{"name": "recurse", "string": "true"})
	stamp, rolls := a.brings("folders below", files{"notes.txt": "no manifest\n"})
	is("folders below", stamp, rolls)
	a.refuses("a key twice", `base/settings.yml:6: key "data" is here a second time`, files{"base/settings.yml": stampedSettings + "data: {}\n"})

	// A chart, of which the ConfigMap is in another one that its lock names, with values of the
	// repository.
	chart := files{"base/settings.yml": "", "web page.json": "", "values.yaml": "", "notes.txt": "", "env/hello.yaml": "base: {greeting: hello}\n"}
	maps.Copy(chart, a.chart())
	a.parameters(map[string]any{"name": "values-files", "array": []any{"env/hello.yaml"}})
	stamp, rolls = a.brings("a chart", chart)
	is("a chart", stamp, rolls)
	web, err := a.Admin.AppsV1().Deployments(a.ns.Name).Get(a.ctx, "web", metav1.GetOptions{})
	p.must(err)
	version, err := a.Admin.Discovery().ServerVersion()
	p.must(err)
	if got, want := web.Annotations["rendered"], strings.Join([]string{p.ns.Name, p.ns.Name, version.GitVersion, "true"}, " "); got != want {
		t.Errorf("the chart was rendered for %s, and not for %s", got, want)
	}

	a.parameters(map[string]any{"name": "values", "string": "base: {greeting: good night}"})
	if stamp, rolls := a.brings("values", files{"env/hello.yaml": ""}); stamp == first || rolls != 1 {
		t.Errorf("with other values the stamp is %s and was %s, after %d rollouts", stamp, first, rolls)
	}
	a.parameters(map[string]any{"name": "values-files", "array": []any{"/etc/hostname"}})
	a.refuses("a file of the sidecar", "values file /etc/hostname: it is not in the repository", files{"env/other.yaml": "{}\n"})
}

// chart has its ConfigMap from a chart in a repository of its own.
func (a *stampedApp) chart() files {
	a.Helper()
	clients, err := a.clients()
	a.must(err)
	u := &program{place: a.place, home: a.TempDir()}
	write := func(name, text string) {
		a.Helper()
		path := filepath.Join(u.home, name)
		a.must(os.MkdirAll(filepath.Dir(path), 0o700))
		a.must(os.WriteFile(path, []byte(text), 0o600))
	}
	write("base/Chart.yaml", "apiVersion: v2\nname: base\nversion: 1.0.0\n")
	write("base/templates/settings.yaml", strings.Replace(stampedSettings, "hello", "{{ .Values.greeting }}", 1))
	a.must(u.call(clients.Helm3, "package", "base", "--destination=served"))
	server := httptest.NewServer(http.FileServer(http.Dir(filepath.Join(u.home, "served"))))
	a.Cleanup(server.Close)
	a.must(u.call(clients.Helm3, "repo", "index", "served", "--url="+server.URL))

	const about = "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n- {name: base, version: 1.x.x, repository: "
	write("web/Chart.yaml", about+server.URL+"}\n")
	a.must(u.call(clients.Helm3, "dependency", "update", "web"))
	lock, err := os.ReadFile(filepath.Join(u.home, "web", "Chart.lock"))
	a.must(err)
	const rendered = `rendered: '{{ .Release.Name }} {{ .Release.Namespace }} {{ .Capabilities.KubeVersion.Version }} {{ .Capabilities.APIVersions.Has "argoproj.io/v1alpha1/Application" }}'`
	return files{
		"Chart.yaml": about + server.URL + "}\n", "Chart.lock": string(lock),
		"templates/web.yaml": strings.Replace(stampedWeb, "annotations: {", "annotations: {"+rendered+", ", 1),
	}
}
