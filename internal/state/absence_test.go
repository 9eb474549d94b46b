package state

import (
	"cmp"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/reload"
)

func TestASourceThatAWorkloadWasComparedWithout(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	key := deployment("web", "", 0).Key
	compare := func(s *State) {
		f, _ := s.Facts(key)
		s.Compared(&f)
	}
	for name, tc := range map[string]struct {
		puts func(s *State)
		want reload.Away
	}{
		"it is created": {func(s *State) { s.PutSource(written("b", 7, 70), live) },
			reload.Away{Version: 7, Time: at(70), Noted: true, Made: true}},
		"it is created, and becomes at once what it was before": {func(s *State) {
			s.PutSource(written("b", 7, 70), live)
			s.PutSource(written("a", 8, 70), live)
		}, reload.Away{Version: 7, Time: at(70), Noted: true, Made: true}},
		"it is created while the workload is compared": {func(s *State) {
			f, _ := s.Facts(key)
			s.PutSource(written("b", 7, 70), live)
			s.Compared(&f)
		}, reload.Away{Version: 7, Time: at(70), Noted: true, Made: true}},
		"it is created, and the workload is compared": {func(s *State) {
			s.PutSource(written("b", 7, 70), live)
			compare(s)
		}, reload.Away{}},
		"nobody saw it created": {func(s *State) { s.PutSource(written("b", 7, 70), inASnap) },
			reload.Away{Version: 6, Noted: true, Made: true}},
		"it was there before the comparison, and its watch was not": {func(s *State) { s.PutSource(written("b", 4, 40), inASnap) },
			reload.Away{Version: 6, Noted: true, Made: true}},
		"the same, and the workload is compared with it": {func(s *State) {
			s.PutSource(written("b", 4, 40), inASnap)
			compare(s)
		}, reload.Away{}},
		"it was deleted before the comparison, and nobody saw it created": {func(s *State) {
			s.PutSource(written("a", 7, 70), live)
			compare(s)
			s.DeleteSource(written("a", 9, 70).Key, reload.Departure{Version: 9})
			s.PutWorkload(deployment("web", "cm", 10, auto, "true"), live)
			compare(s)
			s.PutSource(written("b", 12, 120), inASnap)
		}, reload.Away{Version: 11, Noted: true, Made: true}},
		"it was edited, deleted before the comparison, and created again": {func(s *State) {
			s.PutSource(written("a", 7, 70), live)
			compare(s)
			s.PutSource(written("b", 8, 80), live)
			s.DeleteSource(written("b", 9, 80).Key, reload.Departure{Version: 9})
			compare(s)
			s.PutSource(written("a", 10, 90), live)
		}, reload.Away{Version: 8, Time: at(80), Noted: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			s.PutWorkload(deployment("web", "cm", 5, auto, "true"), inASnap)
			compare(s)
			tc.puts(s)
			f, _ := s.Facts(key)
			if len(f.Concerns) != 1 || whenAway(&f) != tc.want {
				t.Errorf("got %+v, want %+v", f.Concerns, tc.want)
			}
		})
	}
}

// A source may have had other data between two snapshots that show the same data.
func TestASourceIsRecreatedBetweenSnapshotsBeforeAnyComparison(t *testing.T) {
	for name, tc := range map[string]struct {
		uid  types.UID
		gone bool
		data string
		want reload.Away
	}{
		"another source":            {"recreated", false, "a", reload.Away{Version: 4, Noted: true, Made: true}},
		"its deletion was seen":     {"recreated", true, "a", reload.Away{Version: 5, Noted: true, Made: true}},
		"so was that of other data": {"recreated", true, "b", reload.Away{Version: 4, Noted: true, Made: true}},
		"the same":                  {"", false, "a", reload.Away{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			s.PutWorkload(deployment("web", "cm", 5, auto, "true"), inASnap)
			s.PutSource(written(tc.data, 3, 30), inASnap)
			if tc.gone {
				s.DeleteSource(written(tc.data, 5, 30).Key, reload.Departure{Version: 5})
			}
			again := written("a", 9, 30)
			again.UID = cmp.Or(tc.uid, again.UID)
			s.PutSource(again, inASnap)
			f, _ := s.Facts(deployment("web", "", 0).Key)
			if len(f.Concerns) != 1 || whenAway(&f) != tc.want {
				t.Errorf("got %+v, want %+v", f.Concerns, tc.want)
			}
		})
	}
}

func TestAUnionWhoseDeletionWasSeenIsBackInASnapshotBeforeAnyComparison(t *testing.T) {
	s := New(false)
	named := map[types.NamespacedName]struct{}{{Name: "a"}: {}}
	s.PutSource(bundleOf("a", "x", "live", 1), inASnap)
	s.KeepBundles(named, 2)
	s.PutWorkload(trusting("shop", "web", "", "live", 3, false), live)
	s.DeleteSource(bundleOf("a", "", "", 0).Key, reload.Departure{Version: 12})
	s.PutSource(bundleOf("a", "x", "live", 20), inASnap)
	s.KeepBundles(named, 21)
	want := reload.Away{Version: 12, Noted: true, Made: true}
	if f, _ := s.Facts(key("shop", "web")); len(f.Concerns) != 1 || whenAway(&f) != want {
		t.Errorf("got %+v, want %+v", f.Concerns, want)
	}
}

func TestANarrowerPolicyLeavesWhatChangedBefore(t *testing.T) {
	// A Job that has ended is opted in by its own annotations alone, which asks for less than
	// before.
	s := New(true)
	job := deployment("web", "cm", 5, byName, "cm")
	s.PutWorkload(job, live)
	ended := deployment("web", "cm", 6, byName, "cm")
	ended.Policy = ended.Policy.ByItself()
	s.PutWorkload(ended, live)
	if f, _ := s.Facts(job.Key); f.Seen.Policy != 5 {
		t.Errorf("the policy counts as widened in version %d", f.Seen.Policy)
	}
	s.PutWorkload(deployment("web", "cm", 7, byName, "cm,other"), live)
	if f, _ := s.Facts(job.Key); f.Seen.Policy != 7 {
		t.Errorf("a further name counts from version %d on, want 7", f.Seen.Policy)
	}
}

func TestPodsMayHaveStartedWhileASourceDidNotExist(t *testing.T) {
	for name, tc := range map[string]struct {
		optional bool
		want     reload.Away
	}{
		"the reference is optional": {true, reload.Away{Version: 8, Noted: true}},
		"pods wait for the source":  {false, reload.Away{Version: 9, Time: time.Unix(90, 0), Noted: true}},
	} {
		s := New(false)
		web := deployment("web", "cm", 5, auto, "true")
		web.References[0].Uses[0].Optional = tc.optional
		s.PutSource(written("ab", 4, 40), inASnap)
		s.PutWorkload(web, inASnap)
		f, _ := s.Facts(web.Key)
		s.Compared(&f)
		s.DeleteSource(written("ab", 8, 40).Key, reload.Departure{Version: 8})
		s.PutSource(written("xy", 9, 90), live)
		s.PutSource(written("ab", 10, 100), live)
		if f, _ := s.Facts(web.Key); whenAway(&f) != tc.want {
			t.Errorf("%s: left %+v, want %+v", name, f.Concerns[0].Away, tc.want)
		}
	}
}
