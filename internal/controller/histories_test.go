package controller

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestHistories draws histories at random: users, faults and kills, on an API in memory. What must hold is in the
// oracle. REROLL_HISTORIES=n draws n of them, and REROLL_SEED=n replays one with a trace.
func TestHistories(t *testing.T) {
	if text, ok := os.LookupEnv("REROLL_SEED"); ok {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("REROLL_SEED=%s: %v", text, err)
		}
		h := newHistory(seed, allSteps)
		h.traced = true
		err = h.run()
		fmt.Println(h.trace.String())
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	count := full
	if text, ok := os.LookupEnv("REROLL_HISTORIES"); ok {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			t.Fatalf("REROLL_HISTORIES=%s: %v", text, err)
		}
	}
	counts, failed := runHistories(uint64(count))
	fmt.Print(table(count, counts))
	for i, f := range failed {
		if i >= mostShown {
			t.Errorf("history %d fails: %v", f.seed, f.err)
			continue
		}
		t.Errorf("%s\nREROLL_SEED=%d go test ./internal/controller -run TestHistories replays it in full.", explain(f), f.seed)
	}
	for _, name := range slices.Concat(faultNames(), killNames(), []string{askedAfter, toldRolled}) {
		least := 200
		if name == killedResumed {
			least = 100 // one in ten histories has pauses
		}
		if count >= enoughToProve && counts[name] < least {
			t.Errorf("%q came %d times, must come %d times at least to prove anything", name, counts[name], least)
		}
	}
}

const (
	// mostShown is how many failures are worth reading.
	mostShown = 3
	// enoughToProve is from how many histories on every fault and every kill must have come often.
	enoughToProve = 10_000
	// mostFailures is how many are enough to stop.
	mostFailures = 50
)

// failure is a history in which something did not hold.
type failure struct {
	seed uint64
	err  error
}

// runHistories draws histories on every processor. They share nothing.
func runHistories(count uint64) (map[string]int, []failure) {
	var (
		mu     sync.Mutex
		next   uint64
		counts = map[string]int{}
		failed []failure
		all    sync.WaitGroup
	)
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for {
				mu.Lock()
				seed := next
				next++
				enough := seed >= count || len(failed) >= mostFailures
				mu.Unlock()
				if enough {
					return
				}
				h := newHistory(seed, allSteps)
				err := h.run()
				mu.Lock()
				for name, n := range h.counts {
					counts[name] += n
				}
				if err != nil {
					failed = append(failed, failure{seed: seed, err: err})
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
func explain(f failure) string {
	for steps := 1; ; steps++ {
		h := newHistory(f.seed, steps)
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
		return fmt.Sprintf("history %d fails: %v\nshortened to %d steps: %v\n%s", f.seed, f.err, steps, err, strings.Join(lines, "\n"))
	}
}

func table(histories int, counts map[string]int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d histories: %d steps by users, %d changes of content, %d reloads, %d rests that were judged, %d changes on their own\n",
		histories, counts["steps"], counts["changes"], counts["reloads"], counts["rests"], counts["single"])
	for _, group := range []struct {
		title string
		names []string
	}{{"faults", faultNames()}, {"kills", killNames()}} {
		var cells []string
		for _, name := range group.names {
			cells = append(cells, fmt.Sprintf("%s %d", name, counts[name]))
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
	return b.String()
}
