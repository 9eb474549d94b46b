package inspect

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/kinds"
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
					if int(asked.Add(1)) >= len((&Settings{Config: &config.Config{Kinds: kinds.All()}}).Resources("shop")) {
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
