package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/reroll-dev/reroll/internal/config"
)

const kubeconfig = `
apiVersion: v1
kind: Config
current-context: shop
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: shop, context: {cluster: c, user: u, namespace: ops}}]
`

func useKubeconfig(t *testing.T, text string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", path)
}

// Commands whose arguments are no names of a cluster still have flags with such names.
func TestContextsAreCompletedForAllWhoAsk(t *testing.T) {
	useKubeconfig(t, kubeconfig)
	for _, name := range []string{"status", "why", "plan", "lint"} {
		var stdout, stderr bytes.Buffer
		Main("reroll", []string{"__complete", name, "--context", ""}, "1.2.3", func(string) string { return "" }, &stdout, &stderr)
		if want := "shop\n:4\n"; stdout.String() != want {
			t.Errorf("%s --context: got %q, want %q", name, stdout.String(), want)
		}
	}
	var stdout, stderr bytes.Buffer
	Main("reroll", []string{"__complete", "lint", ""}, "1.2.3", func(string) string { return "" }, &stdout, &stderr)
	if want := ":0\n"; stdout.String() != want { // 0 makes a shell complete files
		t.Errorf("lint: got %q, want %q", stdout.String(), want)
	}
}

func TestTheLimitOfRequestsReachesTheClient(t *testing.T) {
	useKubeconfig(t, kubeconfig)
	for about, tc := range map[string]struct {
		asked config.Requests
		qps   float32
		burst int
	}{
		"none":  {config.Requests{}, -1, 0},
		"a few": {config.Requests{QPS: 20, Burst: 30}, 20, 30},
	} {
		t.Run(about, func(t *testing.T) {
			p, err := connect(&config.Config{Requests: tc.asked}, fstest.MapFS{})
			if err != nil {
				t.Fatal(err)
			}
			if p.config.QPS != tc.qps || p.config.Burst != tc.burst {
				t.Errorf("got %v a second and %v at once, want %v and %v", p.config.QPS, p.config.Burst, tc.qps, tc.burst)
			}
			urgent, err := unlimited(p.config)
			if err != nil {
				t.Fatal(err)
			}
			if limiter := urgent.Group(coordinationv1.GroupName).GetRateLimiter(); limiter != nil {
				t.Errorf("the lease waits for %v requests a second", limiter.QPS())
			}
			if p.config.QPS != tc.qps {
				t.Errorf("the client of the lease took the limit of all others away")
			}
		})
	}
}

func TestWhereItConnectsTo(t *testing.T) {
	useKubeconfig(t, kubeconfig)
	p, err := connect(&config.Config{}, fstest.MapFS{})
	if err != nil || p.context != "shop" || p.namespace != "ops" {
		t.Errorf("got context %q, namespace %q, error %v", p.context, p.namespace, err)
	}
	// The namespace of the environment takes precedence over the kubeconfig.
	p, err = connect(&config.Config{PodNamespace: "elsewhere"}, fstest.MapFS{})
	if err != nil || p.namespace != "elsewhere" {
		t.Errorf("got namespace %q, error %v", p.namespace, err)
	}

	useKubeconfig(t, "apiVersion: v1\nkind: Config\n")
	if _, err = connect(&config.Config{}, fstest.MapFS{}); err == nil || !strings.Contains(err.Error(), "Set KUBECONFIG") {
		t.Errorf("got %v for a kubeconfig that names no cluster", err)
	}
	useKubeconfig(t, "clusters: [")
	if _, err = connect(&config.Config{}, fstest.MapFS{}); err == nil || !strings.Contains(err.Error(), "no cluster configured") {
		t.Errorf("got %v for a kubeconfig that is no YAML", err)
	}
}

func TestAPodFindsItsNamespace(t *testing.T) {
	mounted := func(text string) fstest.MapFS { return fstest.MapFS{"namespace": {Data: []byte(text)}} }
	for about, tc := range map[string]struct {
		pod, meta, kubeconfig string
		account               fstest.MapFS
		want, chosenBy        string
	}{
		"as the chart says":                           {pod: "ops", meta: "meta", account: mounted("account"), want: "ops", chosenBy: "POD_NAMESPACE"},
		"as an installation of Reloader without HA":   {meta: "meta", account: mounted("account"), want: "account", chosenBy: "the ServiceAccount of the Pod"},
		"by the ServiceAccount alone":                 {account: mounted("account\n"), want: "account", chosenBy: "the ServiceAccount of the Pod"},
		"a token that was mounted without the rest":   {meta: "meta", want: "meta", chosenBy: "RELOADER_NAMESPACE"},
		"a file that is empty":                        {meta: "meta", account: mounted("\n"), want: "meta", chosenBy: "RELOADER_NAMESPACE"},
		"a kubeconfig that was given to the pod":      {meta: "meta", kubeconfig: "far", account: mounted("account"), want: "far", chosenBy: "the kubeconfig"},
		"a kubeconfig, and where to keep the objects": {pod: "ops", kubeconfig: "far", want: "ops", chosenBy: "POD_NAMESPACE"},
		"nothing":                           {},
		"nothing, and a file that is empty": {account: mounted("")},
	} {
		t.Run(about, func(t *testing.T) {
			cfg := config.Config{PodNamespace: tc.pod, MetaNamespace: tc.meta}
			p := place{namespace: tc.kubeconfig, chosenBy: "the kubeconfig"}
			err := p.choose(&cfg, tc.account)
			if p.namespace != tc.want || tc.want != "" && p.chosenBy != tc.chosenBy {
				t.Errorf("got %q by %s, want %q by %s", p.namespace, p.chosenBy, tc.want, tc.chosenBy)
			}
			if tc.want != "" && err != nil || tc.want == "" && (err == nil || !strings.Contains(err.Error(), "set POD_NAMESPACE from metadata.namespace")) {
				t.Errorf("error: %v", err)
			}
			// The Lease is in the namespace of the variable. Without the variable, there is no
			// Lease.
			if holdsLease(&cfg) != (tc.pod != "") {
				t.Errorf("it holds a lease: %v", holdsLease(&cfg))
			}
		})
	}
}

func TestTheKubeconfigSaysWhyItIsThisNamespace(t *testing.T) {
	without := strings.Replace(kubeconfig, ", namespace: ops", "", 1)
	for about, tc := range map[string]struct{ kubeconfig, namespace, chosenBy string }{
		"a context with a namespace":    {kubeconfig, "ops", `the context "shop" of the kubeconfig`},
		"a context without a namespace": {without, "default", `default, because the context "shop" of the kubeconfig has no namespace`},
		"the default by its name":       {strings.Replace(kubeconfig, "namespace: ops", "namespace: default", 1), "default", `the context "shop" of the kubeconfig`},
	} {
		useKubeconfig(t, tc.kubeconfig)
		p, err := connect(&config.Config{}, fstest.MapFS{})
		if err != nil || p.namespace != tc.namespace || p.chosenBy != tc.chosenBy {
			t.Errorf("%s: got %q by %q, error %v", about, p.namespace, p.chosenBy, err)
		}
	}
}
