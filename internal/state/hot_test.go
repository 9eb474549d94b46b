package state

import (
	"fmt"
	"testing"

	"github.com/reroll-dev/reroll/internal/source"
)

// crowded knows so many workloads, each with a ConfigMap of its own.
func crowded(n int) *State {
	s := New(false)
	for i := range n {
		name := fmt.Sprintf("w-%d", i)
		s.PutWorkload(deployment(name, name, 1, auto, "true"), inASnap)
		s.PutSource(configMap(name, "first", 1), inASnap)
	}
	return s
}

// BenchmarkChange is what one change costs of state and index: the source comes, it names its
// workload, and that is read with all that concerns it. It must not grow with what else there is.
func BenchmarkChange(b *testing.B) {
	for _, n := range []int{1000, 20000} {
		b.Run(fmt.Sprintf("of %d workloads", n), func(b *testing.B) { change(b, crowded(n)) })
	}
}

func change(b *testing.B, s *State) {
	b.Helper()
	changes := [2]source.Source{configMap("w-7", "one", 2), configMap("w-7", "two", 3)}
	version := 3
	b.ReportAllocs()
	for b.Loop() {
		version++
		change := changes[version%2]
		change.ResourceVersion = fmt.Sprint(version)
		concerned := s.PutSource(change, live)
		if len(concerned) != 1 {
			b.Fatalf("%d workloads are concerned", len(concerned))
		}
		if f, ok := s.Facts(concerned[0]); !ok || len(f.Concerns) != 1 {
			b.Fatal("the workload is not concerned")
		}
	}
}

// BenchmarkPutWorkload is what each event of a workload costs: several follow each rollout.
func BenchmarkPutWorkload(b *testing.B) {
	for _, n := range []int{1000, 20000} {
		b.Run(fmt.Sprintf("of %d workloads", n), func(b *testing.B) { putWorkload(b, crowded(n), auto, "true") })
	}
}

func putWorkload(b *testing.B, s *State, annotations ...string) {
	b.Helper()
	w := deployment("w-7", "w-7", 2, annotations...)
	version := 3
	b.ReportAllocs()
	for b.Loop() {
		version++
		w.ResourceVersion = fmt.Sprint(version)
		s.PutWorkload(w, live)
	}
}
