package controller

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/rules"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// smallHistory is what the histories about one topic have in common: a controller on the API in
// memory, Pods that start with what is there, watches that are independent of each other, and a trace.
type smallHistory struct {
	*stage
	t    *testing.T
	rand *rand.Rand
	pods *simapi.Pods
	// up reports whether a controller runs, and events are what it has not seen.
	up     bool
	events []simapi.Event
	// arrives takes an event of another kind than ConfigMaps and Deployments.
	arrives func(simapi.Event)
	trace   strings.Builder
	failed  string
	counts  map[string]int
}

func newSmallHistory(t *testing.T, seed uint64) *smallHistory {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	h := &smallHistory{
		t: t, rand: rand.New(rand.NewPCG(seed, 7)), counts: map[string]int{},
		stage: &stage{T: t, memory: memory{server: simapi.New(now)}, clock: clocktesting.NewFakeClock(now), lastPatched: map[string]time.Time{}},
	}
	h.pods = simapi.NewPods(h.server, 1)
	h.server.Observe(func(e simapi.Event) {
		if _, pod := e.Object.(*corev1.Pod); !pod {
			h.events = append(h.events, e)
		}
	})
	return h
}

// inDoubt is for a rollout of ours without a change since the last one, after a controller had to decide on
// what it had not seen.
const inDoubt excuse = "in doubt"

// drawnSeeds are the first seed of a run and the number of its histories: those of the environment, or
// else a fresh one and the usual number. Alone reports whether REROLL_SEED replays one.
func drawnSeeds(t *testing.T, usual uint64) (base, count uint64, alone bool) {
	t.Helper()
	if seed, ok := numberOf(t, "REROLL_SEED"); ok {
		return seed, 1, true
	}
	base, ok := numberOf(t, "REROLL_BASE")
	if !ok {
		base = rand.Uint64N(1 << 40)
	}
	count, ok = numberOf(t, "REROLL_HISTORIES")
	if !ok {
		count = usual
	}
	return base, count, false
}

// drawSmall plays as many histories as the environment says, and fails the test at the first one that
// fails, or if the oracle excuses too much.
func drawSmall(t *testing.T, bounds map[excuse]float64, play func(seed uint64) *smallHistory) {
	t.Helper()
	base, count, alone := drawnSeeds(t, full/20)
	counts := map[string]int{}
	for seed := base; seed < base+count; seed++ {
		h := play(seed)
		if h.failed != "" {
			t.Fatalf("%s\nREROLL_SEED=%d go test ./internal/controller -run '%s$' repeats it: %s", h.trace.String(), seed, t.Name(), h.failed)
		}
		if addCounts(counts, h.counts); alone {
			fmt.Println(h.trace.String())
			return
		}
	}
	fmt.Printf("%s: %d histories from REROLL_BASE=%d: %d reloads\n%s", t.Name(), count, base, counts["reloads"], excuseLine(count, counts, bounds))
	checkExcuses(t, count, counts, bounds)
	if doubts := counts[inDoubt.counter()]; counts["reloads"] < int(count) || doubts*4 > counts["reloads"] {
		t.Errorf("%d reloads in %d histories, %d of them in doubt: that proves too little", counts["reloads"], count, doubts)
	}
}

// excused counts the use of an excuse.
func (h *smallHistory) excused(e excuse) {
	h.counts[e.counter()]++
	h.say("excused: %s", e)
}

func (h *smallHistory) say(format string, args ...any) {
	fmt.Fprintf(&h.trace, "%s v%d "+format+"\n", append([]any{h.server.Now().Format("15:04:05.0"), h.server.Version()}, args...)...)
}

func (h *smallHistory) fail(format string, args ...any) {
	if h.failed == "" {
		h.failed = fmt.Sprintf(format, args...)
		h.say("FAILED: %s", h.failed)
	}
}

// podsOf are the Pods of a workload that are not about to end.
func (h *smallHistory) podsOf(key workload.Key) []*corev1.Pod {
	obj, err := h.server.Get("deployments", nameOf(key))
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(h.pods.Of(obj), func(pod *corev1.Pod) bool { return !lives(pod) })
}

// Pods implements API.
func (h *smallHistory) Pods(_ context.Context, w *workload.Workload) (reload.Pods, error) {
	var pods reload.Pods
	for _, pod := range h.podsOf(w.Key) {
		pods.Add(reload.ReadStart(pod))
	}
	return pods, nil
}

// Running implements API.
func (h *smallHistory) Running(_ context.Context, w *workload.Workload, names annotations.Names) ([]rollout.Pod, error) {
	var pods []rollout.Pod
	for _, pod := range h.podsOf(w.Key) {
		if w.MadeBy(pod) {
			pods = append(pods, rollout.ReadPod(pod, names))
		}
	}
	return pods, nil
}

func smallOptions() Options {
	return Options{AdoptRate: 1000, Settings: rules.Settings{Kinds: kinds.All(), Settle: settleTime, SettleMax: 10 * time.Second, Names: annotations.DefaultNames()}}
}

// begin runs a controller that knows nothing but the ConfigMaps and Deployments that there are.
func (h *smallHistory) begin(api API, opts Options) {
	h.say("a controller starts")
	h.events, h.up = nil, true
	h.controller = New(opts, api, h.clock, slog.New(slog.NewTextHandler(&h.trace, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: plainLog})), stageReport{stage: h.stage}, noReport{})
	h.installation().Installed = time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC)
	h.lead()
	for _, obj := range h.server.List("configmaps") {
		h.configMaps().isListed(obj)
	}
	for _, obj := range h.server.List("deployments") {
		h.deployments().isListed(obj)
	}
}

// deliver shows the controller some events, of one resource in their order.
func (h *smallHistory) deliver(all bool) {
	for len(h.events) > 0 && (all || h.rand.IntN(3) > 0) {
		at := 0
		if h.rand.IntN(2) == 0 { // the watches are independent
			first := simapi.ResourceOf(h.events[0].Object)
			at = max(0, slices.IndexFunc(h.events, func(e simapi.Event) bool { return simapi.ResourceOf(e.Object) != first }))
		}
		e := h.events[at]
		h.events = slices.Delete(h.events, at, at+1)
		h.say("%s arrives: %d", e.Object.GetName(), e.Version)
		switch to := e.Object.(type) {
		case *corev1.ConfigMap:
			h.configMaps().arrives(to)
		case *appsv1.Deployment:
			h.deployments().arrives(to)
		default:
			h.arrives(e)
		}
	}
}

// elapse lets Pods start, events arrive, and the controller work.
func (h *smallHistory) elapse(d time.Duration) {
	for ; d > 0; d -= 500 * time.Millisecond {
		h.server.Advance(500 * time.Millisecond)
		h.clock.Step(500 * time.Millisecond)
		for _, obj := range h.server.List("deployments") {
			h.pods.Step(obj)
		}
		if h.up {
			h.deliver(false)
			h.work()
		}
	}
}

// work lets the controller do what is due.
func (h *smallHistory) work() {
	for _, d := range h.controller.duties() {
		d.all(h.t.Context())
	}
}

// pending reports whether the controller has not seen the latest version of an object.
func (h *smallHistory) pending(resource, name string) bool {
	return slices.ContainsFunc(h.events, func(e simapi.Event) bool {
		return e.Object.GetName() == name && simapi.ResourceOf(e.Object) == resource
	})
}
