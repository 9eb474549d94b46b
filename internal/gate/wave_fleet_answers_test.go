package gate

import (
	"fmt"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
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
	if answer := askWaves(keyOf("later"), []*Fleet{a}); answer.Why != "for wave 0 of ConfigMap shop/a: 1 waiting" {
		t.Fatalf("%+v", answer)
	}
	if answer := askWaves(keyOf("both"), fleets); !answer.Stopped || answer.Source.Name != "b" || answer.Why != "wave -1 stopped, deployment/failed does not start" {
		t.Fatalf("%+v", answer)
	}
	if answer := askWaves(keyOf("later"), []*Fleet{a}); !answer.Open() {
		t.Errorf("%+v", answer)
	}
	b.Put(keyOf("failed"), Member{Wave: -1, Rolled: true, State: Done})
	if keys := b.Again(fleets); len(keys) != 1 || keys[0] != keyOf("both") {
		t.Errorf("%v ask again", keys)
	}
	if answer := askWaves(keyOf("later"), []*Fleet{a}); answer.Open() {
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
	if a := Check(&first, &d, Others{Find: find}); !a.Open() {
		t.Fatalf("%+v", a)
	}
	Pass(&first, &d, Others{Find: find})
	if a := Check(&second, &d, Others{Find: find}); a.Open() {
		t.Error("the place is taken twice")
	}
	f.Free(keyOf("first")) // the write was refused
	if a := Check(&second, &d, Others{Find: find}); !a.Open() {
		t.Errorf("the place is not free again: %+v", a)
	}
}

// A second edit finds a rollout with the data of the first one in progress.
func TestARolloutWithEarlierDataHasAPlace(t *testing.T) {
	for about, tc := range map[string]struct {
		member Member
		// others are how many rollouts with the present data are in progress.
		others int
		starts bool
	}{
		"it rolls":                      {Member{Behind: true}, 0, true},
		"it rolls, and so does another": {Member{Behind: true}, 1, true},
		"it may have failed":            {Member{Behind: true, Doubt: true}, 0, true},
		"it may have failed, and another has the place": {Member{Behind: true, Doubt: true}, 1, false},
		"it waits, and another has the place":           {Member{}, 1, false},
	} {
		t.Run(about, func(t *testing.T) {
			f, _ := fleetOf(Settings{RollingBy: "--max-rolling", MaxRolling: annotations.Share{Number: 1}})
			f.Put(keyOf("web"), tc.member)
			for i := range tc.others {
				f.Put(keyOf(fmt.Sprint(i)), Member{State: Running, Rolled: true})
			}
			if a := f.ask(keyOf("web")); a.Open() != tc.starts {
				t.Errorf("it starts: %t, want %t: %s", a.Open(), tc.starts, a.Why)
			}
		})
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
				askWaves(key, []*Fleet{f})
				f.reserve(key)
				f.Put(key, Member{Rolled: true, State: Done})
				f.Free(key)
				f.Next()
			}
		})
	}
}

func askWaves(key workload.Key, fleets []*Fleet) Answer {
	var f reload.Facts
	f.Workload.Key = key
	return checkWaves(&f, fleets)
}

func fleetOf(s Settings) (*Fleet, *source.Source) {
	src := &source.Source{Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "ca"}}
	return NewFleet(src, s), src
}

// The source was edited after the facts about the workload were collected.
func TestAWorkloadThatIsNoMemberIsDecidedAgain(t *testing.T) {
	f, _ := fleetOf(Settings{})
	f.Put(keyOf("canary"), Member{Wave: -1})
	facts := reload.Facts{Now: noon}
	facts.Workload.Key = keyOf("new")
	if a := checkWaves(&facts, []*Fleet{f}); a.Open() || !a.Until.Equal(noon.Add(time.Second)) {
		t.Errorf("%+v", a)
	}
}

func TestAWorkloadWhoseReloadIsRejectedStopsTheOthersAndMayTryAgain(t *testing.T) {
	f, _ := fleetOf(Settings{RollingBy: "x", MaxRolling: annotations.Share{Number: 1}, MaxFailures: 1})
	f.Put(keyOf("canary"), Member{Wave: -1, State: Failed, Why: "cannot be reloaded"})
	f.Put(keyOf("broken"), Member{Wave: -1, State: Failed, Rolled: true})
	f.Put(keyOf("web"), Member{})
	if a := askWaves(keyOf("web"), []*Fleet{f}); !a.Stopped {
		t.Errorf("web: %+v", a)
	}
	if a := askWaves(keyOf("canary"), []*Fleet{f}); !a.Open() {
		t.Errorf("canary: %+v", a)
	}
	f.reserve(keyOf("canary"))
	if !f.Stopped() || len(f.Next()) > 0 {
		t.Error("a further try counts as a success")
	}
	f.Remove(keyOf("broken"))
	if a := askWaves(keyOf("web"), []*Fleet{f}); a.Open() {
		t.Error("the place of a further try is free")
	}
	f.Free(keyOf("canary"))
	if a := askWaves(keyOf("web"), []*Fleet{f}); !a.Open() {
		t.Errorf("one may fail: %+v", a)
	}
}

func TestAFleetFitsOneSetOfWorkloads(t *testing.T) {
	f, src := fleetOf(Settings{})
	if !f.Fits(src, Settings{}) {
		t.Fatal("it does not fit its own source")
	}
	for about, edit := range map[string]func(*source.Annotations){
		"ignored":      func(a *source.Annotations) { a.Ignore = true },
		"matched":      func(a *source.Annotations) { a.Match = true },
		"not selected": func(a *source.Annotations) { a.Unselected = true },
		"urgent":       func(a *source.Annotations) { a.Waves = annotations.Waves{Urgent: true}.Keep() },
	} {
		other := *src
		edit(&other.Annotations)
		if f.Fits(&other, Settings{}) {
			t.Errorf("%s: it still fits", about)
		}
	}
}

func TestAFleetInheritsTheReloadsThatAreBeingWritten(t *testing.T) {
	one := Settings{RollingBy: "x", MaxRolling: annotations.Share{Number: 1}}
	before, src := fleetOf(one)
	other := *src
	other.Digest[0] = 1
	for about, tc := range map[string]struct {
		src  *source.Source
		open bool
	}{"the same data": {src, false}, "other data": {&other, true}} {
		before.Put(keyOf("first"), Member{})
		before.reserve(keyOf("first"))
		next := NewFleet(tc.src, one)
		next.Put(keyOf("first"), Member{})
		next.Put(keyOf("second"), Member{})
		next.Inherit(before)
		if a := askWaves(keyOf("second"), []*Fleet{next}); a.Open() != tc.open {
			t.Errorf("%s: %+v", about, a)
		}
	}
}
