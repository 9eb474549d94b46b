package lease

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/test/harness"
)

// many is more than are written at the same time.
const many = 48

func crowd(n int) harness.Ref {
	return harness.Ref{Kind: "deployment", Name: fmt.Sprintf("crowd-%02d", n)}
}

func (i *installation) applyCrowd() {
	i.Helper()
	for n := range many {
		i.must(i.ns.Apply(i.ctx, fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, annotations: {reloader.stakater.com/auto: "true"}}
spec:
  replicas: 1
  selector: {matchLabels: {app: crowd-%d}}
  template:
    metadata: {labels: {app: crowd-%d}}
    spec: {containers: [{name: app, image: crowd, envFrom: [{configMapRef: {name: web}}]}]}
`, crowd(n).Name, n, n)))
	}
}

func TestATerminatedControllerFinishesWhatItWritesAndThenReleases(t *testing.T) {
	i := install(t)
	i.applyCrowd()
	for n := range many {
		i.must(i.ns.AwaitReady(i.ctx, crowd(n)))
	}
	first := i.start("first", "--enable-ha", "--adopt-rate=10000")
	i.says(first, "holding the lease")
	i.must(i.ns.Quiet(i.ctx)) // all have their first ledger

	written := make(chan struct{})
	first.proxy.set(func(p *proxy) {
		p.hold = func(r *http.Request) <-chan struct{} {
			if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/deployments/") {
				return written
			}
			return nil
		}
	})
	underWay := func(r *request) bool { return aboutReload(r) && r.ended == 0 }
	i.edit("red")
	began := 0
	i.must(harness.Await(i.ctx, "as many writes as there are at the same time", func(context.Context) error {
		if began = len(first.proxy.requests(underWay)); began < 32 {
			return fmt.Errorf("%d so far", began)
		}
		return nil
	}))
	stopped := make(chan error)
	go func() { stopped <- first.Stop(i.ctx) }()
	i.must(harness.Await(i.ctx, "the controller to hear that it has to end", func(context.Context) error {
		if n := first.proxy.watching(); n > 0 {
			return fmt.Errorf("%d watches are open", n)
		}
		return nil
	}))
	i.heldBy("first") // as long as anything is written
	close(written)
	i.must(<-stopped)
	i.heldBy("")

	writes := first.proxy.requests(func(r *request) bool { return aboutReload(r) && r.begun > 0 })
	last, finished := 0, 0
	for _, w := range writes[len(writes)-began:] {
		if w.code == http.StatusOK {
			finished++
		}
		last = max(last, w.ended)
	}
	if finished != began {
		t.Errorf("of %d writes under way %d were finished", began, finished)
	}
	updates := first.proxy.requests(func(r *request) bool { return aboutLease(r) && r.method == http.MethodPut })
	if release := updates[len(updates)-1]; release.begun < last {
		t.Error("the lease was released before the last write was answered")
	}
	rolled := 0
	for n := range many {
		times, err := i.ns.Rolls(i.ctx, crowd(n))
		i.must(err)
		rolled += times
	}
	webRolled, err := i.ns.Rolls(i.ctx, web)
	i.must(err)
	if rolled+webRolled != began {
		t.Errorf("%d writes were under way, and %d workloads have rolled: others were begun after the end was near", began, rolled+webRolled)
	}

	// Whoever comes next does the rest, and nothing twice.
	i.start("second", "--enable-ha")
	i.must(i.ns.AwaitRolls(i.ctx, web, 1))
	for n := range many {
		i.must(i.ns.AwaitRolls(i.ctx, crowd(n), 1))
	}
	i.must(i.ns.Quiet(i.ctx))
	for n := range many {
		times, err := i.ns.Rolls(i.ctx, crowd(n))
		i.must(err)
		if times != 1 {
			t.Errorf("%s rolled %d times", crowd(n), times)
		}
	}
}

func TestAStandbyEndsWhenItIsTold(t *testing.T) {
	i := install(t)
	i.start("first", "--enable-ha")
	standby := i.start("standby", "--enable-ha")
	i.says(standby, "waiting for the lease")
	i.must(standby.Stop(i.ctx))
	i.heldBy("first")
}
