package controller

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestHistories draws histories at random: users, faults and kills, on an API server in memory. The
// oracle has the rules that must hold. A run begins at a seed that was never tried, and prints it.
// REROLL_HISTORIES=n draws n histories, REROLL_BASE=n repeats a run, and REROLL_SEED=n replays one
// history with a trace. A seed gives the same history only until the generator changes.
// TestKeptHistories keeps those that have failed once.
func TestHistories(t *testing.T) {
	if seed, ok := numberOf(t, "REROLL_SEED"); ok {
		replay(t, newHistory(seed, allSteps))
		return
	}
	count := uint64(full)
	if n, ok := numberOf(t, "REROLL_HISTORIES"); ok {
		count = n
	}
	base, ok := numberOf(t, "REROLL_BASE")
	if !ok {
		base = rand.Uint64N(1 << 40)
	}
	repeatable(t, "TestHistories", base, count)
	counts, failed := runHistories(base, count, newHistory)
	fmt.Print(table("TestHistories", base, count, counts, bounds()))
	for i, f := range failed {
		if i >= mostShown {
			t.Errorf("history %d of TestHistories fails: %v; %s", f.seed, f.err, f.drawn())
			continue
		}
		t.Errorf("%s\nREROLL_SEED=%d go test ./internal/controller -run 'TestHistories$' replays it in full.", explain(f, newHistory), f.seed)
	}
	if len(failed) < mostFailures {
		checkExcuses(t, count, counts, bounds())
	}
	if count >= enoughToProve {
		checkDraws(t, counts)
	}
}

// replay runs one history with a trace.
func replay(t *testing.T, h *history) {
	t.Helper()
	h.traced = true
	err := h.run()
	fmt.Println(h.trace.String())
	if err != nil {
		t.Fatal(err)
	}
}

// repeatable shows how to repeat the run of a test if it fails for whatever reason.
func repeatable(t *testing.T, name string, base, count uint64) {
	t.Helper()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("REROLL_BASE=%d REROLL_HISTORIES=%d go test ./internal/controller -run '%s$' draws all of these again.", base, count, name)
		}
	})
}

// numberOf reads a variable of the environment.
func numberOf(t *testing.T, variable string) (uint64, bool) {
	t.Helper()
	text, ok := os.LookupEnv(variable)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%s: %v", variable, text, err)
	}
	return n, true
}

// checkDraws fails if an event was so rare that the run proves nothing about it.
func checkDraws(t *testing.T, counts map[string]int) {
	t.Helper()
	for _, name := range slices.Concat(faultNames(), killNames(), drawNames(), []string{askedAfter, toldRolled, heldByLimit, heldToGateURL}) {
		least := 200
		if name == killedResumed {
			least = 100 // one in ten histories has pauses
		}
		if counts[name] < least {
			t.Errorf("%q came %d times, must come %d times at least to prove anything", name, counts[name], least)
		}
	}
}

const (
	// mostShown is the maximum number of failures to print.
	mostShown = 3
	// enoughToProve is the number of histories from which on every fault and every kill must occur
	// often.
	enoughToProve = 10_000
	// mostFailures is the number of failures at which the run stops, unless REROLL_FAILURES has another.
	mostFailures = 50
)

// failure is a history in which a rule did not hold.
type failure struct {
	seed uint64
	err  error
}

// drawn describes the draws of the history.
func (f failure) drawn() string {
	return strings.ReplaceAll(strings.Join(newHistory(f.seed, 0).names(), ", "), drawPrefix, "")
}

// runHistories draws histories on every processor. They share nothing.
func runHistories(base, count uint64, draw func(seed uint64, steps int) *history) (map[string]int, []failure) {
	var (
		mu     sync.Mutex
		next   uint64
		counts = map[string]int{}
		failed []failure
		all    sync.WaitGroup
	)
	stopAt := mostFailures
	if n, err := strconv.Atoi(os.Getenv("REROLL_FAILURES")); err == nil {
		stopAt = n
	}
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for {
				mu.Lock()
				seed := next
				next++
				enough := seed >= count || len(failed) >= stopAt
				mu.Unlock()
				if enough {
					return
				}
				h := draw(base+seed, allSteps)
				err := h.run()
				mu.Lock()
				addCounts(counts, h.counts)
				if err != nil {
					failed = append(failed, failure{seed: base + seed, err: err})
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	slices.SortFunc(failed, func(a, b failure) int { return cmp.Compare(a.seed, b.seed) })
	return counts, failed
}

// explain replays a history with as few steps as still fail.
func explain(f failure, draw func(seed uint64, steps int) *history) string {
	for steps := 1; ; steps++ {
		h := draw(f.seed, steps)
		h.traced = true
		err := h.run()
		if err == nil && steps < allSteps {
			continue
		}
		lines := strings.Split(strings.TrimSpace(h.trace.String()), "\n")
		const most = 120
		if len(lines) > most {
			lines = append([]string{"…"}, lines[len(lines)-most:]...)
		}
		return fmt.Sprintf("history %d fails: %v\n%s\nshortened to %d steps: %v\n%s", f.seed, f.err, f.drawn(), steps, err, strings.Join(lines, "\n"))
	}
}

func table(test string, base, histories uint64, counts map[string]int, bounds map[excuse]float64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d histories from REROLL_BASE=%d: %d steps by users, %d changes of content, %d reloads, %d rests that were judged, %d changes on their own\n",
		test, histories, base, counts["steps"], counts["changes"], counts["reloads"], counts["rests"], counts["single"])
	for _, group := range []struct {
		title string
		names []string
	}{{"faults", faultNames()}, {"kills", killNames()}, {"draws", drawNames()}} {
		var cells []string
		for _, name := range group.names {
			cells = append(cells, fmt.Sprintf("%s %d", strings.TrimPrefix(name, drawPrefix), counts[name]))
		}
		fmt.Fprintf(&b, "  %s: %s\n", group.title, strings.Join(cells, ", "))
	}
	var steps []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		if step, ok := strings.CutPrefix(name, "step: "); ok {
			steps = append(steps, fmt.Sprintf("%s %d", step, counts[name]))
		}
	}
	fmt.Fprintf(&b, "  steps: %s\n", strings.Join(steps, ", "))
	fmt.Fprintf(&b, "  reloads that waited: %d; %s: %d\n", counts[heldByLimit], heldToGateURL, counts[heldToGateURL])
	b.WriteString(excuseLine(histories, counts, bounds))
	return b.String()
}
