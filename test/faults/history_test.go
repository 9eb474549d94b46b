package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/test/harness"
)

// history is one run of users, faults and controllers in a namespace of its own.
type history struct {
	*testing.T
	ctx    context.Context
	seed   uint64
	rand   *rand.Rand
	tally  *tally
	values int
	steps  int
	// turns counts what was drawn of each group of faults.
	turns map[string]uint64

	ns        *harness.Namespace
	installed *harness.Installation
	env       []string
	proxy     *proxy
	oracle    *oracle
	// lives are the controllers, the last one is present.
	lives []*harness.Controller
	// gaps is how many snapshots had been taken at the last rest.
	gaps int

	mu sync.Mutex
	// killed reports whether the present controller was ended by us.
	killed bool
	// shotAt is the last controller that was killed, counted from one.
	shotAt int
	trace  []string
	began  time.Time
}

const (
	// leastSteps is how many steps users and faults take in a history, beside the starts that
	// follow from them.
	leastSteps = 20
	// account is the ServiceAccount of the shipped manifest.
	account = "reroll"
	// patience bounds what would hang, and nothing else.
	patience = 10 * time.Minute
)

// flags make the controller quick: what it waits for is not the subject here.
func flags() []string {
	return []string{"--settle=50ms", "--settle-max=500ms", "--adopt-rate=1000", "--churn=off", "--log-level=debug"}
}

func newHistory(t *testing.T, seed uint64, tally *tally) *history {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, fmt.Errorf("it did not come within %s", patience))
	t.Cleanup(cancel)
	h := &history{T: t, ctx: ctx, seed: seed, rand: rand.New(rand.NewPCG(seed, 2)), tally: tally, turns: map[string]uint64{}, began: time.Now()}
	binary, err := shared.Binary()
	must(t, err)
	path, err := harness.ShippedManifest()
	must(t, err)
	m, err := harness.ReadManifest(path)
	must(t, err)
	h.ns, err = shared.Harness.Namespace(ctx, "faults")
	must(t, err)
	h.oracle, err = h.newOracle()
	must(t, err)
	h.installed, err = h.ns.Install(ctx, m, binary)
	must(t, err)
	kubeconfig, err := shared.Cluster.ServiceAccountKubeconfig(ctx, h.ns.Name, account)
	must(t, err)
	h.proxy = newProxy(t, kubeconfig)
	h.proxy.struck = func(fault string) {
		h.tally.count(fault)
		h.say("  struck: %s", fault)
	}
	h.proxy.kill, h.proxy.life = h.kill, h.life
	h.env = []string{"KUBECONFIG=" + h.proxy.kubeconfig(t, h.ns.Name)}
	t.Cleanup(func() {
		for _, c := range h.lives {
			c.Kill()
		}
	})
	must(t, h.ns.Apply(ctx, manifest))
	return h
}

// run takes the history from its installation to its end.
func (h *history) run() error {
	for _, w := range workloads() {
		if err := h.ns.AwaitReady(h.ctx, w.Ref); err != nil {
			return err
		}
	}
	// The only ledgers that are bound to be written are the first ones.
	h.armAny(2, ledgerPatch)
	h.armAny(1, snapshot)
	err := h.awaitStruck(never, ledgerPatch)
	if err == nil {
		err = h.rest()
	}
	if err != nil {
		return fmt.Errorf("at the installation: %w", err)
	}
	// These come in each history, with the faults in turn, so that a few histories meet all.
	for _, scene := range []func() error{h.firstReload, h.killedAboutPatch, h.watchDisturbed, h.hardStart} {
		if err := errors.Join(scene(), h.rest()); err != nil {
			return err
		}
	}
	for h.steps < leastSteps {
		scenes := []func() error{h.single, h.single, h.single, h.several, h.several, h.late}
		if err := scenes[h.rand.IntN(len(scenes))](); err != nil {
			return err
		}
		if err := h.rest(); err != nil {
			return err
		}
	}
	return nil
}

// rest lets everything come to an end without further faults, and has it judged.
func (h *history) rest() error {
	h.say("— coming to rest")
	for {
		h.proxy.calm()
		if err := h.revive(nil); err != nil {
			return err
		}
		ctx, cancel := h.whileRuns(h.present())
		err := h.settle(ctx)
		cancel()
		if !h.alive() {
			continue // by a kill that was under way when the faults were called off
		}
		if err != nil {
			return errors.Join(err, h.present().Running())
		}
		_, gaps := h.proxy.at()
		err = h.oracle.judge(h.ctx, gaps == h.gaps)
		h.gaps = gaps
		h.tally.count(rests)
		return err
	}
}

// whileRuns ends with a controller.
func (h *history) whileRuns(c *harness.Controller) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(h.ctx)
	go func() {
		select {
		case <-c.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// settle returns when all that has happened was decided upon, and all that was decided has come to
// its end.
func (h *history) settle(ctx context.Context) error {
	if err := h.idle(ctx); err != nil {
		return err
	}
	// What a worker had in its hands while nothing waited has been done when the markers were
	// decided on.
	if err := h.ns.Quiet(ctx); err != nil {
		return err
	}
	if err := h.idle(ctx); err != nil {
		return err
	}
	for _, w := range workloads() {
		if err := h.ns.AwaitReady(ctx, w.Ref); err != nil {
			return err
		}
	}
	return nil
}

// idle returns when no workload waits to be looked at, and no request is on its way.
func (h *history) idle(ctx context.Context) error {
	return harness.Await(ctx, "the controller to have nothing left to do", func(ctx context.Context) error {
		h.proxy.calm()
		depth, err := h.present().Metric(ctx, "reloader_workqueue_depth", nil)
		if err != nil {
			return err
		}
		if depth.Sum != 0 {
			return fmt.Errorf("%g workloads wait", depth.Sum)
		}
		// What was tried again has been: now comes the first try.
		h.proxy.releaseLate()
		if busy, _ := h.proxy.at(); busy != 0 {
			return fmt.Errorf("%d requests are on their way", busy)
		}
		return nil
	})
}

func (h *history) step(format string, args ...any) {
	h.steps++
	h.say(format, args...)
}

func (h *history) say(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trace = append(h.trace, fmt.Sprintf("%7.3f  %s", time.Since(h.began).Seconds(), fmt.Sprintf(format, args...)))
}

// explain tells all that is known of a history that fails.
func (h *history) explain(err error) string {
	h.mu.Lock()
	trace := strings.Join(h.trace, "\n")
	h.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "history %d: %v\n\n%s\n\n%s\n", h.seed, err, trace, h.ns.Report(context.Background()))
	for i, c := range h.lives {
		fmt.Fprintf(&b, "the end of the log of controller %d:\n%s\n", i+1, c.Log.Tail(30))
	}
	return b.String()
}

// errEnded is for a controller that ended and was not killed.
var errEnded = errors.New("the controller has ended by itself")
