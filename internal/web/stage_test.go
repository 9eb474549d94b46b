package web

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/inspect"
	"github.com/reroll-dev/reroll/internal/workload"
)

// reader may read what their list says: namespace/resource, */resource, or *.
type reader []string

func (reader) Name() string { return "jane" }

func (r reader) MayRead(_ context.Context, namespace, resource string) bool {
	if namespace == "" {
		namespace = "*"
	}
	return slices.Contains(r, "*") || slices.Contains(r, namespace+"/"+resource)
}

var everything = reader{"*"}

// shelf is a cluster whose events are given.
type shelf struct {
	*inspect.View
	events []inspect.LastEvent
}

func (s *shelf) Events(context.Context, workload.Key) ([]inspect.LastEvent, error) {
	return s.events, nil
}

var testKey = func() digest.Key {
	key, err := digest.NewKey([]byte(strings.Repeat("k", 32)))
	if err != nil {
		panic(err)
	}
	return key
}()

func settings(tb testing.TB, args ...string) *inspect.Settings {
	tb.Helper()
	var cfg config.Config
	flags := pflag.NewFlagSet("ui", pflag.ContinueOnError)
	cfg.BindDecisionFlags(flags)
	if err := flags.Parse(args); err != nil {
		tb.Fatal(err)
	}
	s, err := inspect.Assume(&cfg, flags, time.Now(), "")
	if err != nil {
		tb.Fatal(err)
	}
	s.Controller, s.Installed, s.Key, s.NoKey = "reroll", time.Now().Add(-24*time.Hour), testKey, ""
	return s
}

// clusterOf returns a cluster with the objects of a manifest.
func clusterOf(tb testing.TB, name, manifest string, args ...string) *shelf {
	tb.Helper()
	return clusterWith(tb, name, manifest, settings(tb, args...))
}

func clusterWith(tb testing.TB, name, manifest string, of *inspect.Settings) *shelf {
	tb.Helper()
	return clusterAt(tb, name, manifest, of, clock.RealClock{})
}

func clusterAt(tb testing.TB, name, manifest string, of *inspect.Settings, clk clock.Clock) *shelf {
	tb.Helper()
	objects := inspect.NewFollowed(of)
	read, err := inspect.Decode(strings.NewReader(manifest))
	if err != nil {
		tb.Fatal(err)
	}
	var pods []corev1.Pod
	for _, m := range read {
		objects.Put(m.Object)
		if d, ok := m.Object.(*appsv1.Deployment); ok && d.Status.Replicas > 0 {
			pods = append(pods, podOf(d, "a"), podOf(d, "b"))
		}
	}
	view := inspect.NewView(name, clk)
	view.Show(objects, pods)
	view.Refresh(tb.Context())
	return &shelf{View: view}
}

// podOf returns a Pod that runs since the Deployment was created.
func podOf(d *appsv1.Deployment, suffix string) corev1.Pod {
	controls := true
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: d.Name + "-" + suffix, UID: d.UID + types.UID(suffix), Labels: d.Spec.Template.Labels, CreationTimestamp: d.CreationTimestamp,
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: d.Name, UID: "rs", Controller: &controls}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

var errStranger = errors.New("show a token")

// serve serves pages to a reader, or to nobody.
func serve(tb testing.TB, who Reader, clusters ...Cluster) *httptest.Server {
	tb.Helper()
	return serveBelow(tb, "/", who, clusters...)
}

// serveBelow serves pages below a prefix, as a proxy does.
func serveBelow(tb testing.TB, prefix string, who Reader, clusters ...Cluster) *httptest.Server {
	tb.Helper()
	return serveWith(tb, prefix, who, Options{}, clusters...)
}

func serveWith(tb testing.TB, prefix string, who Reader, options Options, clusters ...Cluster) *httptest.Server {
	tb.Helper()
	options.Build, options.Clock = buildinfo.Info{Version: "1.2.3"}, clock.RealClock{}
	handler := New(clusters, func(*http.Request) (Reader, error) {
		if who == nil {
			return nil, errStranger
		}
		return who, nil
	}, options)
	server := httptest.NewServer(http.StripPrefix(strings.TrimSuffix(prefix, "/"), handler))
	tb.Cleanup(server.Close)
	return server
}

// get returns a page, and fails unless it has the status.
func get(tb testing.TB, server *httptest.Server, path string, status int) string {
	tb.Helper()
	response, err := server.Client().Get(server.URL + path)
	if err != nil {
		tb.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatal(err)
	}
	if response.StatusCode != status {
		tb.Fatalf("GET %s: %d, want %d\n%s", path, response.StatusCode, status, body)
	}
	return string(body)
}

// has fails unless a page contains all texts, and lacks those that begin with !.
func has(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if lacked, no := strings.CutPrefix(text, "!"); no && strings.Contains(page, lacked) {
			t.Errorf("the page has %q", lacked)
		} else if !no && !strings.Contains(page, text) {
			t.Errorf("the page lacks %q", text)
		}
	}
	if t.Failed() {
		t.Log(page)
	}
}

// deployment returns the manifest of a Deployment that takes its variables from sources.
func deployment(namespace, name, annotations string, sources ...string) string {
	var from strings.Builder
	for _, src := range sources {
		kind, source, _ := strings.Cut(src, "/")
		fmt.Fprintf(&from, "        - %sRef: {name: %q}\n", kind, source)
	}
	return fmt.Sprintf(`---
apiVersion: apps/v1
kind: Deployment
metadata:
  namespace: %q
  name: %q
  uid: uid-%[2]s
  resourceVersion: "5"
  creationTimestamp: "2020-01-01T00:00:00Z"
  annotations: {%[3]s}
spec:
  replicas: 2
  selector: {matchLabels: {app: %[2]q}}
  template:
    metadata: {labels: {app: %[2]q}}
    spec:
      containers:
      - name: app
        envFrom:
%[4]s
status: {replicas: 2, updatedReplicas: 2, readyReplicas: 2, availableReplicas: 2}
`, namespace, name, annotations, from.String())
}

const auto = `reloader.stakater.com/auto: "true"`

func configMap(namespace, name, value, annotations string) string {
	return manifestOf("ConfigMap", namespace, name, value, annotations)
}

func secret(namespace, name, value, annotations string) string {
	return manifestOf("Secret", namespace, name, base64.StdEncoding.EncodeToString([]byte(value)), annotations)
}

// manifestOf returns the manifest of a source, which was written an hour ago if its value ends with now.
func manifestOf(kind, namespace, name, value, annotations string) string {
	at := "2020-01-01T00:00:00Z"
	if decoded, _ := base64.StdEncoding.DecodeString(value); strings.HasSuffix(value, "now") || strings.HasSuffix(string(decoded), "now") {
		at = time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	}
	return fmt.Sprintf("---\napiVersion: v1\nkind: %s\nmetadata: {namespace: %q, name: %q, uid: %q, resourceVersion: \"3\", creationTimestamp: %q, annotations: {%s}}\ndata: {key: %q}\n", kind, namespace, name, "uid-"+name, at, annotations, value)
}

// adopted returns annotations with the ledger that the controller would write for a Deployment of a
// cluster.
func adopted(tb testing.TB, c Cluster, namespace, name, annotations string) string {
	tb.Helper()
	x, err := c.Explain(tb.Context(), workload.Key{Kind: "Deployment", Namespace: namespace, Name: name}, false)
	if err != nil {
		tb.Fatal(err)
	}
	return annotations + fmt.Sprintf(", reroll.dev/ledger: %q", x.Decision.Ledger.String())
}
