package controller

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/rules"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// history is one run of users, a cluster and controllers, drawn from a seed. Nothing in it is concurrent: what happens
// at the same time in a cluster happens here one after the other, in an order that is drawn. Requests that take a while
// have other things happen within them.
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
	driver *simapi.Driver // where the history is about classes
	oracle *oracle
	users  users

	// c is the controller that runs, nil while there is none, and life counts how many there have been.
	c     *Controller
	life  int
	clock *clocktesting.FakeClock
	feeds []*simFeed
	looks []*look
	// late are the requests that their senders have given up and that take effect one day.
	late    []*write
	landing *write
	// reloaded is the version in which a reload took effect, by the ledger that it has left, and resumed tells that the controller has
	// asked for what the one before it has followed.
	reloaded map[string]uint64
	resumed  bool
	// calm is a time without faults, so that what can come to rest does.
	calm bool

	// annotations reports whether one of them has marked by annotations.
	annotations bool

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

// allSteps is how many steps the users of a history take.
const allSteps = 22

func (h *history) run() error {
	h.say("drawn: %s", strings.Join(h.names(), ", "))
	h.users.settleIn()
	for range h.steps {
		h.alive(h.userStep)
		for range 3 + h.rand.IntN(30) {
			h.alive(h.something)
		}
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

// alive does something in which the controller may die.
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

// loadKey returns what is in the cluster, and stays there when a controller ends. A key that is not there is made.
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

// covered returns since when the settings hold, which stays in the cluster as the key does.
func (h *history) covered(all bool) reload.Coverage {
	now := h.server.Now().Truncate(time.Second)
	if h.coverage.Since.IsZero() {
		h.coverage.Since = now
	}
	switch {
	case !all:
		h.coverage.AllSince = time.Time{}
	case h.coverage.AllSince.IsZero():
		h.coverage.AllSince = now
	}
	return h.coverage
}

func (h *history) newKey() {
	h.keys++
	h.key, _ = digest.NewKey([]byte(fmt.Sprintf("%032d", h.keys))) // it is long enough
	h.keyMade = h.server.Now().Truncate(time.Second)
	h.say("a new digest key")
}

// start runs a new controller, which knows nothing.
func (h *history) start() {
	h.life++
	// Its clock need not agree with that of the API server.
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
	opts.LoadCoverage = func(context.Context) (reload.Coverage, error) { return h.covered(opts.AutoReloadAll), nil }
	// Each controller may mark in another way than the one before, which is no change.
	marks := rand.New(rand.NewPCG(h.seed, uint64(h.life)))
	opts.Strategy = []reload.StrategyChoice{reload.StrategyAuto, reload.StrategyEnvVars, reload.StrategyAnnotations}[marks.IntN(3)]
	h.annotations = h.annotations || opts.Strategy == reload.StrategyAnnotations
	opts.SecretMarks = []digest.SecretMarks{digest.SecretMarksKeyed, digest.SecretMarksSHA1}[marks.IntN(2)]
	h.say("controller %d starts, its clock is off by %s, on create %t, on delete %t, opts all in %t", h.life, skew, h.onCreate, h.onDelete, opts.AutoReloadAll)
	log := slog.New(slog.DiscardHandler)
	if h.traced {
		log = slog.New(slog.NewTextHandler(&h.trace, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: plainLog}))
	}
	h.c = New(opts, proxy{h}, h.clock, log, historyReport{h: h})
	h.c.acting.Store(true) // one acts at a time
	h.feeds, h.resumed = nil, false
	h.oracle.started(opts.AutoReloadAll)
	feeds := h.c.workloadFeeds()
	if h.inNamespace {
		feeds = append(feeds, h.c.namespaceFeeds()...)
	}
	h.watch(feeds)
}

// something lets one thing happen that is nobody's intention.
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

// elapse moves all clocks on.
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

// historyReport holds what is told against what happened.
type historyReport struct {
	noReport
	h *history
}

// Rolled checks that no pod runs that was made before the reload.
func (r historyReport) Rolled(w *workload.Workload, _ rollout.Outcome, _ time.Duration) {
	r.h.count(toldRolled)
	r.h.say("%s is told to have rolled", w.Key)
	obj, err := r.h.server.Get(plural(w.Key.Kind), inShop(w.Key.Name))
	if err != nil || obj.GetUID() != w.UID {
		return
	}
	for _, pod := range r.h.pods.Of(obj) {
		if lives(pod) && r.h.oracle.podMade[pod.UID] < r.h.reloaded[w.LedgerText] {
			r.h.oracle.fail("%s is told to have rolled, and %s runs from before its reload", w.Key, pod.Name)
		}
	}
}

// lives reports whether a Pod has neither ended nor is about to.
func lives(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// noReport is told what happens and keeps nothing.
type noReport struct{}

func (noReport) Seen(string, string) {}

func (noReport) Processed(string, string) {}

func (noReport) WatchFailed() {}

func (noReport) Queued() {}

func (noReport) Waited(time.Duration) {}

func (noReport) Reconciled(Reconciliation) {}

func (noReport) Reloaded(*workload.Workload, reload.Decision, time.Duration) {}

func (noReport) Reverted(*workload.Workload, reload.Decision) {}

func (noReport) Rolled(*workload.Workload, rollout.Outcome, time.Duration) {}

func (noReport) NotRolled(*workload.Workload, rollout.Outcome) {}

func (noReport) Undecided(*workload.Workload, int) {}

func (noReport) LedgerTaken(*workload.Workload, time.Time) {}

func (noReport) Failed(*workload.Workload, reload.Decision, error, time.Duration, bool) {}

func (noReport) Notify(notice.Notice) {}

// plainLog drops what differs from one replay to the next.
func plainLog(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey {
		return slog.Attr{}
	}
	return a
}
