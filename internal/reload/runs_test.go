package reload

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

func held(counter int64, uid types.UID, entry byte) workload.OwnRun {
	src := source.LocalKey{Kind: source.ConfigMap, Name: "report"}
	ledger := ledger.Ledger{UID: "u", Counter: counter, Entries: map[source.LocalKey]digest.Digest{src: {entry}}}
	return workload.OwnRun{Name: "report-1", UID: uid, Counter: counter, LedgerText: ledger.String(), Held: true}
}

func begun(run workload.OwnRun) workload.OwnRun {
	run.Held = false
	return run
}

func TestWhichHeldRunBegins(t *testing.T) {
	for about, tc := range map[string]struct {
		ledger   ledger.Ledger
		runs     workload.Runs
		want     bool
		optedOut bool
	}{
		"the ledger tells of it":                          {ledger.Ledger{UID: "u", Counter: 3, Run: "job"}, workload.Runs{}, true, false},
		"the user wants no run now":                       {ledger.Ledger{UID: "u", Counter: 3, Run: "job"}, workload.Runs{Suspended: true}, false, false},
		"another run has come before it":                  {ledger.Ledger{UID: "u", Counter: 3, Run: "job"}, workload.Runs{Alone: true, Beside: []string{"other"}}, false, false},
		"the ledger does not tell of it yet":              {ledger.Ledger{UID: "u", Counter: 2, Run: "before"}, workload.Runs{}, false, false},
		"it has landed late, when another one was made":   {ledger.Ledger{UID: "u", Counter: 3, Run: "other"}, workload.Runs{}, false, false},
		"the ledger is that of another object":            {ledger.Ledger{UID: "copied", Counter: 3, Run: "job"}, workload.Runs{}, false, false},
		"the ledger has come to tell of one, made before": {ledger.Ledger{UID: "u", Counter: 3}, workload.Runs{}, false, false},
		"the workload is opted out":                       {ledger.Ledger{UID: "u", Counter: 3, Run: "job"}, workload.Runs{}, false, true},
	} {
		t.Run(about, func(t *testing.T) {
			tc.runs.Own = []workload.OwnRun{held(3, "job", 1)}
			f := Facts{Workload: workload.Workload{UID: "u", LedgerText: tc.ledger.String(), Runs: &tc.runs}, Settings: Settings{AutoReloadAll: !tc.optedOut}}
			if run, ok := f.RunToUnsuspend(); ok != tc.want || ok && run.UID != "job" {
				t.Errorf("%v, %v", run, ok)
			}
		})
	}
	noted := ledger.Ledger{UID: "u", Counter: 3, Run: "job"}
	before := Facts{Workload: workload.Workload{UID: "u", LedgerText: noted.String(), Runs: &workload.Runs{Own: []workload.OwnRun{begun(held(3, "job", 1))}}}}
	if run, ok := before.RunToUnsuspend(); ok {
		t.Errorf("%v begins once more", run)
	}
	f := Facts{Workload: workload.Workload{UID: "u", Runs: &workload.Runs{Own: []workload.OwnRun{held(3, "job", 1)}}}, Remembered: noted.String(), Settings: Settings{AutoReloadAll: true}}
	if _, ok := f.RunToUnsuspend(); !ok {
		t.Error("the ledger was taken away, and nobody remembered")
	}
}

func TestAHeldRunIsNoted(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	src := source.Source{Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "report"}, Digest: digest.Digest{2}, Created: at, DataTime: at.Add(time.Hour), EditedAt: at.Add(time.Hour).Unix()}
	ledger := func(counter int64, entry byte) string {
		l := ledger.Ledger{UID: "u", Counter: counter, Entries: map[source.LocalKey]digest.Digest{src.Key.Local(): {entry}}, DataTime: at.Unix()}
		return l.String()
	}
	for about, tc := range map[string]struct {
		standing string
		run      workload.OwnRun
		want     Action
		found    bool
		counter  int64
		entry    byte
	}{
		"whoever made it has ended":                       {ledger(2, 1), held(3, "job", 2), Reload, true, 3, 2},
		"and the content was changed back":                {ledger(2, 2), held(3, "job", 3), Record, true, 3, 3},
		"and the content was changed again":               {ledger(2, 1), held(3, "job", 3), Reload, true, 3, 3},
		"the ledger was taken away since":                 {"", held(3, "job", 2), Reload, true, 3, 2},
		"the ledger was set back since":                   {ledger(1, 1), held(3, "job", 2), Reload, true, 3, 2},
		"it has run, and the ledger was taken away since": {"", begun(held(3, "job", 2)), Record, true, 3, 2},
		"it is noted": {ledger(3, 2), held(3, "job", 2), Nothing, false, 0, 0},
		"it is noted, and there is another change":               {ledger(3, 1), held(3, "job", 1), Reload, false, 4, 2},
		"what it carries is damaged":                             {ledger(2, 2), workload.OwnRun{Counter: 3, Held: true, LedgerText: "{"}, Nothing, false, 0, 0},
		"what it carries is of an object that had the same name": {ledger(2, 2), workload.OwnRun{Counter: 3, Held: true, LedgerText: `{"v":1,"uid":"x","n":3}`}, Nothing, false, 0, 0},
	} {
		t.Run(about, func(t *testing.T) {
			d := decided(t, Facts{
				Workload: workload.Workload{UID: "u", LedgerText: tc.standing, RolledOut: true, OptedInAt: at, Runs: &workload.Runs{Last: at, Own: []workload.OwnRun{tc.run}},
					References: []workload.Reference{{Key: src.Key.Local()}}},
				Concerns:     []Concern{{Source: src, Verdict: policy.Verdict{Concerned: true, Rule: policy.RuleAuto}}},
				Installation: Installation{Installed: at},
			})
			if d.Action != tc.want || d.Found != tc.found || d.Ledger.Counter != tc.counter || d.Ledger.Entries[src.Key.Local()] != (digest.Digest{tc.entry}) {
				t.Fatalf("%s with %v (%s), found %v", d.Action, d.Ledger, d.Why, d.Found)
			}
			if tc.found != (d.Ledger.Run == "job") {
				t.Errorf("the ledger tells of %q", d.Ledger.Run)
			}
		})
	}
	told := decided(t, Facts{
		Workload: workload.Workload{UID: "u", LedgerText: ledger(2, 1), Runs: &workload.Runs{Last: at, Own: []workload.OwnRun{held(3, "job", 2)}}, References: []workload.Reference{{Key: src.Key.Local()}}},
		Concerns: []Concern{{Source: src, Verdict: policy.Verdict{Concerned: true, Rule: policy.RuleAuto}}}, Installation: Installation{Installed: at}, Settings: Settings{NotifyOnly: true},
	})
	if told.Action != Record || !told.Found || len(told.Changes) != 0 || told.Ledger.Run != "job" {
		t.Errorf("somebody else is told of changes: %s with %v (%s)", told.Action, told.Ledger, told.Why)
	}
	// Nobody is opted in any more. What was made is noted all the same.
	if d := decided(t, Facts{Workload: workload.Workload{UID: "u", Runs: &workload.Runs{Own: []workload.OwnRun{held(3, "job", 2)}}}}); d.Action != Record || !d.Found {
		t.Errorf("%s (%s)", d.Action, d.Why)
	}
}

// The template of such a workload begins no run, so that it is newer than the content proves
// nothing.
func TestAChangedTemplateStartsNoRun(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	src := source.Source{Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "report"}, Digest: digest.Digest{2}, Created: at, DataTime: at.Add(time.Hour)}
	known := ledger.Ledger{UID: "u", Counter: 3, Entries: map[source.LocalKey]digest.Digest{src.Key.Local(): {1}}, DataTime: at.Unix()}
	d := decided(t, Facts{
		Workload: workload.Workload{UID: "u", LedgerText: known.String(), RolledOut: true, Runs: &workload.Runs{Last: at}, References: []workload.Reference{{Key: src.Key.Local()}}},
		Seen:     WorkloadSeen{Template: 9, Since: 2, Compared: true},
		Concerns: []Concern{{Source: src, Seen: SourceSeen{Content: 8, Edited: true, Version: 8}, Verdict: policy.Verdict{Concerned: true, Rule: policy.RuleAuto}}},
	})
	if d.Action != Reload {
		t.Errorf("%s (%s)", d.Action, d.Why)
	}
}

func TestAChangeUnderAWorkloadThatRunsAndEnds(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	src := source.Source{Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "report"}, Digest: digest.Digest{2}, Created: at, DataTime: at.Add(time.Hour)}
	known := ledger.Ledger{UID: "u", Counter: 3, Entries: map[source.LocalKey]digest.Digest{src.Key.Local(): {1}}, DataTime: at.Unix()}
	for about, tc := range map[string]struct {
		runs    workload.Runs
		want    Action
		counter int64
	}{
		"it has last run before the change":                                {workload.Runs{Last: at}, Reload, 4},
		"it has last run a second after it":                                {workload.Runs{Last: src.DataTime.Add(time.Second)}, Reload, 4},
		"it has run with the content":                                      {workload.Runs{Last: src.DataTime.Add(time.Minute)}, Record, 3},
		"it has run since, and the API server noted no time of the change": {workload.Runs{Last: at.Add(2 * time.Hour)}, Reload, 4},
		"it is suspended":                                                  {workload.Runs{Last: at, Suspended: true}, Record, 3},
		"it is suspended, and had begun":                                   {workload.Runs{Last: at, Begun: true}, AwaitRun, 0},
		"a run is under way, and no other may be beside":                   {workload.Runs{Last: at, Alone: true, Beside: []string{"report-1"}}, AwaitRun, 0},
		"none is under way":                                                {workload.Runs{Last: at, Alone: true}, Reload, 4},
	} {
		t.Run(about, func(t *testing.T) {
			known := known
			var seen SourceSeen
			if strings.HasSuffix(about, "noted no time of the change") {
				known.DataTime, seen = src.DataTime.Unix(), SourceSeen{Content: 8, Edited: true, Version: 8}
			}
			d := decided(t, Facts{
				Workload:     workload.Workload{UID: "u", LedgerText: known.String(), RolledOut: true, Runs: &tc.runs, References: []workload.Reference{{Key: src.Key.Local()}}},
				Concerns:     []Concern{{Source: src, Seen: seen, Verdict: policy.Verdict{Concerned: true, Rule: policy.RuleAuto}}},
				Installation: Installation{Installed: at},
			})
			if d.Action != tc.want || d.Ledger.Counter != tc.counter {
				t.Fatalf("%s with counter %d (%s), want %s with %d", d.Action, d.Ledger.Counter, d.Why, tc.want, tc.counter)
			}
			if tc.want == AwaitRun {
				return
			}
			if now := d.Ledger.Entries[src.Key.Local()]; now != src.Digest || !d.Ledger.Marks.IsZero() {
				t.Errorf("the ledger has %v, and marks %v", now, d.Ledger.Marks)
			}
		})
	}
}

// The API server notes no times about an object that was made without any field that somebody owns.
func TestAnEditWithoutATimeIsSeenByNoRun(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	source := source.Source{Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "report"}, Digest: digest.Digest{2}, Created: at, DataTime: at}
	facts := Facts{
		Workload:     workload.Workload{UID: "u", RolledOut: true, Runs: &workload.Runs{Last: at.Add(time.Hour)}, References: []workload.Reference{{Key: source.Key.Local()}}},
		Seen:         WorkloadSeen{Since: 2},
		Concerns:     []Concern{{Source: source, Seen: SourceSeen{Content: 8, Edited: true, Timeless: true, Version: 8}, Verdict: policy.Verdict{Concerned: true, Rule: policy.RuleAuto}}},
		Installation: Installation{Installed: at},
	}
	if d := decided(t, facts); d.Action != Reload {
		t.Errorf("%s (%s)", d.Action, d.Why)
	}
	facts.Concerns[0].Source.DataTime, facts.Concerns[0].Seen.Timeless = at.Add(time.Minute), false
	if d := decided(t, facts); d.Action != Record {
		t.Errorf("with a time: %s (%s)", d.Action, d.Why)
	}
}

// Times are whole seconds, and a kubelet needs some. The order of versions proves which data a run
// of ours has read.
func TestARunThatBeganAfterAChangeHasIt(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	src := source.Source{Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "report"}, Digest: digest.Digest{2}, Created: at, DataTime: at.Add(time.Hour)}
	known := ledger.Ledger{UID: "u", Counter: 3, Entries: map[source.LocalKey]digest.Digest{src.Key.Local(): {1}}, DataTime: at.Unix()}
	seen := WorkloadSeen{Template: 12, Since: 2, Compared: true, TemplateReverted: true}
	for about, tc := range map[string]struct {
		once  bool
		since uint64
		seen  WorkloadSeen
		want  Action
	}{
		"it began after it":                          {false, 9, seen, Record},
		"it may have begun before":                   {false, 7, seen, Reload},
		"nobody saw when it began":                   {false, 0, seen, Reload},
		"no version of the Job itself proves it":     {true, 9, WorkloadSeen{Since: 2}, Reload},
		"the Job itself may have begun before":       {true, 7, WorkloadSeen{Since: 2}, Reload},
		"the Job itself was seen to begin after it":  {true, 0, WorkloadSeen{Template: 9, Since: 2}, Record},
		"the Job itself was seen to begin before it": {true, 0, WorkloadSeen{Template: 7, Since: 2}, Reload},
	} {
		t.Run(about, func(t *testing.T) {
			d := decided(t, Facts{
				Workload: workload.Workload{UID: "u", LedgerText: known.String(), RolledOut: true, References: []workload.Reference{{Key: src.Key.Local()}},
					Runs: &workload.Runs{Once: tc.once, Last: src.DataTime.Add(time.Second), Since: tc.since}},
				Seen:     tc.seen,
				Concerns: []Concern{{Source: src, Seen: SourceSeen{Content: 8, Edited: true, Version: 8}, Verdict: policy.Verdict{Concerned: true, Rule: policy.RuleAuto}}},
			})
			if d.Action != tc.want {
				t.Errorf("%s (%s)", d.Action, d.Why)
			}
		})
	}
}

// jobWhoseContentWasAway are the facts of a Job that began a minute after a time. An hour after
// that time, its source had other data for two seconds.
func jobWhoseContentWasAway() (f Facts, at time.Time) {
	at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	src := source.Source{Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "load"}, Digest: digest.Digest{2}, Created: at, DataTime: at.Add(time.Hour + 2*time.Second)}
	known := ledger.Ledger{UID: "u", Counter: 3, Entries: map[source.LocalKey]digest.Digest{src.Key.Local(): {2}}, DataTime: at.Unix()}
	return Facts{
		Workload: workload.Workload{UID: "u", LedgerText: known.String(), RolledOut: true, Runs: &workload.Runs{Once: true, Last: at.Add(time.Minute)}, References: []workload.Reference{{Key: src.Key.Local()}}},
		Concerns: []Concern{{
			Source: src, Seen: SourceSeen{Content: 9, Edited: true, Version: 9}, Away: Away{Version: 8, Time: at.Add(time.Hour), Noted: true},
			Verdict: policy.Verdict{Concerned: true, Rule: policy.RuleAuto},
		}},
		Seen: WorkloadSeen{Template: 5, Since: 5, Compared: true}, Installation: Installation{Installed: at},
	}, at
}

// A pod that takes the place of a lost one begins later than its Job, and may have read what was
// there for a moment.
func TestAPodOfAJobThatBeganWhileTheContentWasAway(t *testing.T) {
	f, at := jobWhoseContentWasAway()
	if d := decided(t, f); d.Action != ListPods {
		t.Fatalf("%s (%s), want its pods to be asked", d.Action, d.Why)
	}
	for about, tc := range map[string]struct {
		created time.Time
		want    Action
	}{
		"all are from before":     {at.Add(time.Minute), Record},
		"one began in between":    {at.Add(time.Hour + time.Second), Reload},
		"one began when it ended": {at.Add(2 * time.Hour), Record},
	} {
		f.Pods = &Pods{}
		f.Pods.Add(StartedPod{Name: "load-1", Created: tc.created, Started: tc.created})
		if d := decided(t, f); d.Action != tc.want {
			t.Errorf("%s: %s (%s), want %s", about, d.Action, d.Why, tc.want)
		}
	}
	f.Pods = &Pods{}
	f.Workload.Runs.LastAtLeast = true
	if d := decided(t, f); d.Action != Reload {
		t.Errorf("its Pods may have begun later than it, and have succeeded: %s (%s)", d.Action, d.Why)
	}
}

// The status of a run that was created suspended, and has succeeded, does not show whether Pods of it have
// succeeded before that. So it may have begun at its creation, or when it was resumed.
func TestARunThatWasResumedWhileTheContentWasAway(t *testing.T) {
	f, at := jobWhoseContentWasAway()
	f.Workload.Key.Kind, f.Workload.Runs.Once, f.Workload.Runs.Listed = "CronJob", false, true
	for about, tc := range map[string]struct {
		resumed time.Time
		want    Action
	}{
		"it was not resumed":               {time.Time{}, Record},
		"it was resumed before":            {at.Add(time.Minute), Record},
		"it was resumed while it was away": {at.Add(time.Hour + time.Second), Reload},
		"it was resumed when it came back": {at.Add(2 * time.Hour), Reload},
	} {
		f.Workload.Runs.Resumed = tc.resumed
		if d := decided(t, f); d.Action != tc.want {
			t.Errorf("%s: %s (%s), want %s", about, d.Action, d.Why, tc.want)
		}
	}
}

// A Pod that has succeeded is not replaced. The Job has ended with the data of that Pod.
func TestAPodOfAJobThatSucceededWithContentThatWasAway(t *testing.T) {
	f, at := jobWhoseContentWasAway()
	for about, tc := range map[string]struct {
		started time.Time
		phase   corev1.PodPhase
		want    Action
	}{
		"it started before":                     {at.Add(time.Minute), corev1.PodSucceeded, Record},
		"it started in between":                 {at.Add(time.Hour + time.Second), corev1.PodSucceeded, Reload},
		"it started in between, and has failed": {at.Add(time.Hour + time.Second), corev1.PodFailed, Record},
		"it started long after":                 {at.Add(2 * time.Hour), corev1.PodSucceeded, Record},
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "load-1", ResourceVersion: "10", CreationTimestamp: metav1.NewTime(tc.started)}, Spec: corev1.PodSpec{Containers: make([]corev1.Container, 1)}}
		pod.Status.Phase = tc.phase
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: metav1.NewTime(tc.started)}}}}
		f.Pods = &Pods{}
		f.Pods.Take(pod, &f.Workload)
		if d := decided(t, f); d.Action != tc.want || f.Pods.Count != 0 {
			t.Errorf("%s: %s (%s), want %s; %d Pods run", about, d.Action, d.Why, tc.want, f.Pods.Count)
		}
	}
}

func TestWhenItMattersWhenTheScheduleHasRun(t *testing.T) {
	away := []Concern{{Away: Away{Version: 8}}}
	for about, tc := range map[string]struct {
		runs     *workload.Runs
		concerns []Concern
		action   Action
		want     bool
	}{
		"a run is to be made":                      {&workload.Runs{}, nil, Reload, true},
		"a run is to be made after another one":    {&workload.Runs{}, nil, AwaitRun, true},
		"nothing is to be done":                    {&workload.Runs{}, nil, Nothing, false},
		"nothing, and data were away for a while":  {&workload.Runs{}, away, Nothing, true},
		"a ledger, and data were away for a while": {&workload.Runs{}, away, Record, true},
		"the same, of a suspended CronJob":         {&workload.Runs{Suspended: true}, away, Record, false},
		"a run of it waits":                        {&workload.Runs{Suspended: true, Own: []workload.OwnRun{{Held: true}}}, away, Record, true},
		"a Job is to be made again":                {&workload.Runs{Once: true}, away, Reload, false},
		"a workload is to be rolled":               {nil, away, Reload, false},
	} {
		f := Facts{Workload: workload.Workload{Runs: tc.runs}, Concerns: tc.concerns}
		if f.NeedsBegin(Decision{Action: tc.action}) != tc.want {
			t.Errorf("%s: want %t", about, tc.want)
		}
	}
}
