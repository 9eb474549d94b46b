package reload

import (
	"slices"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/workload"
)

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

// podsOfLatest are those of the latest run. Whatever runs later reads the data of then
// by itself.
func podsOfLatest(r *workload.Runs) *Pods {
	p := &Pods{}
	p.Add(StartedPod{Created: r.Last, Started: r.Last})
	return p
}

// rollouts is what was seen of the pods' beginning. Another template begins no run,
// so of what runs and ends it says nothing. What begins one is the release of a Job. Of a
// Job that a user has made nothing shows it: Kubernetes notes its begin after it has made
// the first Pods.
func (f *Facts) rollouts() WorkloadSeen {
	seen := f.Seen
	r := f.Workload.Runs
	if r == nil || r.Once {
		return seen
	}
	seen.Template, seen.Since, seen.Returned = r.Since, 0, false
	if f.NotifyOnly {
		seen.Template = 0 // a receiver is notified of what changed after a Job was created, also if that Job has read it
	}
	return seen
}

// runs is what follows from a change for a workload whose pods run and end.
func (f *Facts) runs(changes []Concern, base base, next ledger.Ledger) Decision {
	switch r := f.Workload.Runs; {
	case r.Suspended:
		return Decision{Action: Record, Why: changedSentence(changes) + "; it is suspended, and uses the current data when it runs", Ledger: next, Restores: base.restore}
	case r.Begun:
		return Decision{Action: AwaitRun, Why: changedSentence(changes) + "; it is suspended, and its Pods started with the previous data", Changes: changes}
	case len(r.Beside) > 0:
		return Decision{Action: AwaitRun, Why: changedSentence(changes) + "; waiting for the end of Job " + r.Beside[0] + ", because concurrencyPolicy is Forbid", Changes: changes}
	default:
		next.Counter++
		next.Step, _ = f.step(next.Step, changes) // what speaks against a mark speaks against one that has to stay
		next.Marks, next.Run = digest.Digest{}, ""
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

// unnoted is the latest run that was created, if the ledger does not record it: the controller
// ended in between, or the ledger was reverted since. It returns the ledger to write.
func (f *Facts) unnoted(base base) (run workload.OwnRun, l ledger.Ledger, ok bool) {
	if f.Workload.Runs == nil {
		return run, l, false
	}
	for _, run := range slices.Backward(f.Workload.Runs.Own) {
		l, err := workload.ReadLedger(run.LedgerText, &f.Workload)
		if err == nil && run.Counter <= ledger.MaxCounter && (base.err != nil || run.Counter > base.ledger.Counter) {
			l.Counter, l.Run = run.Counter, run.UID
			return run, l, true
		}
	}
	return run, l, false
}

// note is what follows from a run that the ledger does not record. It exists and starts, so that no
// receiver is notified of the change for which it was created.
func (f *Facts) note(changes []Concern, run workload.OwnRun, ledger ledger.Ledger) Decision {
	d := Decision{Action: Record, Why: "a Job was created for it that its ledger does not record", Ledger: ledger, Found: true}
	if run.Held && len(changes) > 0 && !f.NotifyOnly {
		d.Action, d.Why, d.Changes = Reload, changedSentence(changes)+", and a Job is created", changes
	}
	return d
}

// Release returns the run to unsuspend now, if there is one: the ledger records it, and nothing
// that the user asked for holds it. Another run under the same counter of the ledger came late, for
// a change for which that run was created.
func (f *Facts) Release() (workload.OwnRun, bool) {
	r := f.Workload.Runs
	if r == nil || r.Suspended || len(r.Beside) > 0 || !f.owesRuns() {
		return workload.OwnRun{}, false
	}
	known := f.known()
	i := slices.IndexFunc(r.Own, func(run workload.OwnRun) bool { return run.Held && known.err == nil && run.UID == known.ledger.Run })
	if i < 0 {
		return workload.OwnRun{}, false
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
	t.disowned = f.Workload.Runs.Holds() && base.ledger.Run != "" && !f.owesRuns()
}

// Late are the suspended runs that Reroll does not unsuspend any more: the ledger records another
// run for the same change, or a later run, or the workload was opted out.
func (f *Facts) Late() []workload.OwnRun {
	known := f.known()
	if f.Workload.Runs == nil || known.err != nil {
		return nil
	}
	var late []workload.OwnRun
	for _, run := range f.Workload.Runs.Own {
		if run.Held && run.Counter <= known.ledger.Counter && run.UID != known.ledger.Run {
			late = append(late, run)
		}
	}
	return late
}
