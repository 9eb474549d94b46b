// Package gitops runs the controller beside the programs that deploy what it rolls: Argo CD, Flux,
// Helm and kubectl, on a real API server with the real controllers.
package gitops

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// shared is what all tests of this process use.
var shared *site

func TestMain(m *testing.M) {
	os.Exit(stage.RunAlone(m, "gitops", 12, func(s *stage.Stage) {
		shared = newSite(s, func(ctx context.Context) error { return s.Cluster.StartArgoRollouts(ctx, os.Stderr) })
	}))
}

// site is a stage with tools that deploy.
type site struct {
	*stage.Stage
	// Each is built and started for the first test that asks for it.
	argoCD func() error
	flux   func() error
	// stamper is a plugin of Argo CD, which was started before.
	stamper func() error
	clients func() (cluster.Clients, error)

	objects dynamic.Interface
}

// newSite also takes what makes the cluster know Rollouts.
func newSite(on *stage.Stage, rollouts func(context.Context) error) *site {
	ctx := context.Background() // what is started lives longer than the test that asks for it
	s := &site{
		Stage:   on,
		flux:    sync.OnceValue(func() error { return on.Cluster.StartFlux(ctx, os.Stderr) }),
		clients: sync.OnceValues(func() (cluster.Clients, error) { return cluster.BuildClients(ctx, os.Stderr) }),
	}
	s.argoCD = sync.OnceValue(func() error {
		var err error
		if s.objects, err = dynamic.NewForConfig(on.Cluster.Config()); err != nil {
			return err
		}
		if err := errors.Join(rollouts(ctx), on.Cluster.StartArgoCD(ctx, os.Stderr)); err != nil {
			return err
		}
		on.Harness.ArgoRollouts = true
		return on.Harness.AwaitKind(ctx, "rollouts")
	})
	s.stamper = sync.OnceValue(func() error { return s.startStamper(ctx) })
	return s
}

// patience bounds what would hang, and nothing else.
const patience = 10 * time.Minute

// place is a namespace of one test.
type place struct {
	*testing.T
	*site
	ctx context.Context
	ns  *harness.Namespace
	// manifest is what was installed here, once somebody has started it.
	manifest *harness.Manifest
}

func newPlace(t *testing.T) *place {
	t.Helper()
	t.Parallel()
	return newPlaceOn(t, shared)
}

func newPlaceOn(t *testing.T, on *site) *place {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, fmt.Errorf("it did not come within %s", patience))
	t.Cleanup(cancel)
	p := &place{T: t, site: on, ctx: ctx}
	p.must(on.argoCD())
	var err error
	p.ns, err = p.Harness.EmptyNamespace(ctx, "gitops")
	p.must(err)
	return p
}

func (p *place) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// beyondASync is for tests of what Argo CD does before the controller reloads: on a busy machine, a
// sync takes longer than the default settle period.
const beyondASync = "--settle-gitops=20s"

// start runs the controller as it is installed, with nothing configured but these flags, and
// returns when it has decided on what is there.
func (p *place) start(flags ...string) *harness.Controller {
	p.Helper()
	p.must(p.ns.MarkWithRollouts(p.ctx))
	for _, marker := range []string{"marker-configmap", "marker-secret"} {
		// The quiet period is longer for what a tool manages, so the markers look as if one did.
		p.must(p.ns.Label(p.ctx, harness.Ref{Kind: "statefulset", Name: marker}, "app.kubernetes.io/managed-by=Helm"))
	}
	binary, err := p.Binary()
	p.must(err)
	if p.manifest == nil {
		p.manifest, err = harness.ParseRendered(p.rendered())
		p.must(err)
	}
	installed, err := p.ns.Install(p.ctx, p.manifest, binary)
	p.must(err)
	c, err := installed.Launch(flags, nil)
	p.must(err)
	stage.EndWith(p, c, "the controller")
	p.must(c.AwaitReady(p.ctx))
	p.must(p.ns.Quiet(p.ctx))
	return c
}

// rendered is what the chart installs here when nothing is set, but that it is for one namespace:
// each test has its own. Helm asks the cluster what it serves, as it does when it installs.
func (p *place) rendered() string {
	p.Helper()
	clients, err := p.clients()
	p.must(err)
	chart, err := filepath.Abs("../../charts/reroll")
	p.must(err)
	text, err := (&program{place: p, home: p.TempDir()}).output(clients.Helm3, "template", "reroll", chart, "--skip-tests", "--validate", "--set=reloader.watchGlobally=false")
	p.must(err)
	return text
}

// here puts the name of the namespace where a manifest has ${NS}.
func (p *place) here(manifest string) string { return strings.ReplaceAll(manifest, "${NS}", p.ns.Name) }
