package inspect

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/workload"
)

// find returns the summary of a workload, or nil.
func find(b *Board, key workload.Key) *Summary {
	for _, sum := range b.All {
		if sum.Key == key {
			return sum
		}
	}
	return nil
}

// until waits for a condition, which other goroutines bring about.
func until(t *testing.T, v *View, what string, done func() bool) {
	t.Helper()
	for !done() {
		select {
		case <-v.Changed():
		case <-time.After(10 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal(what)
		}
	}
}

// A page shows why a cluster cannot be read, and the cluster when it can.
func TestAViewShowsWhyAClusterCannotBeRead(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	v := NewView("west", clock.RealClock{})
	var running sync.WaitGroup
	running.Go(func() {
		v.Follow(ctx, func(context.Context) (*Cluster, *Settings, string, error) {
			return nil, nil, "", errors.New("connection refused")
		})
	})
	until(t, v, "the view shows no problem", func() bool { return v.Problem() == "connection refused" })
	if _, err := v.Facts(); !errors.Is(err, errNotRead) {
		t.Errorf("got %v", err)
	}
	cancel()
	running.Wait()
}

// deployments is an API server with one Deployment, of which a user may list nothing else.
func deployments(t *testing.T, asked func(*http.Request)) *Cluster {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked(r)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/version":
			fmt.Fprint(w, `{"major": "1", "minor": "36"}`)
		case !strings.HasSuffix(r.URL.Path, "/deployments"):
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403}`)
		case r.URL.Query().Get("watch") == "":
			fmt.Fprint(w, `{"apiVersion": "apps/v1", "kind": "DeploymentList", "metadata": {"resourceVersion": "7"}, "items": []}`)
		default:
			// The stream that begins with all objects, and the bookmark that ends them.
			fmt.Fprint(w, `{"type": "ADDED", "object": {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"namespace": "shop", "name": "web", "uid": "w", "resourceVersion": "5",
				"annotations": {"reloader.stakater.com/auto": "true"}}, "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
				"spec": {"containers": [{"name": "app", "envFrom": [{"configMapRef": {"name": "settings"}}]}]}}},
				"status": {"replicas": 1, "updatedReplicas": 1, "readyReplicas": 1, "availableReplicas": 1}}}`+"\n")
			fmt.Fprint(w, `{"type": "BOOKMARK", "object": {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "true"}}}}`+"\n")
			if flusher, ok := w.(http.Flusher); ok {
				flusher.Flush()
			}
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1}
	ReadOnly(config)
	c, err := NewCluster(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What a user may not list is a remark on the pages, and not an error of the whole.
func TestAViewOfAUserWithFewPermissionsShowsWhatTheyMayList(t *testing.T) {
	var writes atomic.Int32
	c := deployments(t, func(r *http.Request) {
		if r.Method != http.MethodGet {
			writes.Add(1)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	settings := tell(t, "").objects.settings
	settings.Controller = ""
	v := NewView("", clock.RealClock{})
	var running sync.WaitGroup
	running.Go(func() {
		v.Follow(ctx, func(context.Context) (*Cluster, *Settings, string, error) { return c, settings, "", nil })
	})
	until(t, v, "the cluster was not read", func() bool { return v.Board().Ready })
	facts, err := v.Facts()
	if err != nil {
		t.Fatal(err)
	}
	key := workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"}
	if sum := find(v.Board(), key); sum == nil || sum.State != Unknown || len(sum.Sources) != 1 {
		t.Errorf("got %+v", sum)
	}
	if unread := strings.Join(facts.Unread, " "); !strings.Contains(unread, "secrets") || strings.Contains(unread, "deployments.apps") || !facts.NoDefaults {
		t.Errorf("unread are %s", unread)
	}
	x, err := v.Explain(t.Context(), key, true)
	if err != nil || !strings.Contains(x.Head(), "your permissions do not show enough") {
		t.Errorf("%v, %v", x, err)
	}
	if _, listed := x.PodParts(); listed {
		t.Error("Pods that may not be listed count as none")
	}
	if _, err := v.Events(t.Context(), key); err == nil {
		t.Error("events that may not be listed count as none")
	}
	if _, err := v.Explain(t.Context(), workload.Key{Kind: "Deployment", Namespace: "shop", Name: "nowhere"}, false); !errors.Is(err, ErrNoWorkload) {
		t.Errorf("got %v", err)
	}
	cancel()
	running.Wait()
	if writes.Load() > 0 {
		t.Error("something was written")
	}
}

// reroll ui promises to write nothing. So its client cannot.
func TestAReadOnlyClientSendsNoWrite(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	defer server.Close()
	config := &rest.Config{Host: server.URL, QPS: -1}
	ReadOnly(config)
	c, err := NewCluster(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		err := c.Discovery().Verb(method).AbsPath("/api/v1/namespaces/shop/configmaps/web").Body([]byte("{}")).Do(t.Context()).Error()
		if err == nil || !strings.Contains(err.Error(), "this command writes nothing") {
			t.Errorf("%s: %v", method, err)
		}
	}
	if asked.Load() > 0 {
		t.Error("a write reached the server")
	}
	if _ = c.Discovery().Get().AbsPath("/version").Do(t.Context()).Error(); asked.Load() != 1 {
		t.Error("a read did not reach the server")
	}
}
