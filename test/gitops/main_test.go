// Package gitops runs the controller beside the programs that deploy what it rolls: Argo CD, Flux, Helm and kubectl, on a
// real API server with the real controllers.
package gitops

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

	"k8s.io/client-go/dynamic"
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
	objects dynamic.Interface
	binary  func() (string, error)
	// Not every test needs these: they are built and started for the first that asks.
	clients func() (cluster.Clients, error)
	flux    func() error
}

func TestMain(m *testing.M) { os.Exit(onStage(m)) }

func onStage(m *testing.M) int {
	flag.Parse()
	// The tests wait far more than they compute.
	if err := flag.Set("test.parallel", "12"); err != nil {
		return fail(err)
	}
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "reroll-gitops-")
	if err != nil {
		return fail(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if shared, err = newStage(ctx, func(c *cluster.Cluster) error { return c.StartArgoRollouts(ctx, os.Stderr) }); err != nil {
		return fail(err)
	}
	defer func() { _ = shared.cluster.Stop() }()
	shared.binary = sync.OnceValues(func() (string, error) { return harness.Build(ctx, folder, true) })
	code := m.Run()
	if err := shared.cluster.Check(); err != nil {
		return fail(err)
	}
	return code
}

// newStage starts a cluster with Argo CD on it, and what makes it know Rollouts.
func newStage(ctx context.Context, rollouts func(*cluster.Cluster) error) (*stage, error) {
	c, err := cluster.Start(ctx, cluster.Options{Progress: os.Stderr})
	if err != nil {
		return nil, err
	}
	s := &stage{
		cluster: c,
		clients: sync.OnceValues(func() (cluster.Clients, error) { return cluster.BuildClients(ctx, os.Stderr) }),
		flux:    sync.OnceValue(func() error { return c.StartFlux(ctx, os.Stderr) }),
	}
	if err := errors.Join(rollouts(c), s.populate(ctx)); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return s, nil
}

func (s *stage) populate(ctx context.Context) error {
	if err := s.cluster.StartArgoCD(ctx, os.Stderr); err != nil {
		return err
	}
	var err error
	if s.harness, err = harness.New(s.cluster); err != nil {
		return err
	}
	s.harness.ArgoRollouts = true
	if s.admin, err = kubernetes.NewForConfig(s.cluster.Config()); err != nil {
		return err
	}
	if s.objects, err = dynamic.NewForConfig(s.cluster.Config()); err != nil {
		return err
	}
	return s.harness.AwaitKind(ctx, "rollouts")
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// patience bounds what would hang, and nothing else.
const patience = 10 * time.Minute

// place is a namespace of one test.
type place struct {
	*testing.T
	*stage
	ctx context.Context
	ns  *harness.Namespace
}

func newPlace(t *testing.T) *place {
	t.Helper()
	t.Parallel()
	return newPlaceOn(t, shared)
}

func newPlaceOn(t *testing.T, on *stage) *place {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, fmt.Errorf("it did not come within %s", patience))
	t.Cleanup(cancel)
	p := &place{T: t, stage: on, ctx: ctx}
	var err error
	p.ns, err = p.harness.EmptyNamespace(ctx, "gitops")
	p.must(err)
	return p
}

func (p *place) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// start runs the controller as it is installed, with nothing configured, and returns when it has decided on what is there.
func (p *place) start() *harness.Controller {
	p.Helper()
	p.must(p.ns.Mark(p.ctx))
	for _, marker := range []string{"marker-configmap", "marker-secret"} {
		// The quiet period is longer for what a tool manages, so the markers look as if one did.
		p.must(p.ns.Label(p.ctx, harness.Ref{Kind: "deployment", Name: marker}, "app.kubernetes.io/managed-by=Helm"))
	}
	binary, err := p.binary()
	p.must(err)
	path, err := harness.ShippedForArgoRollouts()
	p.must(err)
	m, err := harness.ReadManifest(path)
	p.must(err)
	installed, err := p.ns.Install(p.ctx, m, binary)
	p.must(err)
	c, err := installed.Start(p.ctx, nil, nil)
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
	p.must(p.ns.Quiet(p.ctx))
	return c
}

// here puts the name of the namespace where a manifest has ${NS}.
func (p *place) here(manifest string) string { return strings.ReplaceAll(manifest, "${NS}", p.ns.Name) }
