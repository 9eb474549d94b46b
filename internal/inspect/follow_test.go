package inspect

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/kinds"
)

// Without its workloads a cluster would look as if nobody was opted in, and that is exit code 0.
func TestHalfOfAClusterIsNoAnswer(t *testing.T) {
	for about, status := range map[string]int{"nothing is answered": 0, "all is refused for now": http.StatusServiceUnavailable} {
		t.Run(about, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if int(asked.Add(1)) >= len((&Settings{Config: &config.Config{Kinds: kinds.All()}}).Resources("shop")) {
					cancel() // the time is over
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
