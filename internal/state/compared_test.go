package state

import (
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

func TestWhatWasKnownWhenAWorkloadWasCompared(t *testing.T) {
	web := func(version int, annotations ...string) workload.Workload {
		return deployment("web", "cm", version, append([]string{auto, "true"}, annotations...)...)
	}
	facts := func(s *State) *reload.Facts {
		f, _ := s.Facts(web(0).Key)
		return &f
	}
	compare := func(s *State) { s.Compared(facts(s)) }
	for name, tc := range map[string]struct {
		puts func(s *State)
		want uint64
	}{
		"it was not":              {func(*State) {}, 0},
		"it was":                  {compare, 5},
		"it is newer than all":    {func(s *State) { s.PutWorkload(web(6), live); compare(s) }, 6},
		"another source is newer": {func(s *State) { s.PutSource(configMap("other", "one", 7), live); compare(s) }, 7},
		"one that is gone was newer": {func(s *State) {
			s.PutSource(configMap("cm", "two", 8), live)
			s.DeleteSource(configMap("cm", "", 0).Key, reload.Departure{Version: 9})
			compare(s)
		}, 8},
		"a source came meanwhile": {func(s *State) {
			f := facts(s)
			s.PutSource(configMap("other", "one", 7), live)
			s.Compared(f)
		}, 5},
		"it was written to, and no answer came": {func(s *State) { s.Sending(facts(s), "ours") }, 5},
		"another instance did": {func(s *State) {
			s.PutWorkload(web(6, annotations.Ledger, "theirs"), live)
		}, 0},
		"there was a gap since":    {func(s *State) { compare(s); s.PutWorkload(web(6), inASnap) }, 5},
		"its template was changed": {func(s *State) { compare(s); s.PutWorkload(deployment("web", "other", 6, auto, "true"), live) }, 5},
		"it was made again since":  {func(s *State) { compare(s); again := web(6); again.UID = "another"; s.PutWorkload(again, live) }, 0},
		"it was another one of the name": {func(s *State) {
			f := facts(s)
			f.Workload.UID = "another"
			s.Compared(f)
			s.Sending(f, "ours")
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			s.PutWorkload(web(1), live)
			s.PutSource(configMap("cm", "one", 5), live)
			tc.puts(s)
			if got := facts(s).Seen.ComparedAt; got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

func TestSinceWhenAWorkloadSelectsTheSourcesOfItsFirstLedger(t *testing.T) {
	web := func(version int, annotations ...string) workload.Workload {
		return deployment("web", "cm", version, annotations...)
	}
	adopt := func(s *State) {
		f, _ := s.Facts(web(0).Key)
		s.Sending(&f, "ours")
	}
	for name, tc := range map[string]struct {
		puts func(s *State)
		want uint64
	}{
		"it began before our eyes": {func(s *State) { s.PutWorkload(web(6, auto, "true"), live); adopt(s) }, 6},
		"it was made before our eyes": {func(s *State) {
			again := web(6, auto, "true")
			again.UID = "another"
			s.PutWorkload(again, live)
			adopt(s)
		}, 6},
		"it began in a gap": {func(s *State) { s.PutWorkload(web(6, auto, "true"), inASnap); adopt(s) }, 2}, // not in version 1 yet
		"nobody saw it begin": {func(s *State) {
			again := web(6, auto, "true")
			again.UID = "another"
			s.PutWorkload(again, inASnap)
			adopt(s)
		}, 0},
		"it asked for something else then": {func(s *State) {
			s.PutWorkload(web(6, "configmap.reloader.stakater.com/reload", "other"), inASnap)
			s.PutWorkload(web(7, auto, "true"), live)
			adopt(s)
		}, 0},
		"it began before our eyes, and asked for more then": {func(s *State) {
			s.PutWorkload(web(6, "configmap.reloader.stakater.com/reload", "cm"), live)
			s.PutWorkload(web(7, "configmap.reloader.stakater.com/reload", "cm, other"), live)
			adopt(s)
		}, 0},
		"it has a ledger": {func(s *State) { s.PutWorkload(web(6, auto, "true", annotations.Ledger, "ours"), live); adopt(s) }, 0},
		"it had one": {func(s *State) {
			s.PutWorkload(web(6, auto, "true"), live)
			w := web(6)
			s.Remember(&w, "ours")
			adopt(s)
		}, 0},
		"there was a gap since": {func(s *State) {
			s.PutWorkload(web(6, auto, "true"), live)
			adopt(s)
			s.PutWorkload(web(7, auto, "true"), inASnap)
		}, 6},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			s.PutWorkload(web(1), live)
			s.PutSource(configMap("cm", "one", 5), live)
			tc.puts(s)
			if f, _ := s.Facts(web(0).Key); f.Seen.Adopted != tc.want {
				t.Errorf("got %d, want %d", f.Seen.Adopted, tc.want)
			}
		})
	}
}

func TestHowAWorkloadCameToAskForMore(t *testing.T) {
	s := New(false)
	web := func(version int, list string) workload.Workload { return deployment("web", "", version, byName, list) }
	s.PutWorkload(web(1, "a"), inASnap)
	list := "a"
	for n := range 40 {
		list += ",b-" + strconv.Itoa(n)
		s.PutWorkload(web(n+2, list), live)
		s.PutWorkload(web(n+2, list), live)
	}
	f, _ := s.Facts(web(0, "").Key)
	var versions []uint64
	for _, step := range f.Seen.Widened {
		versions = append(versions, step.Version)
	}
	if len(versions) != 16 || versions[0] != 26 || versions[15] != 41 || f.Seen.Policy != 41 {
		t.Errorf("widened in %v, want the latest 16 versions up to 41", versions)
	}
	s.Compared(&f)
	if f, _ := s.Facts(web(0, "").Key); f.Seen.Widened != nil || f.Seen.Policy != 41 {
		t.Errorf("compared, and widened in %v", f.Seen.Widened)
	}
	s.PutWorkload(web(42, "a,b"), live)
	s.PutWorkload(web(43, "a,b,c"), live)
	w := web(0, "")
	s.Remember(&w, "ours")
	f, _ = s.Facts(w.Key)
	s.Compared(&f)
	if f, _ := s.Facts(w.Key); len(f.Seen.Widened) != 1 || f.Seen.Widened[0].Version != 43 || f.Seen.WidenedBefore != 42 {
		t.Errorf("compared with a ledger, and widened in %v, and in %d before", f.Seen.Widened, f.Seen.WidenedBefore)
	}
}

// The watch of a source may lag behind that of the workload, whose ledger then drops the source.
func TestASourceThatALedgerDroppedBecauseItsWatchLagged(t *testing.T) {
	for name, tc := range map[string]struct {
		before []string // the annotations before it searches
		adopts bool     // its first ledger comes before that, too
		again  bool     // its annotations change once more
		want   reload.Action
	}{
		"it concerned the workload before":                    {[]string{auto, "true"}, true, false, reload.Reload},
		"before there was any ledger":                         {[]string{auto, "true"}, false, false, reload.Reload},
		"it did not":                                          {[]string{byName, "other"}, true, false, reload.Record},
		"it did not, and the annotations changed twice since": {[]string{byName, "other"}, true, true, reload.Record},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			s.PutSource(configMap("cm", "one", 1), inASnap)
			s.PutSource(configMap("other", "one", 2), inASnap)
			s.PutWorkload(deployment("web", "cm", 3, tc.before...), inASnap)
			compare := func(version int) string {
				f, _ := s.Facts(deployment("web", "", 0).Key)
				w := f.Workload
				if d := reload.Decide(f); d.Action == reload.Record {
					w.ResourceVersion, w.LedgerText = strconv.Itoa(version), d.Ledger.String()
					s.PutWritten(w, &d.Ledger, w.LedgerText)
				}
				s.Compared(&f)
				return w.LedgerText
			}
			text := ""
			if tc.adopts {
				text = compare(4)
			}
			s.PutWorkload(deployment("web", "cm", 7, search, "true", byName, "other", annotations.Ledger, text), live)
			if tc.again {
				s.PutWorkload(deployment("web", "cm", 8, search, "true", byName, "other,more", annotations.Ledger, text), live)
			}
			compare(9)
			// That it matches, and its edit, come before the search, and arrive after it.
			s.PutSource(says(configMap("cm", "one", 5), source.Annotations{Match: true}), live)
			s.PutSource(says(configMap("cm", "two", 6), source.Annotations{Match: true}), live)
			f, _ := s.Facts(deployment("web", "", 0).Key)
			if d := reload.Decide(f); d.Action != tc.want {
				t.Errorf("got %v: %s", d.Action, d.Why)
			}
		})
	}
}

// The watch of a source may lag behind that of the workload, which has a ledger for other sources.
func TestSinceWhenAnotherSourceIsInALedger(t *testing.T) {
	s := New(false)
	web := func(version int, list string) workload.Workload { return deployment("web", "", version, byName, list) }
	s.PutSource(configMap("a", "one", 1), live)
	s.PutSource(configMap("b", "one", 2), live)
	s.PutWorkload(web(3, "a"), inASnap)
	adopt := func() reload.WorkloadSeen {
		f, _ := s.Facts(web(0, "").Key)
		d := reload.Decide(f)
		s.Sending(&f, d.Ledger.String())
		w := f.Workload
		w.ResourceVersion, w.LedgerText = strconv.Itoa(int(f.Version)+1), d.Ledger.String()
		s.PutWorkload(w, live)
		f, _ = s.Facts(w.Key)
		return f.Seen
	}
	if seen := adopt(); seen.AdoptedSources != nil {
		t.Errorf("nothing shows since when it asks for the first: %v", seen.AdoptedSources)
	}
	f, _ := s.Facts(web(0, "").Key)
	both := web(7, "a,b")
	both.LedgerText = f.Workload.LedgerText
	s.PutWorkload(both, live)
	b := source.LocalKey{Kind: source.ConfigMap, Name: "b"}
	if seen := adopt(); seen.Adopted != 0 || len(seen.AdoptedSources) != 1 || seen.AdoptedSources[b] != 7 {
		t.Errorf("it asks for the other since version 7: %d, %v", seen.Adopted, seen.AdoptedSources)
	}
	if seen := adopt(); len(seen.AdoptedSources) != 1 || seen.AdoptedSources[b] != 7 {
		t.Errorf("a later ledger: %v", seen.AdoptedSources)
	}
}

// A Job is recreated with the ledger of the decision, which gets the UID of the new Job later. Data
// may have changed in between, and may change back.
func TestTheLedgerOfARecreatedJobIsFromBefore(t *testing.T) {
	s := New(false)
	job := func(version int, ledgerOf types.UID) workload.Workload {
		w := deployment("load", "cm", version, auto, "true")
		l := ledger.Ledger{UID: ledgerOf, Instance: "key", Writes: 1}
		w.Runs, w.LedgerText = &workload.Runs{Once: true}, l.String()
		return w
	}
	own := job(0, "").UID
	s.PutSource(configMap("cm", "two", 4), live)
	s.PutWorkload(job(5, "earlier"), live)
	s.PutWorkload(job(6, own), live)
	s.PutSource(configMap("cm", "one", 7), live)
	if f, _ := s.Facts(job(0, "").Key); len(f.Concerns) != 1 || f.Concerns[0].Away.Version != 1 {
		t.Errorf("it may have had other data since any version: %+v", f.Concerns)
	}
}

// Another replica writes a ledger, and the watches of workloads and of sources are independent.
func TestAwayAfterTheLedgerOfAnotherReplica(t *testing.T) {
	follows := func(s *State) {
		text := ledger.Ledger{UID: "web", Counter: 2}.String()
		s.PutWorkload(deployment("web", "cm", 25, auto, "true", annotations.Ledger, text), live)
	}
	first, second, third := written("ab", 10, 10), written("xy", 20, 20), written("yz", 28, 28)
	for name, tc := range map[string]struct {
		puts func(s *State)
		want reload.Away
	}{
		"its data arrives later": {func(s *State) {
			follows(s)
			s.PutSource(second, live)
		}, reload.Away{Version: 20, Time: time.Unix(20, 0), Noted: true, Before: first.Digest, Late: true}},
		"its data arrives later, in a snapshot": {func(s *State) {
			follows(s)
			s.PutSource(second, inASnap)
		}, reload.Away{Version: 11, Noted: true, Before: first.Digest, Late: true}},
		"we have compared it since": {func(s *State) {
			follows(s)
			f, _ := s.Facts(deployment("web", "", 0).Key)
			s.Compared(&f)
			s.PutSource(second, live)
		}, reload.Away{Version: 20, Time: time.Unix(20, 0), Noted: true, Before: first.Digest}},
		"the data changes after it": {func(s *State) {
			s.PutSource(second, live)
			follows(s)
			s.PutSource(third, live)
			s.PutSource(written("ab", 30, 30), live)
		}, reload.Away{Version: 28, Time: time.Unix(28, 0), Noted: true, Before: second.Digest}},
		"the same, and what it had arrives later": {func(s *State) {
			follows(s)
			s.PutSource(second, live)
			s.PutSource(third, live)
		}, reload.Away{Version: 20, Time: time.Unix(20, 0), Noted: true, Before: first.Digest, Late: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			s.PutWorkload(deployment("web", "cm", 1, auto, "true"), inASnap)
			s.PutSource(first, inASnap)
			tc.puts(s)
			if f, _ := s.Facts(deployment("web", "", 0).Key); f.Concerns[0].Away != tc.want {
				t.Errorf("got %+v, want %+v", f.Concerns[0].Away, tc.want)
			}
		})
	}
}

// A snapshot shows that data was edited, and is what it was, while a workload is compared with it.
func TestASnapshotDuringAComparisonHidesNoEdit(t *testing.T) {
	s := New(false)
	s.PutWorkload(deployment("web", "cm", 1, auto, "true"), inASnap)
	s.PutSource(written("ab", 10, 10), inASnap)
	f, _ := s.Facts(deployment("web", "", 0).Key)
	s.Compared(&f)
	s.PutSource(written("ab", 30, 30), inASnap)
	s.Compared(&f)
	if f, _ := s.Facts(f.Workload.Key); f.Concerns[0].Away.Version != 11 {
		t.Errorf("got %+v, want it away since 11", f.Concerns[0].Away)
	}
}
