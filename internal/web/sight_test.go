package web

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// crowd is a reader of one namespace. It answers nothing about namespaces before some questions wait.
type crowd struct {
	reader
	wait  int32
	asked atomic.Int32
	once  sync.Once
	late  atomic.Bool
	begin chan struct{}
}

func (c *crowd) MayRead(ctx context.Context, namespace, resource string) bool {
	if namespace == "" {
		return false
	}
	if c.asked.Add(1) >= c.wait {
		c.once.Do(func() { close(c.begin) })
	}
	if c.late.Load() {
		return false
	}
	select {
	case <-c.begin:
	case <-time.After(time.Second):
		c.late.Store(true) // the others wait for this answer
	}
	return c.reader.MayRead(ctx, namespace, resource)
}

// teams returns the manifest of a Deployment in each of several namespaces.
func teams(n int) string {
	var b strings.Builder
	for i := range n {
		ns := fmt.Sprintf("team-%03d", i)
		b.WriteString(configMap(ns, "config", "a", "") + deployment(ns, "web", auto, "configMap/config"))
	}
	return b.String()
}

func TestAPageAsksAboutItsNamespacesTogether(t *testing.T) {
	for _, path := range []string{"/", "/map", "/gates", "/?q=config"} {
		who := &crowd{reader: reader{"team-007/deployments.apps", "team-007/configmaps"}, wait: 20, begin: make(chan struct{})}
		page := get(t, serve(t, who, clusterOf(t, "", teams(20))), path, http.StatusOK)
		if who.late.Load() {
			t.Errorf("%s asks one question after the other", path)
		}
		if path != "/gates" {
			has(t, page, "team-007", "!team-008")
		}
	}
}

// A reader waits for the API server. Each question takes 3.5 ms, as on a cluster nearby, and a few are
// answered at once.
func BenchmarkAReaderOfOneOf200Namespaces(b *testing.B) {
	cluster := clusterOf(b, "", teams(200))
	slots := make(chan struct{}, 8)
	server := serve(b, slow{reader{"team-007/deployments.apps"}, slots}, cluster)
	for b.Loop() {
		get(b, server, "/", http.StatusOK)
	}
}

type slow struct {
	reader
	slots chan struct{}
}

func (s slow) MayRead(ctx context.Context, namespace, resource string) bool {
	s.slots <- struct{}{}
	defer func() { <-s.slots }()
	time.Sleep(3500 * time.Microsecond) // this is what is measured
	return s.reader.MayRead(ctx, namespace, resource)
}
