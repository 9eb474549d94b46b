package inspect

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/source"
)

// gateways is an API server that serves ReferenceGrants in one version, or in none. Those of
// namespace infra are for ConfigMap greeting, those of refused namespaces may not be listed.
func gateways(t *testing.T, version, refused string) *Cluster {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		base := "/apis/gateway.networking.k8s.io/"
		switch path := r.URL.Path; {
		case path == "/apis" && version == "":
			fmt.Fprint(w, `{"kind": "APIGroupList", "apiVersion": "v1", "groups": []}`)
		case path == "/apis": // the group has version v1 in any case
			fmt.Fprint(w, `{"kind": "APIGroupList", "apiVersion": "v1", "groups": [{"name": "gateway.networking.k8s.io", "versions": [{"groupVersion": "gateway.networking.k8s.io/v1"}, {"groupVersion": "gateway.networking.k8s.io/v1beta1"}]}]}`)
		case path == base+version:
			fmt.Fprint(w, `{"kind": "APIResourceList", "apiVersion": "v1", "resources": [{"name": "referencegrants", "kind": "ReferenceGrant", "namespaced": true}]}`)
		case strings.HasSuffix(path, refused+"/referencegrants"):
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403}`)
		case strings.HasPrefix(path, base+version+"/"):
			fmt.Fprintf(w, `{"apiVersion": "gateway.networking.k8s.io/%s", "kind": "ReferenceGrantList", "metadata": {"resourceVersion": "1"}, "items": [{"apiVersion": "gateway.networking.k8s.io/%[1]s", "kind": "ReferenceGrant",
				"metadata": {"name": "g", "namespace": "infra"}, "spec": {"from": [{"group": "apps", "kind": "Deployment", "namespace": "shop"}], "to": [{"group": "", "kind": "ConfigMap", "name": "greeting"}]}}]}`, version)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}`)
		}
	}))
	t.Cleanup(server.Close)
	c, err := NewCluster(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const grantsCount = "# flags: --enable-reference-grants\n"

// lending is a workload that names a ConfigMap of namespace infra, which allows nobody itself.
func lending() string {
	return strings.NewReplacer(`reloader.stakater.com/auto: "true"`, `configmap.reloader.stakater.com/reload: "infra/greeting"`,
		"name: greeting, namespace: shop, ", "name: greeting, namespace: infra, ").Replace(web)
}

func TestCommandsReadReferenceGrants(t *testing.T) {
	const none, granted = "/none", "greeting rolls it (named)"
	for about, tc := range map[string]struct {
		version, refused, scope string
		why                     string
		unknown                 bool
	}{
		"in version v1beta1":             {"v1beta1", none, "shop", granted, false},
		"in version v1":                  {"v1", none, "shop", granted, false},
		"of all namespaces":              {"v1beta1", none, "", granted, false},
		"which the user may not list":    {"v1beta1", "/infra", "shop", "you may not list ReferenceGrants in namespace infra, and one of them may allow it", true},
		"none, because they do not list": {"v1beta1", "v1beta1", "", "you may not list ReferenceGrants in namespace infra", true},
		"which are not served":           {"", none, "shop", "neither its reroll.dev/allow-from nor a ReferenceGrant allows this workload; the API server does not serve ReferenceGrants", false},
	} {
		t.Run(about, func(t *testing.T) {
			s := tell(t, grantsCount+lending())
			s.objects.scope = tc.scope
			if tc.scope != "" {
				s.objects.foreign = foreign{source.Key{Kind: source.ConfigMap, Namespace: "infra", Name: "greeting"}: true}
			}
			if err := gateways(t, tc.version, tc.refused).addGrants(t.Context(), s.objects); err != nil {
				t.Fatal(err)
			}
			x, err := s.objects.Explain("shop", "deployment/web", "", func(string) ([]Pod, error) { return nil, nil }, noon)
			if err != nil {
				t.Fatal(err)
			}
			if text := flat(x.Text(Paint{})); !strings.Contains(text, tc.why) {
				t.Errorf("why: %s", text)
			}
			if a := s.status(t, "shop").Answers[0]; (a.State == Unknown) != tc.unknown {
				t.Errorf("status: %s, %s", a.State, a.Detail)
			}
		})
	}
}

func TestGrantsCostNoRequestUnlessTheyCount(t *testing.T) {
	s := tell(t, lending())
	c, err := NewCluster(&rest.Config{Host: "http://127.0.0.1:1", QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.addGrants(t.Context(), s.objects); err != nil || s.objects.grants != nil {
		t.Errorf("read %v, %v", s.objects.grants, err)
	}
}

// In manifests, the grant may be in others.
func TestLintReadsTheGrantsOfManifests(t *testing.T) {
	const text = `
{apiVersion: gateway.networking.k8s.io/v1, kind: ReferenceGrant, metadata: {name: g, namespace: infra}, spec: {from: [{group: apps, kind: Deployment, namespace: shop}], to: [{group: "", kind: ConfigMap}]}}
---
`
	for about, tc := range map[string]struct {
		text         string
		found, notes int
	}{
		"with a grant":                       {grantsCount + text + lending(), 0, 0},
		"without":                            {grantsCount + lending(), 1, 1},
		"they may not count":                 {text + lending(), 1, 1},
		"of another kind, and may not count": {strings.Replace(text, "kind: Deployment", "kind: DaemonSet", 1) + lending(), 2, 0},
		"of another kind":                    {grantsCount + strings.Replace(text, "kind: Deployment", "kind: DaemonSet", 1) + lending(), 1, 1},
		"of another version":                 {grantsCount + strings.Replace(text, "/v1,", "/v1beta1,", 1) + lending(), 0, 0},
	} {
		var found, notes int
		for _, f := range tell(t, tc.text).objects.Lint(true, noon) {
			if strings.Contains(f.Text, "infra/greeting") || strings.Contains(f.Text, "nothing rolls it") {
				found++
				if f.Note {
					notes++
				}
			}
		}
		if found != tc.found || notes != tc.notes {
			t.Errorf("%s: %d findings, %d of them notes", about, found, notes)
		}
	}
}

func TestThePlanMentionsGrants(t *testing.T) {
	const says = "Workloads of other namespaces that a ReferenceGrant allows may name it, too."
	for flags, want := range map[string]bool{grantsCount: true, "": false} {
		plan, err := tell(t, flags+web).objects.Plan("shop", "configmap/greeting", func(string) ([]Pod, error) { return nil, nil }, noon)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(flat(plan.Text(Paint{})), says); got != want {
			t.Errorf("%q: said %t", flags, got)
		}
	}
}

// The pages follow the cluster, and replace what they know of grants.
func TestAFollowedClusterReplacesGrants(t *testing.T) {
	s := tell(t, grantsCount)
	o := NewFollowed(s.objects.settings)
	objects, err := Decode(strings.NewReader(lending()))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range objects {
		o.Put(m.Object)
	}
	unknown := func(when string) {
		x, err := o.Explain("shop", "deployment/web", "", func(string) ([]Pod, error) { return nil, nil }, noon)
		if err != nil {
			t.Fatal(err)
		}
		const why = "it is unknown which ReferenceGrants are in namespace infra"
		if text := flat(x.Text(Paint{})); !strings.Contains(text, why) || strings.Contains(text, "you may not list") {
			t.Errorf("%s: %s", when, text)
		}
	}
	unknown("before they were read")
	for _, version := range []string{"", "v1", "", "v1beta1"} {
		want := version != ""
		read, err := gateways(t, version, "/none").readGrants(t.Context(), o, o.foreignKeys())
		if err != nil {
			t.Fatal(err)
		}
		o.putGrants(read)
		x, err := o.Explain("shop", "deployment/web", "", func(string) ([]Pod, error) { return nil, nil }, noon)
		if err != nil {
			t.Fatal(err)
		}
		if got := x.Sources[1].Verdict.Concerned; got != want || x.Sources[1].Key.Name != "infra/greeting" {
			t.Errorf("served in version %q: %s", version, flat(x.Text(Paint{})))
		}
	}
	if len(kubeapi.ReferenceGrants("").Versions()) != 2 {
		t.Error("one of the two versions is not tried")
	}
}
