package reload

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// RunLabel is on every Job that we have made, with the counter of the reload.
const RunLabel = "reroll.dev/run"

// Runs is what matters of a workload whose pods come and go in runs. It is not
// rolled: a reload is one more run.
type Runs struct {
	// Suspended tells that the user wants no run now.
	Suspended bool
	// Begun tells that the user has suspended it and that resuming it begins nothing
	// anew: pods are left, some of them have succeeded, or all has ended.
	Begun bool
	// Once tells that the workload itself is the only run: it is made anew for
	// another one, and so is its template.
	Once bool
	// Alone tells that no two runs may be at the same time, and Beside are those
	// that have not ended then.
	Alone  bool
	Beside []string
	// Last is when the latest run began. Of what has never run it is when the
	// workload was made.
	Last time.Time
	// Since is a version of the API server after which a run began, 0 if none is known. What was written before it, that run has read.
	Since uint64
	// Own are the runs that we have made.
	Own []OwnRun
}

// OwnRun is a run that we have made. It carries the ledger that belongs to it, so
// that whoever finds it can write that: a run is owed from when it is made.
type OwnRun struct {
	Name       string
	UID        types.UID
	Counter    int64
	LedgerText string
	// Held tells that it has not begun: it does not before the ledger of the
	// workload tells of it.
	Held bool
}

// Notable returns why the ledger that a run carries cannot be written, nil if it
// can be. Counter is that of the reload for which the run was made.
func (r *OwnRun) Notable(w *Workload, counter int64) error {
	if _, err := readLedger(r.LedgerText, w); err != nil {
		return fmt.Errorf("its annotation %s cannot be taken over: %w", LedgerAnnotation, err)
	}
	if r.Counter < counter {
		return fmt.Errorf("its label %s has %d, must be %d", RunLabel, r.Counter, counter)
	}
	return nil
}

// Equal tells that nothing differs that a decision depends on.
func (r *Runs) Equal(other *Runs) bool {
	if r == nil || other == nil {
		return r == other
	}
	return r.Suspended == other.Suspended && r.Begun == other.Begun && r.Alone == other.Alone && len(r.Beside) == len(other.Beside)
}

// Resumes reports whether a workload that was suspended begins to run with another state of it.
func (r *Runs) Resumes(now *Runs) bool {
	return r != nil && now != nil && r.Suspended && !now.Suspended
}

// holds tells that a run waits to begin.
func (r *Runs) holds() bool {
	return r != nil && slices.ContainsFunc(r.Own, func(run OwnRun) bool { return run.Held })
}

// podsOf are the pods that tell whether they have a content, nil if they are to be
// asked for. Of what runs and ends it is enough to know when, but for content of
// which the pods themselves say what they have, and for content that was another
// one meanwhile: a pod that takes the place of a lost one begins later than its run.
func (f *Facts) podsOf(c *Concern) *Pods {
	switch r := f.Workload.Runs; {
	case r == nil:
		return f.Pods
	case !r.Once:
		return podsOfLatest(r)
	case c.Source.Key.Kind.Reported() && (f.Pods == nil || f.Pods.report(c)):
		return f.Pods
	case c.Source.Key.Kind.Reported() || !c.wasAway():
		return podsOfLatest(r)
	case f.Pods == nil:
		return nil
	default:
		p := podsOfLatest(r)
		for _, pod := range f.Pods.all {
			p.Add(pod)
		}
		return p
	}
}

// podsOfLatest are those of the latest run. Whatever runs later reads the content of then
// by itself.
func podsOfLatest(r *Runs) *Pods {
	p := &Pods{}
	p.Add(StartedPod{Created: r.Last, Started: r.Last})
	return p
}

// rollouts is what was seen of the pods' beginning. Another template begins no run,
// so of what runs and ends it says nothing. What begins one is the release of a Job.
func (f *Facts) rollouts() WorkloadSeen {
	seen := f.Seen
	r := f.Workload.Runs
	switch {
	case r == nil || r.Once && (f.TellsOnly || r.Since <= seen.Template):
		return seen
	case r.Once:
		seen.Template, seen.Returned = r.Since, false // it was suspended, or had only been made
		return seen
	}
	seen.Template, seen.Since, seen.Returned = r.Since, 0, false
	if f.TellsOnly {
		seen.Template = 0 // a receiver is told of what changed after a Job was made, also if that Job has read it
	}
	return seen
}

// runs is what follows from a change for a workload whose pods run and end.
func (f *Facts) runs(changes []Concern, base base, next Ledger) Decision {
	switch r := f.Workload.Runs; {
	case r.Suspended:
		return Decision{Action: Record, Why: changedSentence(changes) + "; it is suspended, and has the present content when it runs", Ledger: next, Restores: base.restore}
	case r.Begun:
		return Decision{Action: AwaitRun, Why: changedSentence(changes) + "; it is suspended, and its pods have begun with what there was before", Changes: changes}
	case len(r.Beside) > 0:
		return Decision{Action: AwaitRun, Why: changedSentence(changes) + "; the end of Job " + r.Beside[0] + " is awaited, beside which it must not run", Changes: changes}
	default:
		next.Counter++
		next.Step, _ = f.step(next.Step, changes) // what speaks against a mark speaks against one that has to stay
		next.Marks, next.Run = Digest{}, ""
		return Decision{Action: Reload, Why: changedSentence(changes), Changes: changes, Ledger: next, Restores: base.restore}
	}
}

// NeedsBegin reports whether a decision depends on when the latest run of the schedule began. The status has the time for which that
// run was due: Kubernetes may have made it later, because it had to wait for another one or because its controller did. Such a run
// has read a change that seems to be later, and may have read data that were away only for a while.
func (f *Facts) NeedsBegin(d Decision) bool {
	r := f.Workload.Runs
	if r == nil || r.Once {
		return false
	}
	return d.Action == Reload || d.Action == AwaitRun || slices.ContainsFunc(f.Concerns, func(c Concern) bool { return c.wasAway() })
}

// unnoted is the latest run that was made, if the ledger does not tell of it:
// whoever made it has ended in between, or the ledger was set back since. It
// returns the ledger that has to be written.
func (f *Facts) unnoted(base base) (run OwnRun, ledger Ledger, ok bool) {
	if f.Workload.Runs == nil {
		return run, ledger, false
	}
	for _, run := range slices.Backward(f.Workload.Runs.Own) {
		ledger, err := readLedger(run.LedgerText, &f.Workload)
		if err == nil && run.Counter <= MaxCounter && (base.err != nil || run.Counter > base.ledger.Counter) {
			ledger.Counter, ledger.Run = run.Counter, run.UID
			return run, ledger, true
		}
	}
	return run, ledger, false
}

// note is what follows from a run that the ledger does not tell of. It is there and
// begins, so that nobody else is told of what it was made for.
func (f *Facts) note(changes []Concern, run OwnRun, ledger Ledger) Decision {
	d := Decision{Action: Record, Why: "a Job was made for it that its ledger does not tell of", Ledger: ledger, Found: true}
	if run.Held && len(changes) > 0 && !f.TellsOnly {
		d.Action, d.Why, d.Changes = Reload, changedSentence(changes)+", and a Job is made", changes
	}
	return d
}

// Release returns the run that is to begin now, if there is one: the ledger tells
// of it, and nothing that the user has asked for keeps it. Another one that was
// made under the counter of the ledger has landed late, for a change for which that
// one was made.
func (f *Facts) Release() (OwnRun, bool) {
	r := f.Workload.Runs
	if r == nil || r.Suspended || len(r.Beside) > 0 || !f.owesRuns() {
		return OwnRun{}, false
	}
	known := f.known()
	i := slices.IndexFunc(r.Own, func(run OwnRun) bool { return run.Held && known.err == nil && run.UID == known.ledger.Run })
	if i < 0 {
		return OwnRun{}, false
	}
	return r.Own[i], true
}

// owesRuns reports whether a run that was made is still to begin. Nobody wants one of a workload that is opted out meanwhile.
func (f *Facts) owesRuns() bool {
	return f.Workload.Runs == nil || f.Workload.Runs.Once || f.Workload.Policy.OptedIn(f.AutoReloadAll)
}

// disown notes that the ledger has to forget a run that waits and is not owed any more. Without that, the run would begin when
// the workload is opted in again, long after the change.
func (f *Facts) disown(base base, t *tally) {
	t.disowned = f.Workload.Runs.holds() && base.ledger.Run != "" && !f.owesRuns()
}

// Late are the runs that wait and are not let go any more: the ledger tells of
// another one that was made for what they were made for, or of a later one, or
// the workload was opted out.
func (f *Facts) Late() []OwnRun {
	known := f.known()
	if f.Workload.Runs == nil || known.err != nil {
		return nil
	}
	var late []OwnRun
	for _, run := range f.Workload.Runs.Own {
		if run.Held && run.Counter <= known.ledger.Counter && run.UID != known.ledger.Run {
			late = append(late, run)
		}
	}
	return late
}

// Sort orders the runs by when they were decided on.
func (r *Runs) Sort() {
	slices.SortFunc(r.Own, func(a, b OwnRun) int { return cmp.Compare(a.Counter, b.Counter) })
}
