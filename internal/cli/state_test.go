package cli

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/config"
)

// record has the log lines and requests of a controller, in their order.
type record struct {
	mu    sync.Mutex
	lines []string
	// requested is closed at the first request.
	requested chan struct{}
}

func (r *record) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, string(line))
	return len(line), nil
}

// ServeHTTP rejects everything, so that nothing follows the first request.
func (r *record) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	_, _ = r.Write([]byte(request.Method + " " + request.URL.Path))
	r.mu.Lock()
	select {
	case <-r.requested:
	default:
		close(r.requested)
	}
	r.mu.Unlock()
	http.Error(w, "no", http.StatusForbidden)
}

func TestWhereStateIsKeptIsLoggedBeforeAnyRequest(t *testing.T) {
	r := &record{requested: make(chan struct{})}
	api := httptest.NewServer(r)
	defer api.Close()
	useKubeconfig(t, strings.Replace(kubeconfig, "https://127.0.0.1:1", api.URL, 1))
	cfg := configOf(t, "--listen-address=127.0.0.1:0")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		ended <- run(ctx, cfg, pflag.NewFlagSet("run", pflag.ContinueOnError), buildinfo.Info{Version: "1.2.3"}, slog.New(slog.NewTextHandler(r, nil)), func() {})
	}()
	select {
	case <-r.requested:
	case err := <-ended:
		t.Fatalf("it ended before its first request: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	for _, line := range r.lines {
		if strings.Contains(line, `msg="keeping state in the cluster" namespace=ops`) {
			return
		}
		if !strings.HasPrefix(line, "time=") {
			break
		}
	}
	t.Errorf("before the first request, nothing says where state is kept:\n%s", strings.Join(r.lines, "\n"))
}

func TestWhereStateIsKept(t *testing.T) {
	here := place{namespace: "ops", chosenBy: "POD_NAMESPACE"}
	for about, tc := range map[string]struct {
		cfg  config.Config
		want string
	}{
		"as the chart says": {config.Config{PodNamespace: "ops", MetaNamespace: "ops"},
			`msg="keeping state in the cluster" namespace=ops chosenBy=POD_NAMESPACE secret=ops/reroll-digest-key lease=ops/stakater-reloader-lock configMap=ops/reloader-meta-info`},
		"by hand": {config.Config{},
			`msg="keeping state in the cluster" namespace=ops chosenBy=POD_NAMESPACE secret=ops/reroll-digest-key`},
		"the settings elsewhere": {config.Config{MetaNamespace: "meta"},
			`msg="keeping state in the cluster" namespace=ops chosenBy=POD_NAMESPACE secret=ops/reroll-digest-key configMap=meta/reloader-meta-info`},
		"a dry run": {config.Config{PodNamespace: "ops", MetaNamespace: "ops", DryRun: true},
			`msg="dry run: reading the digest key if it exists, and keeping no state in the cluster" namespace=ops chosenBy=POD_NAMESPACE`},
	} {
		var log bytes.Buffer
		here.logState(&tc.cfg, slog.New(slog.NewTextHandler(&log, nil)))
		if got := strings.TrimSpace(log.String()); !strings.HasSuffix(got, tc.want) {
			t.Errorf("%s: got %s, want %s", about, got, tc.want)
		}
	}
}
