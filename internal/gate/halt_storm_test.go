package gate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

func halt(t *testing.T, text string) Halt {
	t.Helper()
	h, err := ParseHalt(text)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func inNamespace(ns, name string) workload.Key {
	return workload.Key{Kind: "Deployment", Namespace: ns, Name: name}
}

func TestHaltsAreReadAndWritten(t *testing.T) {
	for text, failures := range map[string]int{"50%/20": 10, "100%/1": 1, "1%/20": 1, "51%/20": 11, "34%/3": 2, "off": 0} {
		if h := halt(t, text); h.String() != text || h.Failures() != failures {
			t.Errorf("%s: %s, %d failures", text, h, h.Failures())
		}
	}
	for _, text := range []string{"", "50", "50%", "50/20", "0%/20", "101%/20", "50%/0", "50%/201", "-1%/20", "50%/20/1", "50%/x"} {
		if h, err := ParseHalt(text); err == nil || !strings.Contains(err.Error(), "50%/20") {
			t.Errorf("%q: %s, %v", text, h, err)
		}
	}
	if halt(t, "50%/20") != DefaultHalt() {
		t.Error("it is another default")
	}
}

func TestTooManyFailuresHaltAllReloadsUntilTheyAreFewer(t *testing.T) {
	s := NewStorm(halt(t, "50%/4"))
	other := inNamespace("other", "web")
	for i, ns := range []string{"a", "b", "c", "d"} {
		if !s.Ask(other).Open() {
			t.Fatalf("%d failed, and it waits", i)
		}
		s.Put(inNamespace(ns, "web"), Latest{At: int64(i + 1), Failed: i > 1})
	}
	a := s.Ask(other)
	if a.By != Halted || !a.Stopped || a.Why != "2 of the last 4 reloads in the cluster did not complete (--halt-when-failing=50%/4)" {
		t.Errorf("%+v", a)
	}
	if !s.Ask(inNamespace("d", "web")).Open() {
		t.Error("a workload that failed may not be mended")
	}
	if in, all := s.Halted(); fmt.Sprint(in) != "[c d]" || !all {
		t.Errorf("halted in %v, all: %t", in, all)
	}
	if key, at := s.Newest(); key != inNamespace("d", "web") || at != 4 {
		t.Errorf("%s at %d", key, at)
	}
	for about, ends := range map[string]func(*Storm){
		"it recovers":          func(s *Storm) { s.Put(inNamespace("d", "web"), Latest{At: 4}) },
		"it is reloaded again": func(s *Storm) { s.Put(inNamespace("d", "web"), Latest{At: 5}) },
		"it is deleted":        func(s *Storm) { s.Put(inNamespace("d", "web"), Latest{}) },
		"another is later": func(s *Storm) {
			s.Put(inNamespace("e", "web"), Latest{At: 6})
			s.Put(inNamespace("f", "web"), Latest{At: 7})
			s.Put(inNamespace("g", "web"), Latest{At: 8})
		},
		"a user accepts it":     func(s *Storm) { s.Accept(4) },
		"a user accepts a part": func(s *Storm) { s.Accept(3) },
	} {
		s := NewStorm(halt(t, "50%/4"))
		for i, ns := range []string{"a", "b", "c", "d"} {
			s.Put(inNamespace(ns, "web"), Latest{At: int64(i + 1), Failed: i > 1})
		}
		ends(s)
		if a := s.Ask(other); !a.Open() {
			t.Errorf("%s: %+v", about, a)
		}
	}
}

func TestAnAcceptedFailureIsWorthlessForLaterOnes(t *testing.T) {
	s := NewStorm(halt(t, "50%/2"))
	s.Put(inNamespace("a", "web"), Latest{At: 1, Failed: true})
	s.Accept(1)
	if !s.Ask(inNamespace("b", "web")).Open() {
		t.Fatal("it was accepted")
	}
	s.Put(inNamespace("a", "web"), Latest{At: 2, Failed: true})
	if s.Ask(inNamespace("b", "web")).Open() {
		t.Error("a later failure was not accepted")
	}
}

// A tenant whose workloads all fail must not stop those of the others.
func TestOneNamespaceAloneDoesNotHaltAnother(t *testing.T) {
	s := NewStorm(halt(t, "50%/20"))
	for i := range 20 {
		s.Put(inNamespace("bad", fmt.Sprint(i)), Latest{At: int64(i + 1), Failed: true})
	}
	if !s.Ask(inNamespace("good", "web")).Open() {
		t.Error("it halts all")
	}
	if s.Ask(inNamespace("bad", "new")).Open() {
		t.Error("it does not halt itself")
	}
	if in, all := s.Halted(); fmt.Sprint(in) != "[bad]" || all {
		t.Errorf("halted in %v, all: %t", in, all)
	}
}

func TestAfterARestartItWaitsUntilThePodsHaveBeenListed(t *testing.T) {
	s := NewStorm(halt(t, "50%/4"))
	s.Put(inNamespace("a", "web"), Latest{At: 1, Unsure: true})
	if !s.Ask(inNamespace("x", "web")).Open() {
		t.Error("one cannot be too many")
	}
	s.Put(inNamespace("b", "web"), Latest{At: 2, Failed: true})
	if a := s.Ask(inNamespace("x", "web")); a.Open() || a.Stopped {
		t.Errorf("%+v", a)
	}
	s.Put(inNamespace("a", "web"), Latest{At: 1})
	if !s.Ask(inNamespace("x", "web")).Open() {
		t.Error("it is known")
	}
}

// However reloads come, fail, recover and go: the counts are those of the latest reloads.
func TestWhateverComesTheLatestReloadsCount(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := NewStorm(Halt{Percent: 1 + r.IntN(100), Last: 1 + r.IntN(6)})
		all := map[workload.Key]Latest{}
		accepted := int64(0)
		for step := range 200 {
			key := inNamespace(fmt.Sprint("n", r.IntN(3)), fmt.Sprint(r.IntN(5)))
			switch n := r.IntN(20); {
			case n == 0:
				delete(all, key)
			case n == 1:
				accepted = int64(r.IntN(step + 1))
				s.Accept(accepted)
			case n < 10:
				all[key] = Latest{At: int64(step + 1), Unsure: r.IntN(5) == 0}
			case n < 12 && all[key].At > 1: // an older ledger was restored
				all[key] = Latest{At: 1 + r.Int64N(all[key].At-1)}
			case all[key].At != 0:
				all[key] = Latest{At: all[key].At, Failed: r.IntN(2) == 0}
			}
			if s.Counts(key, all[key].At) {
				s.Put(key, all[key])
			}
			if s.Short() {
				for key, l := range all {
					s.Put(key, l)
				}
				s.Filled()
			}
			judgeStorm(t, seed, s, all, accepted)
		}
	}
}

func judgeStorm(t *testing.T, seed uint64, s *Storm, all map[workload.Key]Latest, accepted int64) {
	t.Helper()
	failed, unsure := map[string]int{}, map[string]int{}
	for key, l := range all {
		later := 0
		for other, at := range all {
			if at.At > l.At || at.At == l.At && workload.CompareKeys(other, key) > 0 {
				later++
			}
		}
		if later >= s.halt.Last || l.At <= accepted {
			continue
		}
		if l.Failed {
			failed[key.Namespace]++
		}
		if l.Unsure {
			unsure[key.Namespace]++
		}
	}
	if fmt.Sprint(failed) != fmt.Sprint(s.failed) || fmt.Sprint(unsure) != fmt.Sprint(s.unsure) {
		t.Fatalf("seed %d: failed %v, unsure %v, want %v and %v", seed, s.failed, s.unsure, failed, unsure)
	}
}

// A restart leaves the outcome of many reloads unknown for a moment. One tenant alone keeps no other
// waiting meanwhile.
func TestReloadsOfUnknownOutcomeWaitWithinTheCapOfTheirNamespace(t *testing.T) {
	s := NewStorm(halt(t, "50%/4"))
	for i := range 4 {
		s.Put(inNamespace("tenant", fmt.Sprint(i)), Latest{At: int64(i + 1), Unsure: true})
	}
	if a := s.Ask(inNamespace("tenant", "web")); a.Open() || a.Stopped {
		t.Errorf("in the namespace of these reloads: %+v", a)
	}
	if a := s.Ask(inNamespace("other", "web")); !a.Open() {
		t.Errorf("in another namespace: %+v", a)
	}
	s.Put(inNamespace("second", "web"), Latest{At: 9, Failed: true})
	if a := s.Ask(inNamespace("other", "web")); a.Open() || a.Stopped {
		t.Errorf("with a failure in a second namespace: %+v", a)
	}
}

// reloadedOnce is a workload whose latest reload is noted in its ledger.
func reloadedOnce(edit func(*workload.Workload, *ledger.Ledger)) workload.Workload {
	w := workload.Workload{Key: inNamespace("shop", "web"), UID: "u", Template: digest.Digest{1}}
	w.Progress = workload.Progress{Observed: true, Wanted: 2, Total: 2, Updated: 1, Overdue: true}
	l := ledger.Ledger{UID: "u", Counter: 1, Marks: w.Marks.DigestAfter(0), Turn: ledger.Turn{At: noon.Unix(), Template: w.Template}}
	if edit != nil {
		edit(&w, &l)
	}
	w.LedgerText = l.String()
	return w
}

func TestWhatCountsAsAFailedReload(t *testing.T) {
	late := Tracked{Following: true, Late: true, Cause: rollout.CauseCrashLoop}
	for about, tc := range map[string]struct {
		edit    func(*workload.Workload, *ledger.Ledger)
		tracked Tracked
		want    Latest
	}{
		"past its deadline":          {nil, late, Latest{At: noon.Unix(), Failed: true}},
		"in progress":                {nil, Tracked{Following: true}, Latest{At: noon.Unix()}},
		"overdue by its status":      {nil, Tracked{}, Latest{At: noon.Unix(), Failed: true}},
		"unknown after a restart":    {nil, Tracked{Following: true, Unsure: true}, Latest{At: noon.Unix(), Unsure: true}},
		"its Pods may not be listed": {nil, Tracked{Following: true, Unlisted: true}, Latest{At: noon.Unix()}},
		"complete":                   {func(w *workload.Workload, _ *ledger.Ledger) { w.RolledOut, w.Progress.Updated = true, 2 }, Tracked{}, Latest{At: noon.Unix()}},
		"aborted":                    {func(w *workload.Workload, _ *ledger.Ledger) { w.Progress.Aborted = true }, Tracked{Following: true}, Latest{At: noon.Unix(), Failed: true}},
		"paused":                     {func(w *workload.Workload, _ *ledger.Ledger) { w.Progress.Paused, w.Progress.Updated = true, 0 }, late, Latest{At: noon.Unix()}},
		"OnDelete":                   {func(w *workload.Workload, _ *ledger.Ledger) { w.Progress.OnDelete, w.Progress.Updated = true, 0 }, late, Latest{At: noon.Unix()}},
		"a partition":                {func(w *workload.Workload, _ *ledger.Ledger) { w.Progress.Partition = 1 }, late, Latest{At: noon.Unix()}},
		"scaled to zero":             {func(w *workload.Workload, _ *ledger.Ledger) { w.Progress = workload.Progress{Observed: true} }, late, Latest{At: noon.Unix()}},
		"broken before":              {func(_ *workload.Workload, l *ledger.Ledger) { l.Turn.Broken = true }, late, Latest{At: noon.Unix()}},
		"another image since":        {func(w *workload.Workload, _ *ledger.Ledger) { w.Template = digest.Digest{2} }, late, Latest{At: noon.Unix()}},
		"another mark since":         {func(w *workload.Workload, _ *ledger.Ledger) { w.Marks.RestartAt = "x"; w.Marks.Rolled = "y" }, late, Latest{At: noon.Unix()}},
		"reloaded again":             {func(_ *workload.Workload, l *ledger.Ledger) { l.Turn.Again = true }, Tracked{Following: true, Unsure: true}, Latest{At: noon.Unix(), Failed: true}},
		"a ledger without a time":    {func(_ *workload.Workload, l *ledger.Ledger) { l.Turn = ledger.Turn{} }, late, Latest{}},
		"a ledger from the future":   {func(_ *workload.Workload, l *ledger.Ledger) { l.Turn.At = noon.Add(time.Hour).Unix() }, late, Latest{}},
		"a copied ledger":            {func(w *workload.Workload, _ *ledger.Ledger) { w.UID = "other" }, late, Latest{}},
		"a Job":                      {func(w *workload.Workload, _ *ledger.Ledger) { w.Runs = &workload.Runs{} }, late, Latest{}},
	} {
		w := reloadedOnce(tc.edit)
		if got := LatestOf(&w, tc.tracked, noon); got != tc.want {
			t.Errorf("%s: %+v, want %+v", about, got, tc.want)
		}
	}
}

func TestAnUrgentChangePassesAHaltAndNoLimit(t *testing.T) {
	closed := Others{Halt: func(workload.Key) Answer { return Answer{By: Halted} }}
	src := source.Source{Annotations: source.Annotations{Waves: annotations.Waves{Urgent: true}.Keep()}}
	plain := reload.Decision{Action: reload.Reload, Changes: []reload.Concern{{}}}
	urgent := reload.Decision{Action: reload.Reload, Changes: []reload.Concern{{}, {Source: src}}}
	f := reload.Facts{Now: noon}
	if a := Check(&f, &plain, closed); a.By != Halted {
		t.Errorf("%+v", a)
	}
	if a := Check(&f, &urgent, closed); !a.Open() {
		t.Errorf("urgent: %+v", a)
	}
	l := withLimit(t, "1/1h")
	urgent.ChurnUntil = noon.Add(time.Hour).Unix()
	if a := Check(&l.facts, &urgent, closed); a.By != Churn {
		t.Errorf("urgent beyond the limit: %+v", a)
	}
}
