// Package edges runs the controller where sizes, numbers and moments are unusual: a thousand workloads, a source as
// large as they come, a namespace on its way out.
package edges

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
)

// shared is what all tests of this process use.
var shared *stage

type stage struct {
	cluster *cluster.Cluster
	harness *harness.Harness
	admin   kubernetes.Interface
	binary  func() (string, error)
}

func TestMain(m *testing.M) { os.Exit(onStage(m)) }

func onStage(m *testing.M) int {
	flag.Parse()
	// The tests wait far more than they compute.
	if err := flag.Set("test.parallel", "8"); err != nil {
		return fail(err)
	}
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "reroll-edges-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if shared, err = newStage(ctx); err != nil {
		return fail(err)
	}
	defer func() { _ = shared.cluster.Stop() }()
	shared.binary = sync.OnceValues(func() (string, error) { return harness.Build(ctx, folder, true) })
	return m.Run()
}

func newStage(ctx context.Context) (*stage, error) {
	c, err := cluster.Start(ctx, cluster.Options{Progress: os.Stderr})
	if err != nil {
		return nil, err
	}
	s := &stage{cluster: c}
	if s.harness, err = harness.New(c); err == nil {
		s.admin, err = kubernetes.NewForConfig(c.Config())
	}
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return s, nil
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// patience bounds what would hang, and nothing else.
const patience = 20 * time.Minute

// place is a namespace with the controller's account and rights in it.
type place struct {
	*testing.T
	*stage
	ctx       context.Context
	ns        *harness.Namespace
	installed *harness.Installation
}

func install(t *testing.T) *place {
	t.Helper()
	t.Parallel()
	return installOn(t, shared)
}

func installOn(t *testing.T, on *stage) *place {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, fmt.Errorf("it did not come within %s", patience))
	t.Cleanup(cancel)
	p := &place{T: t, stage: on, ctx: ctx}
	binary, err := on.binary()
	p.must(err)
	path, err := harness.ShippedManifest()
	p.must(err)
	m, err := harness.ReadManifest(path)
	p.must(err)
	p.ns, err = p.harness.Namespace(ctx, "edges")
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
	var flags, env []string
	for _, word := range words {
		if strings.HasPrefix(word, "-") {
			flags = append(flags, word)
		} else {
			env = append(env, word)
		}
	}
	c, err := p.installed.Start(p.ctx, flags, env)
	if c != nil {
		p.Cleanup(func() {
			c.Kill()
			if p.Failed() {
				p.Logf("the end of the log:\n%s", c.Log.Tail(40))
			}
			if c.Log.Count(regexp.MustCompile(`^(WARNING: DATA RACE|panic: |fatal error: )`)) > 0 {
				p.Errorf("it has raced or panicked:\n%s", c.Log.Tail(80))
			}
		})
	}
	p.must(err)
	return c
}

// logged counts the lines of a log that hold all of these words.
func (p *place) logged(c *harness.Controller, words ...string) int {
	count := 0
lines:
	for _, line := range c.Log.Lines() {
		for _, word := range words {
			if !strings.Contains(line, word) {
				continue lines
			}
		}
		count++
	}
	return count
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
	found, err := p.ns.Requests(p.cluster.AuditLog())
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
