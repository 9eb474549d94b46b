package state

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

func rolledOut(w workload.Workload) workload.Workload {
	w.RolledOut = true
	return w
}

// unobserved is rolled out by a status without the generation that it is about.
func unobserved(w workload.Workload) workload.Workload {
	w.Unobserved = true
	return rolledOut(w)
}

func TestATemplateWithRemainingPodsCameBack(t *testing.T) {
	one := func(version int) workload.Workload { return deployment("web", "one", version, auto, "true") }
	two := func(version int) workload.Workload { return deployment("web", "two", version, auto, "true") }
	for name, tc := range map[string]struct {
		puts func(s *State) (looked bool)
		back bool
	}{
		"it came back in the middle of a rollout": {func(s *State) bool {
			s.PutWorkload(rolledOut(one(1)), inASnap)
			s.PutWorkload(two(2), live)
			return s.PutWorkload(one(3), live)
		}, true},
		"it came back after the rollout": {func(s *State) bool {
			s.PutWorkload(rolledOut(one(1)), inASnap)
			s.PutWorkload(two(2), live)
			s.PutWorkload(rolledOut(two(3)), live)
			s.PutWorkload(one(4), live)
			return true
		}, false},
		"another one came in the middle of a rollout": {func(s *State) bool {
			s.PutWorkload(rolledOut(one(1)), inASnap)
			s.PutWorkload(two(2), live)
			return s.PutWorkload(deployment("web", "three", 3, auto, "true"), live)
		}, false},
		"nobody saw the rollout begin": {func(s *State) bool {
			s.PutWorkload(one(1), inASnap)
			return s.PutWorkload(two(2), live)
		}, true},
		"nobody saw the template change": {func(s *State) bool {
			s.PutWorkload(rolledOut(one(1)), live)
			return s.PutWorkload(two(5), inASnap)
		}, true},
		"a gap in which nothing changed": {func(s *State) bool {
			s.PutWorkload(rolledOut(one(1)), live)
			s.PutWorkload(rolledOut(one(5)), inASnap)
			return true
		}, false},
		"it came back under a status that says nothing of the template": {func(s *State) bool {
			s.PutWorkload(unobserved(one(1)), inASnap)
			s.PutAnswer(unobserved(two(2)))
			return s.PutWorkload(unobserved(one(3)), live)
		}, true},
		"the same, after a gap": {func(s *State) bool {
			s.PutWorkload(unobserved(one(1)), inASnap)
			s.PutAnswer(unobserved(two(2)))
			s.PutWorkload(unobserved(two(3)), inASnap)
			return s.PutWorkload(unobserved(one(4)), live)
		}, true},
		"another one came under such a status": {func(s *State) bool {
			s.PutWorkload(unobserved(one(1)), inASnap)
			s.PutAnswer(unobserved(two(2)))
			s.PutWorkload(unobserved(two(3)), inASnap)
			return s.PutWorkload(unobserved(deployment("web", "three", 4, auto, "true")), live)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			looked := tc.puts(s)
			f, _ := s.Facts(one(0).Key)
			if f.Seen.TemplateReverted != tc.back || tc.back && !looked {
				t.Errorf("came back: %t, looked at: %t", f.Seen.TemplateReverted, looked)
			}
			f.Pods = &reload.Pods{}
			s.Compared(&f)
			if f, _ := s.Facts(one(0).Key); f.Seen.TemplateReverted || f.Seen.Trusted != f.Workload.MarksDigest() {
				t.Error("the pods were asked, and it is doubted still")
			}
		})
	}
}

func TestARolloutThatNeverEndsDoesNotFillTheMemory(t *testing.T) {
	s := New(false)
	for i := range 2 * maxRecent {
		s.PutWorkload(deployment("web", "cm-"+strconv.Itoa(i), i+1, auto, "true"), live)
	}
	f, _ := s.Facts(deployment("web", "", 0).Key)
	if len(f.Seen.Recent) > maxRecent || f.Seen.Whole {
		t.Errorf("%d templates are kept, and whole is %t", len(f.Seen.Recent), f.Seen.Whole)
	}
}

func TestTemplatesWithManySourcesDoNotFillTheMemory(t *testing.T) {
	s := New(false)
	for i := range 30 {
		w := deployment("web", "cm-"+strconv.Itoa(i), i+1, auto, "true")
		for n := range 100 {
			ref := w.References[0]
			ref.Key.Name = fmt.Sprintf("cm-%d-%d", i, n)
			w.References = append(w.References, ref)
		}
		s.PutWorkload(w, live)
	}
	f, _ := s.Facts(deployment("web", "", 0).Key)
	if len(f.Seen.Referenced) > maxReferenced || f.Seen.Whole || !f.Seen.TemplateReverted {
		t.Errorf("%d sources are kept, and whole is %t: Pods have to be listed", len(f.Seen.Referenced), f.Seen.Whole)
	}
}

// written is a ConfigMap with a key for each letter, and the time at which its content was written.
func written(letters string, version int, second int64) source.Source {
	data := map[string]string{}
	for _, letter := range letters {
		data[string(letter)] = "value"
	}
	src := source.FromConfigMap(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cm", UID: "cm", ResourceVersion: strconv.Itoa(version)},
		Data:       data,
	}, annotations.DefaultNames())
	src.DataTime, src.EditedAt, src.Untracked = time.Unix(second, 0), second, false
	return src
}

func TestWhenAContentLeft(t *testing.T) {
	at := func(second int64) time.Time { return time.Unix(second, 0) }
	ledger := func(counter int64) string { return ledger.Ledger{UID: "web", Counter: counter}.String() }
	web := func(version int, ledger string) workload.Workload {
		return deployment("web", "cm", version, auto, "true", annotations.Ledger, ledger)
	}
	for name, tc := range map[string]struct {
		puts func(s *State)
		want reload.Away
	}{
		"it did not": {func(s *State) { s.PutSource(written("ab", 6, 60), live) }, reload.Away{}},
		"it did":     {func(s *State) { s.PutSource(written("xy", 7, 70), live) }, reload.Away{Version: 7, Time: at(70), Noted: true}},
		"and came back": {func(s *State) {
			s.PutSource(written("xy", 7, 70), live)
			s.PutSource(written("ab", 8, 80), live)
		}, reload.Away{Version: 7, Time: at(70), Noted: true}},
		"and came back by taking a key away, which leaves no time": {func(s *State) {
			s.PutSource(written("abc", 7, 70), live)
			s.PutSource(written("ab", 8, 50), live)
		}, reload.Away{Version: 7, Time: at(70)}},
		"it left by taking a key away":                     {func(s *State) { s.PutSource(written("a", 7, 50), live) }, reload.Away{Version: 6}},
		"it was never compared with what was there before": {func(s *State) { s.PutSource(written("xy", 7, 70), live) }, reload.Away{Version: 1, Noted: true}},
		"nobody saw when":                                  {func(s *State) { s.PutSource(written("xy", 9, 70), inASnap) }, reload.Away{Version: 6, Noted: true}},
		"nobody saw whether":                               {func(s *State) { s.PutSource(written("ab", 9, 70), inASnap) }, reload.Away{Version: 6, Noted: true}},
		"a manager has lost its label to another one, and owns only data now": {func(s *State) {
			mixed := written("ab", 6, 60)
			mixed.EditedAt = 50
			s.PutSource(mixed, live)
			s.PutSource(written("ab", 9, 60), inASnap)
		}, reload.Away{}},
		"the workload was compared since": {func(s *State) {
			s.PutSource(written("xy", 7, 70), live)
			f, _ := s.Facts(deployment("web", "", 0).Key)
			s.Compared(&f)
		}, reload.Away{}},
		"it changed while the workload was compared": {func(s *State) {
			s.PutSource(written("xy", 7, 70), live)
			f, _ := s.Facts(deployment("web", "", 0).Key)
			s.PutSource(written("z", 8, 80), live)
			s.Compared(&f)
		}, reload.Away{Version: 8}},
		"another instance has compared": {func(s *State) {
			s.PutWorkload(web(6, ledger(1)), live)
			s.PutSource(written("xy", 7, 70), live)
			s.PutWorkload(web(8, ledger(2)), live)
		}, reload.Away{}},
		"another instance has compared, and the data changed again since, which is shown first": {func(s *State) {
			s.PutWorkload(web(6, ledger(1)), live)
			s.PutSource(written("xy", 7, 70), live)
			s.PutSource(written("ab", 9, 90), live)
			s.PutWorkload(web(8, ledger(2)), live)
		}, reload.Away{Version: 9}},
		"another instance has compared for the first time": {func(s *State) {
			s.PutSource(written("xy", 7, 70), live)
			s.PutWorkload(web(8, ledger(1)), live)
		}, reload.Away{}},
		"the ledger was set back": {func(s *State) {
			s.PutWorkload(web(6, ledger(2)), live)
			s.PutSource(written("xy", 7, 70), live)
			s.PutWorkload(web(8, ledger(1)), live)
		}, reload.Away{Version: 7, Time: at(70), Noted: true}},
		"the ledger was taken away": {func(s *State) {
			s.PutWorkload(web(6, ledger(2)), live)
			s.PutSource(written("xy", 7, 70), live)
			s.PutWorkload(web(8, ""), live)
		}, reload.Away{Version: 7, Time: at(70), Noted: true}},
		"the ledger was taken away, and put back as it was before": {func(s *State) {
			w := web(6, ledger(2))
			s.PutWorkload(w, live)
			s.Remember(&w, ledger(2))
			s.PutSource(written("xy", 7, 70), live)
			s.PutWorkload(web(8, ""), live)
			s.PutWorkload(web(9, ledger(1)), live)
		}, reload.Away{Version: 7, Time: at(70), Noted: true}},
		"somebody wrote nonsense": {func(s *State) {
			s.PutSource(written("xy", 7, 70), live)
			s.PutWorkload(web(8, "nonsense"), live)
		}, reload.Away{Version: 7, Time: at(70), Noted: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			s.PutWorkload(deployment("web", "cm", 1, auto, "true"), inASnap)
			s.PutSource(written("ab", 5, 50), live)
			if f, _ := s.Facts(deployment("web", "", 0).Key); name != "it was never compared with what was there before" {
				s.Compared(&f)
			}
			tc.puts(s)
			f, _ := s.Facts(deployment("web", "", 0).Key)
			if got := whenAway(&f); got != tc.want {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
		})
	}
}

// whenAway is without the data of before.
func whenAway(f *reload.Facts) reload.Away {
	away := f.Concerns[0].Away
	away.Before = digest.Digest{}
	return away
}

func TestDataThatChangesAndRevertsDuringAWrite(t *testing.T) {
	s := New(false)
	web := func(version int, ledger string) workload.Workload {
		return rolledOut(deployment("web", "cm", version, auto, "true", annotations.Ledger, ledger))
	}
	s.PutWorkload(web(1, "before"), live)
	s.PutSource(written("ab", 3, 50), live)
	f, _ := s.Facts(web(0, "").Key)
	s.Sending(&f, "ours")
	// It lands as version 4. Before anything is heard of it, another content comes and goes.
	s.PutSource(written("xy", 5, 60), live)
	s.PutSource(written("ab", 6, 70), live)
	s.PutWorkload(web(4, "ours"), live)
	f, _ = s.Facts(web(0, "").Key)
	if got := f.Concerns[0].Away.Version; got != 4 && got != 5 {
		t.Errorf("it left in version %d, want 4 or 5: pods of the rollout may have the other content", got)
	}
}

// The ledger of a write that was refused says nothing about the one before it, of which nothing was
// heard yet.
func TestARejectedWriteKeepsThePreviousOne(t *testing.T) {
	s := New(false)
	web := func(version int, ledger string) workload.Workload {
		return rolledOut(deployment("web", "cm", version, auto, "true", annotations.Ledger, ledger))
	}
	s.PutWorkload(web(1, "before"), live)
	s.PutSource(written("ab", 2, 50), live)
	f, _ := s.Facts(web(0, "").Key)
	s.Sending(&f, "first")
	s.PutSource(written("xy", 3, 60), live)
	f, _ = s.Facts(web(0, "").Key)
	refused := s.Sending(&f, "second")
	refused()
	// The first has landed as version 4, and its pods may have started before the content is back.
	s.PutSource(written("ab", 5, 70), live)
	s.PutWorkload(web(4, "first"), live)
	f, _ = s.Facts(web(0, "").Key)
	if got := f.Concerns[0].Away.Version; got != 3 {
		t.Errorf("it left in version %d, want 3", got)
	}
}

// To undo a rollout puts back the ledger of the revision before. It is no write of ours that lands late,
// even if a later write is rejected after the watch has shown the one in between.
func TestALedgerThatIsPutBackIsNoLateWrite(t *testing.T) {
	s := New(false)
	numbered := func(counter int64) string { return ledger.Ledger{UID: "web", Counter: counter}.String() }
	web := func(version int, ledger string) workload.Workload {
		return rolledOut(deployment("web", "cm", version, auto, "true", annotations.Ledger, ledger))
	}
	sends := func(counter int64) (refused func()) {
		f, _ := s.Facts(webKey())
		return s.Sending(&f, numbered(counter))
	}
	lands := func(version int, counter int64) {
		w := web(version, numbered(counter))
		s.PutWorkload(w, live)
		s.Remember(&w, numbered(counter))
	}
	s.PutWorkload(web(1, ""), live)
	s.PutSource(written("ab", 2, 50), live)
	sends(1)
	lands(3, 1)
	s.PutSource(written("xy", 4, 60), live)
	sends(2)
	refused := sends(3) // the watch has not shown the one before
	lands(5, 2)
	refused()
	s.PutWorkload(web(6, numbered(1)), live)
	f, _ := s.Facts(webKey())
	if got := f.Concerns[0].Away; got != (reload.Away{}) {
		t.Errorf("it was away: %+v", got)
	}
}

// The ledger of a write without a response may arrive after the next write has begun.
func TestALaterWriteDoesNotHideThePreviousOne(t *testing.T) {
	s := New(false)
	web := func(version int, ledger string) workload.Workload {
		return rolledOut(deployment("web", "cm", version, auto, "true", annotations.Ledger, ledger))
	}
	s.PutWorkload(web(1, "before"), live)
	s.PutSource(written("ab", 2, 50), live)
	s.PutSource(written("xy", 3, 60), live)
	f, _ := s.Facts(web(0, "").Key)
	for i := range 2 * maxUnanswered {
		s.Sending(&f, strconv.Itoa(i))
	}
	s.PutWorkload(web(4, strconv.Itoa(2*maxUnanswered-2)), live)
	f, _ = s.Facts(web(0, "").Key)
	if f.Concerns[0].Away != (reload.Away{}) || !f.Seen.Compared {
		t.Errorf("compared: %t, and it left with %+v", f.Seen.Compared, f.Concerns[0].Away)
	}
	if kept := len(s.workloads[f.Workload.Key].sending.before); kept != 0 {
		t.Errorf("%d other writes are kept, which have no effect any more", kept)
	}
}

func TestAJobBeginsWhenItIsUnsuspended(t *testing.T) {
	s := New(false)
	job := func(version int, suspended bool) workload.Workload {
		w := deployment("web", "cm", version, auto, "true")
		w.Runs = &workload.Runs{Once: true, Suspended: suspended}
		return w
	}
	s.PutWorkload(job(5, true), live)
	s.PutWorkload(job(8, false), live)
	s.PutWorkload(job(9, false), live)
	if f, _ := s.Facts(job(0, false).Key); f.Seen.Template != 8 {
		t.Errorf("its pods count as those of version %d, want 8", f.Seen.Template)
	}
}

func TestWhenPodsWereFirstReady(t *testing.T) {
	s := New(false)
	web := func(version int, ready int32) workload.Workload {
		w := deployment("web", "cm", version, auto, "true")
		w.Progress = workload.Progress{Observed: true, Wanted: 1, Total: 1, Updated: 1, Ready: ready}
		return w
	}
	s.PutWorkload(web(5, 0), live)
	s.PutWorkload(web(6, 1), live)
	s.PutWorkload(web(7, 0), live)
	s.PutWorkload(web(8, 1), inASnap)
	if f, _ := s.Facts(web(0, 0).Key); f.Seen.Ready != 6 {
		t.Errorf("they count from version %d on, want 6", f.Seen.Ready)
	}
}

func TestTheTimeOfAnEditOutlivesItsFieldManagers(t *testing.T) {
	dropped := func(letters, uid string) source.Source {
		src := written(letters, 7, 0)
		src.UID, src.Untracked = types.UID(uid), true
		return src
	}
	before, mixed := written("ab", 6, 60), written("ab", 6, 60)
	mixed.EditedAt = 50
	for name, tc := range map[string]struct {
		before, then    source.Source
		second          int64
		edited, watched int64
	}{
		"somebody drops them":               {before, dropped("ab", "cm"), 60, 60, 60},
		"the data differ":                   {before, dropped("xy", "cm"), 0, 0, 0},
		"it is another object of that name": {before, dropped("ab", "another"), 0, 0, 0},
		"the time is a later one, and a watch shows that the write edited nothing": {before, written("ab", 7, 70), 70, 70, 60},
		"its manager has lost a label to another one, and owns only data now":      {mixed, written("ab", 7, 60), 60, 60, 60},
	} {
		for watched, edited := range map[bool]int64{inASnap: tc.edited, live: tc.watched} {
			s := New(false)
			s.PutSource(tc.before, inASnap)
			s.PutSource(tc.then, watched)
			got, _ := s.Source(before.Key)
			if got.DataTime.Unix() != tc.second || got.EditedAt != edited {
				t.Errorf("%s, live %t: %d, %d", name, watched, got.DataTime.Unix(), got.EditedAt)
			}
		}
	}
}

// The Pods were asked while a source was missing. It returns with the data that it had when it was
// deleted, which the Pods of the earlier template need not have.
func TestPodsAreAskedAgainAboutADeletedSource(t *testing.T) {
	for name, deleted := range map[string]bool{"it is deleted": true, "it exists": false} {
		t.Run(name, func(t *testing.T) {
			web := func(refersTo string, version int) workload.Workload {
				return deployment("web", refersTo, version, auto, "true")
			}
			cm := configMap("cm", "one", 1)
			s := New(false)
			s.PutSource(cm, live)
			s.PutWorkload(web("cm", 2), inASnap)
			s.PutWorkload(web("other", 3), live)
			if deleted {
				s.DeleteSource(cm.Key, reload.Departure{Version: 4})
			}
			s.PutWorkload(web("cm", 5), live)
			f, _ := s.Facts(web("", 0).Key)
			f.Pods = &reload.Pods{}
			s.Compared(&f)
			if f, _ = s.Facts(f.Workload.Key); f.Seen.TemplateReverted != deleted {
				t.Errorf("its Pods may be of before: %t, want %t", f.Seen.TemplateReverted, deleted)
			}
		})
	}
}
