package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// drawn is how many histories there are when nobody asks for more.
	drawn = 20
	// atOnce is how many run at the same time.
	atOnce = 4
)

// What is counted beside faults and kills.
const (
	rests   = "rests"
	steps   = "steps"
	reloads = "reloads"
	single  = "single"
)

// TestHistories draws histories at random, and prints from which seed on. REROLL_REAL_HISTORIES=n draws
// n of them, REROLL_BASE=n begins with that seed, and REROLL_SEED=n draws that one alone and prints it.
// A seed fixes what users and faults do, and not how quickly the cluster follows.
func TestHistories(t *testing.T) {
	began := time.Now()
	first, count, alone := number(t, "REROLL_BASE", rand.Uint64N(1<<40)), number(t, "REROLL_REAL_HISTORIES", drawn), false
	if _, alone = os.LookupEnv("REROLL_SEED"); alone {
		first, count = number(t, "REROLL_SEED", 0), 1
	}
	tally := &tally{counts: map[string]int{}}
	// The group returns when all in it have.
	t.Run("seed", func(t *testing.T) {
		for seed := first; seed < first+count; seed++ {
			t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
				t.Parallel()
				h := newHistory(t, seed, tally)
				err := h.run()
				tally.add(steps, h.steps)
				tally.add(reloads, h.oracle.reloads)
				tally.add(single, h.oracle.single)
				if alone {
					t.Log(strings.Join(h.trace, "\n"))
				}
				if err != nil {
					t.Fatalf("%s\nREROLL_SEED=%d go test ./test/faults -run TestHistories draws it again.", h.explain(err), seed)
				}
				_ = shared.Admin.CoreV1().Namespaces().Delete(t.Context(), h.ns.Name, metav1.DeleteOptions{})
			})
		}
	})
	fmt.Printf("%s: %d histories from REROLL_BASE=%d: %s  in %s\n", t.Name(), count, first, tally.table(), time.Since(began).Round(time.Second))
	for _, name := range slices.Concat(faultNames(), killNames()) {
		if count >= drawn && tally.counts[name] == 0 {
			t.Errorf("%q never struck in %d histories, which proves nothing about it", name, count)
		}
	}
}

func number(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	text, ok := os.LookupEnv(variable)
	if !ok {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s=%s: %v", variable, text, err)
	}
	return n
}

// tally counts what happened in all histories.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *tally) count(name string) { c.add(name, 1) }

func (c *tally) add(name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[name] += n
}

func (c *tally) table() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "%d steps, %d rests that were judged, %d reloads, %d changes on their own\n",
		c.counts[steps], c.counts[rests], c.counts[reloads], c.counts[single])
	for _, group := range []struct {
		title string
		names []string
	}{{"faults", faultNames()}, {"kills", killNames()}} {
		var cells []string
		for _, name := range group.names {
			cells = append(cells, fmt.Sprintf("%s %d", name, c.counts[name]))
		}
		fmt.Fprintf(&b, "  %s: %s\n", group.title, strings.Join(cells, ", "))
	}
	return b.String()
}
