// Package edges runs the controller where sizes, numbers and moments are unusual: hundreds of
// workloads, a source as large as they come, a namespace on its way out.
package edges

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// shared is what all tests of this process use.
var shared *stage.Stage

func TestMain(m *testing.M) {
	os.Exit(stage.RunAlone(m, "edges", 8, func(s *stage.Stage) { shared = s }))
}

// patience bounds what would hang, and nothing else.
const patience = 20 * time.Minute

// place is a namespace with the controller's account and permissions in it.
type place struct {
	*testing.T
	*stage.Stage
	ctx       context.Context
	ns        *harness.Namespace
	installed *harness.Installation
}

func install(t *testing.T) *place {
	t.Helper()
	t.Parallel()
	return installOn(t, shared)
}

func installOn(t *testing.T, on *stage.Stage) *place {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, fmt.Errorf("it did not come within %s", patience))
	t.Cleanup(cancel)
	p := &place{T: t, Stage: on, ctx: ctx}
	binary, err := on.Binary()
	p.must(err)
	path, err := harness.ShippedManifest()
	p.must(err)
	m, err := harness.ReadManifest(path)
	p.must(err)
	p.ns, err = p.Harness.Namespace(ctx, "edges")
	p.must(err)
	p.installed, err = p.ns.Install(ctx, m, binary)
	p.must(err)
	return p
}

func (p *place) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// start runs a controller, with flags and variables, and returns when it is ready.
func (p *place) start(words ...string) *harness.Controller {
	p.Helper()
	c, err := p.installed.Launch(harness.FlagsAndVariables(words))
	p.must(err)
	stage.EndWith(p, c, "the controller")
	p.must(c.AwaitReady(p.ctx))
	return c
}

// make makes n objects, some of them at the same time.
func (p *place) make(n int, one func(ctx context.Context, i int) error) {
	p.Helper()
	next := make(chan int)
	failed := make(chan error, n)
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for i := range next {
				if err := one(p.ctx, i); err != nil {
					failed <- err
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	running.Wait()
	close(failed)
	p.must(<-failed)
}

// requests are those that the controller's account has made.
func (p *place) requests() []harness.Request {
	p.Helper()
	found, err := p.ns.Requests(p.Cluster.AuditLog())
	p.must(err)
	return found
}

// requested counts the controller's requests.
func (p *place) requested(verb, resource string) int {
	p.Helper()
	count := 0
	for _, r := range p.requests() {
		if r.Verb == verb && r.ObjectRef.Resource == resource {
			count++
		}
	}
	return count
}
