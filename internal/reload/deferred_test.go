package reload

import (
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
)

// decided is Decide. Each reload that a test expects also has to be decided if a gate delays it, in
// the same controller and by the ledger alone.
func decided(t *testing.T, f Facts) Decision {
	t.Helper()
	d := Decide(f)
	if d.Action != Reload || d.Found {
		return d
	}
	held, needed := f.Defer(&d, false)
	if !needed {
		return d
	}
	waits := f
	waits.Workload.LedgerText, waits.Remembered = held.Ledger.String(), held.Ledger.String()
	waits.Seen.ComparedAt, waits.Seen.Adopted, waits.Seen.Compared = f.Version, max(f.Seen.Adopted, f.Adopts()), true
	waits.Seen.Widened = nil
	waits.Concerns = nil
	for _, c := range f.Concerns {
		c.Away = Away{}
		waits.Concerns = append(waits.Concerns, c)
	}
	waits.Pods = nil
	later := Decide(waits)
	if later.Action == ListPods {
		waits.Pods = f.Pods
		if waits.Pods == nil {
			waits.Pods = &Pods{}
			waits.Pods.Add(StartedPod{Created: at(1)})
		}
		later = Decide(waits)
	}
	if later.Action != Reload {
		t.Errorf("%q, and after a gate delayed that: %s, %q", d.Why, later.Action, later.Why)
	}
	return d
}

// A key is removed, which leaves no time, and a gate delays the reload. Then the controller restarts. All
// Pods are from before the change, and younger than the time that the source shows.
func TestARestartForgetsNoRemovedKeyWhoseReloadWaits(t *testing.T) {
	removed := func(s *situation, data int64) *situation {
		return s.source(source.ConfigMap, "cm", "two", 10, data, SourceSeen{Content: 120, Edited: true, Timeless: true, Annotations: 1, Version: 120})
	}
	copied := func(l *ledger.Ledger) { l.UID = "other" }
	withoutIt := func(l *ledger.Ledger) { l.Entries = map[source.LocalKey]digest.Digest{secKey: digestOf("x")} }
	waits := func(l *ledger.Ledger) { l.Entries[cmKey] = digest.Digest{} }
	// The ledger has one digest for all sources. An edit of another one waits already, and one was deleted.
	many := crowded(source.ConfigMap, instance, 600).ledgerOf(func(l *ledger.Ledger) {
		l.Aggregates[source.ConfigMap] = ledger.Total{Count: l.Aggregates[source.ConfigMap].Count + 1}
	}).with(func(f *Facts) {
		f.Concerns[0].Source.Digest, f.Concerns[0].Source.DataTime, f.Seen.Compared = digestOf("two"), at(55), true
		f.Concerns[0].Seen, f.Concerns[0].Away = SourceSeen{Content: 120, Edited: true, Timeless: true, Version: 120}, Away{Version: 120}
		f.Concerns[1].Source.Digest, f.Concerns[1].Source.DataTime = digestOf("two"), at(90)
		f.Concerns[1].Seen, f.Concerns[1].Away = SourceSeen{Content: 91, Edited: true, Version: 91}, Away{Version: 91}
	})
	for name, facts := range map[string]Facts{
		"it has one digest for all sources":            many.f,
		"it has a ledger":                              removed(web().ledger(nil), 60).f,
		"it has none":                                  removed(web(), 60).f,
		"it has none, and a mark":                      removed(web().mark("y"), 60).f,
		"the source was never edited before":           removed(web(), 10).f,
		"its ledger was copied from another object":    removed(web().ledger(copied), 60).f,
		"the same, and a mark was copied, too":         removed(web().ledger(copied).mark("y"), 60).f,
		"its ledger does not have the source yet":      removed(web().ledger(withoutIt), 90).f,
		"it waits already, for an edit of this source": removed(web().ledger(waits), 90).f,
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(facts)
			if d.Action != Reload {
				t.Fatalf("decided to %s (%s), want reload", d.Action, d.Why)
			}
			held, needed := facts.Defer(&d, false)
			if needed {
				facts.Workload.LedgerText = held.Ledger.String()
			}
			facts.Seen = WorkloadSeen{Since: 200}
			for i := range facts.Concerns {
				facts.Concerns[i].Seen, facts.Concerns[i].Away = SourceSeen{Version: facts.Concerns[i].Seen.Version}, Away{}
			}
			facts.Pods = &Pods{}
			facts.Pods.Add(StartedPod{Created: at(110)})
			if d = Decide(facts); d.Action != Reload {
				t.Errorf("after a restart, decided to %s (%s), want reload: %s", d.Action, d.Why, facts.Workload.LedgerText)
			}
			if _, needed = facts.Defer(&d, false); needed {
				t.Error("the same is written again")
			}
		})
	}
}

// An edit of a Secret waits for its reload. Then the controller restarts, and its digest key is lost. All
// Pods are from before the edit, but the ledger claims to be from after it, because keys were removed, too.
func TestALostKeyForgetsNoReloadThatWaits(t *testing.T) {
	for name, when := range map[string]*situation{
		"the ledger has an entry for it": web().source(source.Secret, "sec", "two", 10, 120, SourceSeen{Version: 120}).ledger(func(l *ledger.Ledger) {
			l.Entries, l.DataTime = map[source.LocalKey]digest.Digest{secKey: {}}, 120
		}),
		"it has one digest for all Secrets": crowded(source.Secret, instance, 600).seventh("two", SourceSeen{Version: 150}).ledgerOf(func(l *ledger.Ledger) {
			all := l.Aggregates[source.Secret]
			all.Digest = digest.Digest{}
			l.Aggregates[source.Secret], l.DataTime = all, 150
		}),
	} {
		t.Run(name, func(t *testing.T) {
			f := when.pods(1, 110).f
			f.Instance = "key-2"
			if d := Decide(f); d.Action != Reload {
				t.Errorf("decided to %s (%s), want reload", d.Action, d.Why)
			}
		})
	}
}

// An annotation is removed, and a reload waits. The ledger has the sources that may count by now. Whether
// a source that was deleted unseen had the labels is unknown, so that its deletion is no change, ever.
func TestALedgerOfAReloadThatWaitsShowsWhatSelectsItsSources(t *testing.T) {
	key := func(name string) source.LocalKey { return source.LocalKey{Kind: source.ConfigMap, Name: name} }
	s := web().with(onDelete).annotated(map[string]string{annotations.Sources: selector, annotations.DefaultNames().Auto: "true"})
	s.ledger(func(l *ledger.Ledger) {
		selecting(s)(l)
		l.OnDelete = true
		for _, name := range []string{"unselected", "missing", "mounted"} {
			l.Entries[key(name)] = digestOf("x")
		}
		l.Entries[key("waits")] = digest.Digest{}
	})
	s.with(selects).selected("two", 120, SourceSeen{Content: 120, Edited: true, Annotations: 1, Version: 120}).refersTo(key("mounted"))
	s.f.Spared = []source.LocalKey{key("unselected")}
	for _, decision := range []string{"first", "second"} {
		d := Decide(s.f)
		if d.Action != Reload || len(d.Changes) != 1 {
			t.Fatalf("the %s: %s for %v", decision, d.Action, d.Changes)
		}
		held, needed := s.f.Defer(&d, false)
		if needed != (decision == "first") || held.Ledger.Selecting != s.f.Workload.Selecting(false) {
			t.Fatalf("the %s: its ledger, which is needed: %t, is %s", decision, needed, held.Ledger)
		}
		for name, want := range map[string][2]bool{cmKey.Name: {true, false}, "waits": {true, true}, "mounted": {true, true}, "unselected": {}, "missing": {}} {
			_, stays := held.Ledger.Entries[key(name)]
			if _, gone := held.Ledger.Gone[key(name)]; [2]bool{stays, gone} != want {
				t.Errorf("the %s: %s has an entry: %t, and is gone: %t, want %t", decision, name, stays, gone, want)
			}
		}
		s.f.Workload.LedgerText = held.Ledger.String()
	}
}

// The selector of a workload has other words, or deletions begin to count, or to count no longer. Nothing
// else changed since its reload waits.
func TestALedgerOfAReloadThatWaitsIsWrittenAgainForAnotherSelection(t *testing.T) {
	gone := source.LocalKey{Kind: source.ConfigMap, Name: "gone"}
	for name, when := range map[string]func(*situation) func(*ledger.Ledger){
		"other words":              func(*situation) func(*ledger.Ledger) { return func(l *ledger.Ledger) { l.OnDelete = true } },
		"deletions begin to count": selecting,
		"deletions no longer count": func(s *situation) func(*ledger.Ledger) {
			s.f.OnDelete = false
			return func(l *ledger.Ledger) { selecting(s)(l); l.OnDelete = true }
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := web().with(onDelete).with(selects).refersTo(gone)
			s.ledger(when(s)).ledgerOf(func(l *ledger.Ledger) {
				l.Entries[cmKey], l.Entries[gone] = digest.Digest{}, digestOf("x")
				if l.OnDelete {
					l.Gone = map[source.LocalKey]struct{}{gone: {}}
				}
			})
			s.selected("two", 120, SourceSeen{Content: 120, Edited: true, Annotations: 1, Version: 120})
			d := Decide(s.f)
			held, needed := s.f.Defer(&d, false)
			_, noted := held.Ledger.Gone[gone]
			if d.Action != Reload || !needed || held.Ledger.Selecting != s.f.Workload.Selecting(false) || held.Ledger.OnDelete != s.f.OnDelete || noted != s.f.OnDelete {
				t.Errorf("%s, and its ledger, which is needed: %t, is %s", d.Action, needed, held.Ledger)
			}
		})
	}
}

// The first reload of a workload waits for an edit, and the source is deleted while no controller runs.
func TestADeletionIsNotLostWhileTheFirstReloadWaits(t *testing.T) {
	s := web().with(onDelete).with(selects)
	s.selected("two", 120, SourceSeen{Content: 120, Edited: true, Annotations: 1, Version: 120}).pods(1, 60)
	d := Decide(s.f)
	held, needed := s.f.Defer(&d, false)
	if d.Action != Reload || !needed {
		t.Fatalf("%s (%s), and its ledger is needed: %t", d.Action, d.Why, needed)
	}
	s.f.Workload.LedgerText, s.f.Concerns, s.f.Seen = held.Ledger.String(), nil, WorkloadSeen{Since: 200}
	if d = Decide(s.f); d.Action != Reload || len(d.Changes) != 1 || !d.Changes[0].Deleted {
		t.Errorf("%s (%s) for %v", d.Action, d.Why, d.Changes)
	}
}
