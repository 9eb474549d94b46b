package reload

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/workload"
)

// podsOf are the Pods that show whether they have the data, nil if they have to be listed. For
// runs, the start time is enough, except for data that the Pods themselves report and for data that
// differed for a while: a Pod that replaces a lost one starts later than its run, and may have
// succeeded since.
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
		for _, pod := range slices.Concat(f.Pods.all, f.Pods.succeeded) {
			p.Add(pod)
		}
		return p
	}
}

// podsOfLatest are the Pods of the latest run. Later runs read the current data anyway.
func podsOfLatest(r *workload.Runs) *Pods {
	p := &Pods{}
	pod := StartedPod{Created: r.Last, Started: r.Last}
	if r.Resumed.After(r.Last) {
		pod.Started = r.Resumed
	}
	if r.LastAtLeast {
		pod.Started = time.Time{}
	}
	p.Add(pod)
	return p
}

// rollouts is what was observed about the start of the Pods. A change of the template starts no
// run, so it proves nothing for runs. Unsuspending a Job does start one. For a Job that a user
// created nothing shows it: Kubernetes records the start after it has created the first Pods.
func (f *Facts) rollouts() WorkloadSeen {
	seen := f.Seen
	r := f.Workload.Runs
	if r == nil || r.Once {
		return seen
	}
	seen.Template, seen.Since, seen.TemplateReverted = r.Since, 0, false
	if f.NotifyOnly {
		seen.Template = 0 // a receiver is notified of changes after a Job was created, even if that Job has read them
	}
	return seen
}

// runs decides on a change for a workload whose Pods run to completion.
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
		next.Step, _ = f.step(next.Step, changes) // a doubt about marks applies to a mark that has to stay
		next.Marks, next.Run = digest.Digest{}, ""
		return Decision{Action: Reload, Why: changedSentence(changes), Changes: changes, Ledger: next, Restores: base.restore}
	}
}

// NeedsBegin reports whether a decision depends on when the latest scheduled run began. The status
// has the time for which that run was scheduled, but Kubernetes may have created it later, because
// another run or the CronJob controller delayed it. Such a run has read a change that seems to be
// later, and may have read data that existed only for a while. While the CronJob is suspended and
// no run of ours waits, the data is recorded anyway.
func (f *Facts) NeedsBegin(d Decision) bool {
	r := f.Workload.Runs
	if r == nil || r.Once || r.Suspended && !r.Holds() {
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

// note decides on a run that the ledger does not record. The run exists and starts, so no receiver
// is notified of the change for which it was created.
func (f *Facts) note(changes []Concern, run workload.OwnRun, ledger ledger.Ledger) Decision {
	d := Decision{Action: Record, Why: "a Job was created for it that its ledger does not record", Ledger: ledger, Found: true}
	if run.Held && len(changes) > 0 && !f.NotifyOnly {
		d.Action, d.Why, d.Changes = Reload, changedSentence(changes)+", and a Job is created", changes
	}
	return d
}

// RunToUnsuspend returns the run to unsuspend now, if any: the ledger records it, and no setting of
// the user holds it. Another run with the same counter came late, for a change for which that run
// was created.
func (f *Facts) RunToUnsuspend() (workload.OwnRun, bool) {
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

// owesRuns reports whether a created run still has to begin. That does not apply after the workload
// was opted out.
func (f *Facts) owesRuns() bool {
	return f.Workload.Runs == nil || f.Workload.Runs.Once || f.Workload.Policy.OptedIn(f.AutoReloadAll)
}

// disown records that the ledger must drop a held run that must not start any more. Otherwise the
// run would begin when the workload is opted in again, long after the change.
func (f *Facts) disown(base base, t *tally) {
	t.disowned = f.Workload.Runs.Holds() && base.ledger.Run != "" && !f.owesRuns()
}

// Late are the suspended runs that Reroll will not unsuspend: the ledger records another run for
// the same change, or a later run, or the workload was opted out.
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
