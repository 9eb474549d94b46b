package inspect

import (
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/report"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// unseen records why something is unknown if the workload selects sources by an expression, and the
// user may not list sources of that kind.
func (e *Evaluation) unseen(a *Answer) {
	for _, kind := range sourceKinds() {
		if e.unread(kind) && len(a.Workload.Policy.Patterns(kind)) > 0 {
			a.doubt(fmt.Sprintf("it selects %ss by an expression, and you may not list them", kind))
		}
	}
}

// evidence counts, for each source, the Pods that are older than its data, if the answer depends on
// that.
func (e *Evaluation) evidence(a *Answer) {
	for i := range a.Sources {
		src := &a.Sources[i]
		if src.Unread && (src.Verdict.Concerned || src.Verdict.Rule == policy.RuleNoMatchAnnotation) {
			a.doubt(fmt.Sprintf("%s: you may not read %ss", src.Key, src.Key.Kind))
			continue
		}
		if src.Unread && src.Verdict.Rule == policy.RuleNoConsent {
			a.doubt(fmt.Sprintf("%s: %s", src.Key, whyForeignNot(src, a.Workload.Key)))
			continue
		}
		if src.Unread || !src.counts() {
			continue
		}
		switch {
		case a.Pods != nil || src.Content == AsInLedger || src.Content == NotCompared:
		case src.Content == Keyed:
			e.ask(a)
		default:
			// The output shows the Pods if the user may list them, but does not depend on them.
			_, _ = e.list(a)
		}
		if a.Pods == nil || a.unlisted() || src.Skipped {
			continue
		}
		src.Older = 0
		sure := src.Written.Add(source.StartLag)
		if a.Ledger.There && a.Ledger.Err == nil && src.Written.Unix() <= a.Ledger.DataTime {
			// The controller that wrote the ledger had seen this data, so any later rollout brought
			// the data.
			sure = src.Written
		}
		for _, pod := range a.Pods.all {
			if !pod.Created.After(sure) {
				src.Older++
			}
		}
		if src.Content == Keyed && a.Pods.Count > 0 {
			a.doubt(e.incomparable(src, a.Pods))
		}
	}
}

// incomparable returns why nothing is known about a Secret that cannot be compared. If a client
// removes a key, no time of the Secret changes. So nothing is proved even if all Pods are younger
// than these times.
func (e *Evaluation) incomparable(src *Source, pods *Ages) string {
	if pods.Oldest.Before(src.Written) {
		return fmt.Sprintf("%s: %s; %s", src.Key, older(src.Older, pods.Count), e.objects.settings.keyless())
	}
	return fmt.Sprintf("%s cannot be compared: %s", src.Key, e.objects.settings.keyless())
}

// older counts the Pods that may have other data.
func older(n, all int) string { return fmt.Sprintf("%d of %d Pods are older than its data", n, all) }

// keyless returns why Secrets cannot be compared.
func (s *Settings) keyless() string {
	if s.NoKey == "" {
		return "its digest was made with another key"
	}
	return s.NoKey
}

// grace is the time that the controller has for a change after the settle period. After that, the
// change counts as missed.
const grace = 20 * time.Second

// conclude sets the state of the workload.
func (e *Evaluation) conclude(f *reload.Facts, a *Answer) {
	if e.concludeLeftOut(a) || e.concludeDecided(f, a) {
		return
	}
	before := e.olderThanNotification(a)
	switch {
	case !a.Workload.HasRolled():
		e.inProgress(a)
		if a.awaitsSource() {
			a.State, a.Detail = Missing, a.missing()
		}
	case before != "":
		a.State, a.Since = OutOfDate, time.Unix(a.Ledger.NotifiedAt, 0)
		a.Detail = fmt.Sprintf("since %s: %s", e.objects.settings.ago(a.Since, e.now), before)
	case len(a.Missing) > 0:
		a.State, a.Detail = Missing, a.missing()
	case len(a.Unknown) > 0:
		a.State, a.Detail = Unknown, a.Unknown[0]
	case !a.Ledger.There && len(f.Concerns) > 0:
		a.State, a.Detail = Waiting, "for a controller to record its sources"+e.objects.settings.unattended(e.now)
	}
}

// concludeLeftOut sets the state of a workload that the controller does not reload, and reports
// whether it is one.
func (e *Evaluation) concludeLeftOut(a *Answer) bool {
	w, s := &a.Workload, e.objects.settings
	_, left := e.objects.parentOf(w.Key)
	switch {
	case w.LeftAlone != "":
		a.State, a.Detail = NotOptedIn, w.LeftAlone
	case !w.Policy.OptedIn(s.Rules.AutoReloadAll):
		a.State, a.Detail = NotOptedIn, "nothing rolls it"
	case left, w.Deleting:
		a.State, a.Detail = NotOptedIn, a.LeftOut
	case a.LeftOut != "" && len(s.Beside) > 0:
		a.State, a.Detail = Unknown, a.LeftOut+", and another controller may watch it"
		a.doubt(a.Detail)
	case a.LeftOut != "":
		a.State, a.Detail = OutOfDate, "because "+a.LeftOut
	default:
		return false
	}
	return true
}

// concludeDecided sets the state if it follows from the decision of the controller alone, and
// reports whether it does.
func (e *Evaluation) concludeDecided(f *reload.Facts, a *Answer) bool {
	d := &a.Decision
	switch {
	case d.TooNew:
		a.State, a.Detail = Unknown, d.Why
		a.doubt(d.Why)
	case d.LeftTo != "" && d.Behind:
		a.State, a.Detail = Waiting, "for another controller: "+d.Why
	case d.LeftTo != "":
		a.State, a.Detail = Unknown, d.Why+"; add --controller-namespace="+d.LeftTo
		a.doubt(a.Detail)
	case d.Reverted != nil:
		a.State = Reverted
		a.Detail = fmt.Sprintf("by %s: %d of %d Pods are older than %s", d.Reverted.By(), d.Reverted.Old, d.Reverted.All, d.Reverted.Source)
	case d.Action == reload.Reload && a.Gate.By == gate.Notify:
		a.Since = d.Changes[len(d.Changes)-1].Source.DataTime
		a.State, a.Detail = OutOfDate, fmt.Sprintf("since %s: %s, and %s", e.objects.settings.ago(a.Since, e.now), d.Why, a.Gate.Why)
	case d.Action == reload.Reload && !a.Gate.Open() && !e.objects.settings.gone(e.now):
		a.waits(e.now.Location())
	case d.Action == reload.Reload:
		e.pending(f, a)
	case d.Action == reload.AwaitRun && a.Workload.Runs.Begun:
		a.State, a.Detail = Waiting, "for it to be resumed: "+d.Why
	case d.Action == reload.AwaitRun:
		a.State, a.Detail = Waiting, "for its Job to end: "+d.Why
	case d.Action == reload.ListPods && len(a.Missing) == 0:
		a.State, a.Detail = Unknown, "the age of its Pods decides, and you may not list them"
	default:
		return false
	}
	return true
}

// inProgress sets the state for a rollout in progress, with the cause if the object or the Pods
// show it. A stuck rollout is out of date if its purpose is to bring data, and not if another
// client changed only the image.
func (e *Evaluation) inProgress(a *Answer) {
	w := &a.Workload
	a.State, a.Detail = InProgress, fmt.Sprintf("%d of %d", w.Progress.Updated, w.Progress.Wanted)
	outcome, behind := e.outcome(a)
	purpose, _ := rollout.Purpose(&w.Progress)
	if purpose != "" {
		outcome.Cause = purpose
		behind = behind || purpose != rollout.CausePausePeriod && e.keepsPrevious(a)
	}
	if purpose == rollout.CausePausePeriod {
		a.State, a.Cause, a.Detail = Waiting, purpose, "while "+report.Because(w, outcome)
		return
	}
	if behind && (purpose != "" || outcome.Cause == rollout.CauseAborted) {
		a.State, a.Detail = OutOfDate, "with "+a.Detail+" Pods updated"
	}
	if purpose == "" && a.State == InProgress && outcome.Exceeds(w, a.Pods.of(w), e.now) {
		a.State = Stuck
	}
	if outcome.Cause == "" || outcome.Cause == rollout.CauseUnknown {
		if a.State == Stuck {
			a.Detail += ": its deadline has passed"
		}
		return
	}
	a.Cause = outcome.Cause
	a.Detail += ": " + oneLine(report.Because(w, outcome))
}

// outcome returns the result of the latest reload, as far as the user may read the Pods. behind
// reports whether some Pods may be older than the reload.
func (e *Evaluation) outcome(a *Answer) (o rollout.Outcome, behind bool) {
	if a.Ledger.There && a.Ledger.Err == nil && a.Ledger.Counter == 0 {
		return o, false
	}
	w := &a.Workload
	pursuit, ok := rollout.LatestReload(w)
	if a.Pods == nil {
		_, _ = e.list(a) // without the Pods, no cause is known
	}
	switch {
	case a.Pods == nil, !ok && (a.unlisted() || !a.Ledger.There || a.Ledger.Err != nil):
		return o, true
	case !ok:
		// Another client started this rollout. The rollout has brought the data, or only another
		// image.
		return o, e.keepsPrevious(a)
	}
	o = pursuit.PodsOutcome(w, a.Pods.of(w))
	if o.Cause == rollout.CauseNotFound {
		o.Cause = "" // for all answers that depend on Pods, the answer reports that none were found
	}
	return o, o.Old > 0 || o.NotFound
}

// of returns the Pods that the workload created.
func (p *Ages) of(w *workload.Workload) []rollout.Pod {
	if p == nil {
		return nil // they were not listed
	}
	var own []rollout.Pod
	for i := range p.all {
		if w.MadeBy(&p.all[i].owners) {
			own = append(own, p.all[i].running)
		}
	}
	return own
}

// pending sets the state for a change that the controller has not processed.
func (e *Evaluation) pending(f *reload.Facts, a *Answer) {
	last := a.Decision.Changes[len(a.Decision.Changes)-1]
	a.Since = last.Source.DataTime
	if last.Deleted {
		a.Since = e.now
	}
	s := e.objects.settings
	// If an edit removes keys, the object does not record its time. The edit may have been made
	// just now.
	recent := !e.longAgo(a.Since, &f.Workload) || !last.Source.DataTime.After(time.Unix(a.Ledger.DataTime, 0)) && a.Ledger.There && s.alive(e.now)
	if recent && !s.gone(e.now) { // without a controller, nothing follows the settle period
		a.State, a.Detail = Waiting, fmt.Sprintf("to settle (%s): %s%s", policy.Short(s.Rules.SettlePeriod(&f.Workload)), a.Decision.Why, s.unattended(e.now))
		return
	}
	a.State, a.Detail = OutOfDate, fmt.Sprintf("since %s: %s, and %s", s.ago(a.Since, e.now), a.Decision.Why, s.inaction(e.now))
}

// longAgo reports whether the change is so old that the controller must have processed it.
func (e *Evaluation) longAgo(t time.Time, w *workload.Workload) bool {
	return e.now.Sub(t) > e.objects.settings.Rules.Longest(w)+grace
}

// unattended returns what to add to a state that waits for the controller, if none is known to run.
func (s *Settings) unattended(now time.Time) string {
	switch {
	case s.gone(now):
		return "; no controller runs"
	case s.Controller == "":
		return "; no controller was found"
	default:
		return ""
	}
}

// inaction returns the likely reason why the controller has not acted.
func (s *Settings) inaction(now time.Time) string {
	switch {
	case s.Silent:
		return "no controller runs"
	case s.life(now) == lifeEnded:
		return "the controller was last active " + s.ago(s.Heard, now)
	case s.Controller == "":
		return "no controller has acted"
	case s.Rules.NotifyOnly:
		return "the receiver has not accepted the message; see the log of the controller"
	default:
		return "the controller has not acted; see its log"
	}
}
