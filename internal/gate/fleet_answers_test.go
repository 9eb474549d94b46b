package gate

import (
	"fmt"
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
)

func TestAWorkloadHeldByOneSourceBlocksNobodyOfTheOther(t *testing.T) {
	var fleets []*Fleet
	for _, name := range []string{"a", "b"} {
		fleets = append(fleets, NewFleet(&source.Source{Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: name}}, Settings{}))
	}
	a, b := fleets[0], fleets[1]
	b.Put(keyOf("failed"), Member{Wave: -1, Rolled: true, State: Failed, Why: "does not start"})
	for _, f := range fleets {
		f.Put(keyOf("both"), Member{})
	}
	a.Put(keyOf("later"), Member{Wave: 1})
	if answer := checkWaves(keyOf("later"), []*Fleet{a}); answer.Why != "for wave 0 of ConfigMap shop/a: 1 waiting" {
		t.Fatalf("%+v", answer)
	}
	if answer := checkWaves(keyOf("both"), fleets); !answer.Stopped || answer.Source.Name != "b" || answer.Why != "wave -1 stopped, deployment/failed does not start" {
		t.Fatalf("%+v", answer)
	}
	if answer := checkWaves(keyOf("later"), []*Fleet{a}); !answer.Open() {
		t.Errorf("%+v", answer)
	}
	b.Put(keyOf("failed"), Member{Wave: -1, Rolled: true, State: Done})
	if keys := b.Again(fleets); len(keys) != 1 || keys[0] != keyOf("both") {
		t.Errorf("%v ask again", keys)
	}
	if answer := checkWaves(keyOf("later"), []*Fleet{a}); answer.Open() {
		t.Error("it does not wait for a workload that may start")
	}
}

// Two workers decide at the same time: the second one must not take the place of a reload that is
// being written.
func TestAPlaceIsReservedBeforeTheWrite(t *testing.T) {
	src := source.Source{Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "ca"}}
	f := NewFleet(&src, Settings{RollingBy: "x", MaxRolling: annotations.Share{Number: 1}})
	find := func(*reload.Concern) *Fleet { return f }
	d := reload.Decision{Action: reload.Reload, Changes: []reload.Concern{{Source: src}}}
	first, second := reload.Facts{}, reload.Facts{}
	first.Workload.Key, second.Workload.Key = keyOf("first"), keyOf("second")
	f.Put(keyOf("first"), Member{})
	f.Put(keyOf("second"), Member{})
	if a := Check(&first, &d, find); !a.Open() {
		t.Fatalf("%+v", a)
	}
	Pass(&first, &d, find)
	if a := Check(&second, &d, find); a.Open() {
		t.Error("the place is taken twice")
	}
	f.Free(keyOf("first")) // the write was refused
	if a := Check(&second, &d, find); !a.Open() {
		t.Errorf("the place is not free again: %+v", a)
	}
}

// The answer for one workload does not depend on how many others there are.
func BenchmarkOneWorkloadOfManyFinishes(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			src := &source.Source{Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "ca"}}
			f := NewFleet(src, Settings{RollingBy: "x", MaxRolling: annotations.Share{Number: 50}})
			for i := range n {
				f.Put(keyOf(fmt.Sprint(i)), Member{})
			}
			for i := 0; b.Loop(); i++ {
				key := keyOf(fmt.Sprint(i % n))
				f.Put(key, Member{})
				checkWaves(key, []*Fleet{f})
				f.reserve(key)
				f.Put(key, Member{Rolled: true, State: Done})
				f.Free(key)
				f.Next()
			}
		})
	}
}
