package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

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

// What takes no names of a cluster as arguments still has flags that do.
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
	if want := ":0\n"; stdout.String() != want { // by which a shell offers files
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
			p, err := connect(&config.Config{Requests: tc.asked})
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
			if limiter := urgent.CoordinationV1().RESTClient().GetRateLimiter(); limiter != nil {
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
	p, err := connect(&config.Config{})
	if err != nil || p.context != "shop" || p.namespace != "ops" {
		t.Errorf("got context %q, namespace %q, error %v", p.context, p.namespace, err)
	}
	// What the environment says of the namespace wins over the kubeconfig.
	p, err = connect(&config.Config{PodNamespace: "elsewhere"})
	if err != nil || p.namespace != "elsewhere" {
		t.Errorf("got namespace %q, error %v", p.namespace, err)
	}

	useKubeconfig(t, "apiVersion: v1\nkind: Config\n")
	if _, err = connect(&config.Config{}); err == nil || !strings.Contains(err.Error(), "Set KUBECONFIG") {
		t.Errorf("got %v for a kubeconfig that names no cluster", err)
	}
	useKubeconfig(t, "clusters: [")
	if _, err = connect(&config.Config{}); err == nil || !strings.Contains(err.Error(), "no cluster to talk to") {
		t.Errorf("got %v for a kubeconfig that is no YAML", err)
	}
}
