package inspect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/rules"
)

// Without its workloads, a cluster would look as if no workload were opted in, which is exit code
// 0.
func TestHalfOfAClusterIsNoAnswer(t *testing.T) {
	for about, tc := range map[string]struct{ discovery, status int }{
		"not even what is served": {0, 0},
		"nothing else":            {http.StatusServiceUnavailable, 0},
		"all is refused for now":  {http.StatusServiceUnavailable, http.StatusServiceUnavailable},
	} {
		t.Run(about, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				status := tc.discovery
				switch {
				case strings.Contains(r.URL.Path, "/shop/"):
					status = tc.status
					if int(asked.Add(1)) >= len((&Settings{Rules: rules.Settings{Kinds: kinds.All()}}).Resources("shop")) {
						cancel() // the time is over
					}
				case status == 0:
					cancel()
				}
				if status == 0 {
					<-r.Context().Done()
					return
				}
				w.WriteHeader(status)
			}))
			defer server.Close()
			c, err := NewCluster(&rest.Config{Host: server.URL, QPS: -1})
			if err != nil {
				t.Fatal(err)
			}
			settings := tell(t, "").objects.settings
			settings.Controller = ""
			err = c.Follow(ctx, settings, "shop", clock.RealClock{}, func(*Objects) (bool, error) {
				t.Error("it was looked at")
				return true, nil
			})
			if !errors.Is(err, errHalf) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// The annotations of a namespace are defaults, which may change while a command waits.
func TestACommandThatWaitsReadsTheNamespaceAgain(t *testing.T) {
	auto := "false"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/api/v1/namespaces" {
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403}`)
			return
		}
		fmt.Fprintf(w, `{"apiVersion": "v1", "kind": "NamespaceList", "metadata": {"resourceVersion": "1"}, "items": [{"metadata": {"name": "shop", "annotations": {"reroll.dev/auto": %q}}}]}`, auto)
	}))
	defer server.Close()
	c, err := NewCluster(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	clk := clocktesting.NewFakeClock(noon)
	settings := tell(t, "").objects.settings
	settings.Controller = ""
	checks := 0
	err = c.Follow(t.Context(), settings, "shop", clk, func(o *Objects) (bool, error) {
		checks++
		switch optedIn, _ := o.namespaces["shop"].Defaults.OptedInByNamespace(); {
		case optedIn:
			return true, nil
		case checks > 1:
			return true, errors.New("its former annotations count")
		}
		auto = "true"
		go func() {
			for !clk.HasWaiters() {
				time.Sleep(time.Millisecond)
			}
			clk.Step(again)
		}()
		return false, nil
	})
	if err != nil {
		t.Error(err)
	}
}
