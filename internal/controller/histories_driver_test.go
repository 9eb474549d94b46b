package controller

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rules"
	"github.com/reroll-dev/reroll/test/simapi"
)

// history is one run of users, a cluster and controllers, drawn from a seed. Nothing in it is
// concurrent: events that are simultaneous in a cluster happen here one after the other, in a drawn
// order. Slow requests have other events in between.
type history struct {
	draws
	seed   uint64
	rand   *rand.Rand
	steps  int
	counts map[string]int
	traced bool
	trace  strings.Builder

	server *simapi.Server
	pods   *simapi.Pods
	driver *simapi.Driver // if the history is about classes
	oracle *oracle
	users  users

	// c is the running controller, or nil. life counts the controllers so far.
	c     *Controller
	life  int
	clock *clocktesting.FakeClock
	feeds []*simFeed
	looks []*look
	// late are requests whose senders have given up. They take effect later.
	late    []*write
	landing *write
	// reloaded is the version in which a reload took effect, by its ledger. resumed reports whether
	// the controller has continued to track the reload of its predecessor.
	reloaded map[string]uint64
	resumed  bool
	// calm is a time without faults, so that all rollouts can complete.
	calm bool

	// window is when the running controller may start reloads.
	window drawnWindow
	// frozenUntil is until when it may start none at all.
	frozenUntil time.Time
	// approvals is what users have to approve.
	approvals drawnApprovals
	// gateURL is the program that is asked before each reload.
	gateURL drawnGateURL
	// optsIn and notifies are the defaults of the namespace of the running controller.
	optsIn, notifies bool

	// annotations reports whether a controller has used the annotation as its mark.
	annotations bool

	// wholes has, by the digest of listed keys, that of the whole source.
	wholes map[digest.Digest]digest.Digest
	// relisted is the controller, by its number, in whose life a list of keys of a workload was
	// replaced that its ledger still has the digests of.
	relisted map[string]int
	// relistedIn has, by workload and source, the version in which a list of keys was first replaced
	// since a controller last compared the two.
	relistedIn map[string]map[simapi.Source]uint64

	key      digest.Key
	keyMade  time.Time
	coverage reload.Coverage
	keys     int
}

func newHistory(seed uint64, steps int) *history {
	return newHistoryOf(drawAll(rand.New(rand.NewPCG(seed, 2))), seed, steps)
}

func newHistoryOf(d draws, seed uint64, steps int) *history {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	h := &history{
		draws:  d,
		seed:   seed,
		rand:   rand.New(rand.NewPCG(seed, 1)),
		steps:  steps,
		counts: map[string]int{},
		server: simapi.New(start),
		clock:  clocktesting.NewFakeClock(start),

		reloaded: map[string]uint64{},
	}
	for _, name := range d.names() {
		h.count(name)
	}
	if h.skewed {
		clocks := rand.New(rand.NewPCG(seed, 3))
		h.server.Skew(func() time.Duration { return time.Duration(clocks.IntN(2)) * clockSkew })
	}
	h.pods = simapi.NewPods(h.server, 2)
	h.driver = newDriver(h)
	h.oracle = newOracle(h)
	h.server.Observe(h.oracle.observe)
	h.users = newUsers(h)
	return h
}

// allSteps is the number of steps of the users in a history.
const allSteps = 22

// run also returns a panic, so that the seed is known.
func (h *history) run() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it panics: %v\n%s", r, debug.Stack())
		}
	}()
	h.say("drawn: %s", strings.Join(h.names(), ", "))
	h.users.settleIn()
	for range h.steps {
		h.alive(h.userStep)
		for range 3 + h.rand.IntN(30) {
			h.alive(h.something)
		}
		h.approveSome()
		if h.oracle.err == nil && h.rand.IntN(4) == 0 {
			h.rest()
		}
		if h.oracle.err != nil {
			return h.oracle.err
		}
	}
	h.rest()
	return h.oracle.err
}

// alive runs code in which the controller may be killed.
func (h *history) alive(do func()) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(killed); !ok {
				panic(r)
			}
			h.die()
		}
	}()
	do()
}

func (h *history) die() {
	h.c, h.feeds, h.looks = nil, nil, nil
	if h.rand.IntN(25) == 0 {
		h.count(keyLost)
		h.keyMade = time.Time{}
	}
}

// loadKey returns the key in the cluster, which survives the controller. It creates a missing key.
func (h *history) loadKey(context.Context) (digest.Key, time.Time, error) {
	if h.keyMade.IsZero() {
		h.newKey()
		if h.keys == 1 {
			h.oracle.installed()
		} else {
			h.oracle.keyLost()
		}
	}
	return h.key, h.keyMade, nil
}

// covered returns the time since which the settings apply. It stays in the cluster like the key.
func (h *history) covered(all bool) reload.Coverage {
	h.oracle.recordsCoverage(all)
	if h.coverage.Since.IsZero() {
		h.coverage.Since = h.server.Now().Truncate(time.Second)
	}
	if all {
		h.allSince()
	} else {
		h.coverage.AllSince = time.Time{}
	}
	return h.coverage
}

// allSince is since when workloads are opted in unless they opt out.
func (h *history) allSince() time.Time {
	if h.coverage.AllSince.IsZero() {
		h.coverage.AllSince = h.server.Now().Truncate(time.Second)
	}
	return h.coverage.AllSince
}

func (h *history) newKey() {
	h.keys++
	h.key, _ = digest.NewKey([]byte(fmt.Sprintf("%032d", h.keys))) // the key is long enough
	h.keyMade = h.server.Now().Truncate(time.Second)
	h.say("a new digest key")
}

// start runs a new controller without any state.
func (h *history) start() {
	h.life++
	// Its clock may differ from the clock of the API server.
	skew := []time.Duration{0, -90 * time.Minute, 90 * time.Minute}[h.rand.IntN(3)]
	h.clock.SetTime(h.server.Now().Add(skew))
	opts := Options{
		Classes:   h.driver != nil,
		AdoptRate: []float64{0.5, 20, 1000}[h.rand.IntN(3)],
		Settings: rules.Settings{
			Kinds:  h.watched(),
			Settle: time.Second, SettleMax: 10 * time.Second, SettleGitOps: 5 * time.Second,
			Names: annotations.DefaultNames(),

			ReloadOnCreate: h.onCreate, ReloadOnDelete: h.onDelete,
			AutoReloadAll: h.optsInAll(), SourceSelector: selector(h.selector), NamespaceSelector: selector(h.inNamespace),
		},
		LoadKey: h.loadKey,
	}
	all := opts.AutoReloadAll
	opts.LoadCoverage = func(context.Context) (reload.Coverage, error) { return h.covered(all), nil }
	// Each controller may use another form of mark than its predecessor, which is not a change.
	marks := rand.New(rand.NewPCG(h.seed, uint64(h.life)))
	opts.Strategy = []reload.StrategyChoice{reload.StrategyAuto, reload.StrategyEnvVars, reload.StrategyAnnotations}[marks.IntN(3)]
	h.annotations = h.annotations || opts.Strategy == reload.StrategyAnnotations
	opts.SecretMarks = []digest.SecretMarks{digest.SecretMarksKeyed, digest.SecretMarksSHA1}[marks.IntN(2)]
	opts.Churn = []policy.Limit{{}, {}, {Reloads: 2, Within: 20 * time.Second}, {Reloads: 1, Within: time.Minute}}[marks.IntN(4)]
	drawWaves(&opts, marks)
	opts.Keys = h.drawKeys()
	h.window = drawWindow(marks)
	opts.Window, opts.Approval = h.window.text, h.requireApproval()
	opts.GateURL = h.drawGateURL()
	defaults := rand.New(rand.NewPCG(h.seed, uint64(h.life)+2000))
	opts.AutoReloadAll = h.drawDefaults(defaults, all)
	h.say("controller %d starts, its clock is off by %s, on create %t, on delete %t, opts all in %t", h.life, skew, h.onCreate, h.onDelete, opts.AutoReloadAll)
	log := slog.New(slog.DiscardHandler)
	if h.traced {
		log = slog.New(slog.NewTextHandler(&h.trace, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: plainLog}))
	}
	h.c = New(opts, proxy{memory{server: h.server}, h}, h.clock, log, historyReport{h: h}, noReport{})
	h.freeze(marks)
	h.startDefaults()
	h.c.acting.Store(true) // only one controller acts at a time
	h.feeds, h.resumed = nil, false
	h.oracle.started(all)
	feeds := h.c.workloadFeeds()
	if h.inNamespace {
		feeds = append(feeds, h.c.namespaceFeeds()...)
	}
	h.watch(feeds)
}

// something makes one unintended event happen.
func (h *history) something() {
	switch n := h.rand.IntN(100); {
	case h.c == nil && n < 20:
		h.start()
	case n < 40 && len(h.feeds) > 0:
		f := h.feeds[h.rand.IntN(len(h.feeds))]
		for range 1 + h.rand.IntN(3) {
			h.deliver(f)
		}
	case n < 65:
		h.stepPods()
	case n < 83:
		h.elapse(time.Duration(20+h.rand.IntN(700)) * time.Millisecond)
	case n < 95:
		h.lookAtAll()
	case n < 97:
		h.landLate()
	case n < 99 && len(h.feeds) > 0:
		h.disturb(h.feeds[h.rand.IntN(len(h.feeds))])
	case h.c != nil:
		h.killHere(killedIdle, 3)
	}
}

func (h *history) stepPods() {
	if h.driver != nil && h.stepDriver() || h.kind != "" && h.stepRuns() {
		return
	}
	workloads := h.workloads()
	if len(workloads) == 0 || !h.pods.Step(workloads[h.rand.IntN(len(workloads))]) {
		h.pods.Clean()
	}
}

// elapse advances all clocks.
func (h *history) elapse(d time.Duration) {
	h.server.Advance(d)
	h.clock.Step(d)
}

func (h *history) count(name string) { h.counts[name]++ }

func (h *history) say(format string, args ...any) {
	if h.traced {
		fmt.Fprintf(&h.trace, "%s v%d  %s\n", clockTime(h.server.Now()), h.server.Version(), fmt.Sprintf(format, args...))
	}
}

// never is a version that no write has.
const never = math.MaxUint64

func clockTime(t time.Time) string { return t.Format("15:04:05.000") }

// plainLog drops attributes that differ between replays.
func plainLog(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
