package gate

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// busy is a fleet of which 50 members roll, and all others have asked and wait.
type busy struct {
	*Fleet
	running []workload.Key
}

func newBusy(members int) *busy {
	src := &source.Source{Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "ca"}}
	b := &busy{Fleet: NewFleet(src, Settings{RollingBy: "--max-rolling", MaxRolling: annotations.Share{Number: 50}})}
	for i := range members {
		b.Put(keyOf(fmt.Sprint(i)), Member{})
	}
	for i := range members {
		b.start(keyOf(fmt.Sprint(i)))
	}
	return b
}

func (b *busy) start(key workload.Key) {
	if b.ask(key).Open() {
		b.reserve(key)
		b.Put(key, Member{Rolled: true, State: Running})
		b.running = append(b.running, key)
	}
}

// turns lets one rollout after the other be done. Each time a member that waits is offered its turn,
// asks, and starts, and the one that was done waits again, last of all.
func (b *busy) turns(n int) {
	for range n {
		done := b.running[0]
		b.running = b.running[1:]
		b.Put(done, Member{Rolled: true, State: Done})
		for _, key := range b.Next() {
			b.start(key)
		}
		b.Put(done, Member{})
		b.start(done)
		b.Next()
	}
}

func BenchmarkTurnOfOneWorkload(b *testing.B) {
	for _, members := range []int{100, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("of=%d", members), func(b *testing.B) {
			f := newBusy(members)
			b.ReportAllocs()
			b.ResetTimer()
			f.turns(b.N)
		})
	}
}

// What a turn allocates is nearly the same on every machine, and a copy of all that wait would show.
func TestATurnDoesNotGrowWithTheFleet(t *testing.T) {
	allocated := func(members int) uint64 {
		const turns = 1000
		f := newBusy(members)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f.turns(turns)
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / turns
	}
	few, many := allocated(200), allocated(20_000)
	if many > 4*few+1024 {
		t.Errorf("a turn allocates %d bytes in a fleet of 200, and %d in one of 20,000", few, many)
	}
}

// A second edit finds every rollout of the first one in progress. Each of these workloads keeps its
// place, and a turn must not search them all.
func TestATurnSearchesOnlyWorkloadsThatAsked(t *testing.T) {
	src := &source.Source{Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "ca"}}
	f := NewFleet(src, Settings{RollingBy: "--max-rolling", MaxRolling: annotations.Share{Number: 1000}})
	for i := range 1000 {
		f.Put(keyOf(fmt.Sprint(i)), Member{Behind: true})
	}
	f.Put(keyOf("canary"), Member{Wave: -1})
	f.ask(keyOf("7"))
	if n := len(f.occupying); n != 1 {
		t.Errorf("a turn searches %d workloads", n)
	}
	f.Put(keyOf("canary"), Member{Wave: -1, Rolled: true, State: Done})
	if next := f.Next(); len(next) != 1 || next[0] != keyOf("7") || len(f.occupying) != 0 {
		t.Errorf("%v may start, and a turn searches %d workloads", next, len(f.occupying))
	}
}
