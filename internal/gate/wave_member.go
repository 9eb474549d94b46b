package gate

import (
	"errors"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// State is the state of a workload with regard to the present data of one source.
type State uint8

// The states.
const (
	// Waiting means that the workload has not been rolled with the data.
	Waiting State = iota
	// Running means that its rollout is in progress, or that it has not been available for long
	// enough since.
	Running
	// Failed means that its rollout does not complete, for a reason that nobody intended.
	Failed
	// Held means that something else keeps it from being rolled: no other workload waits for it.
	Held
	// Done means that its Pods use the data, and stayed available.
	Done
	states
)

// Member is one workload of a fleet. It has many fields because the state of a workload, why it has
// that, and when it may leave it, follow from each other only in part.
type Member struct {
	Wave  int
	State State
	// Rolled reports whether its ledger has the data. Otherwise it still has to start.
	Rolled bool
	// Soaking reports that its rollout has ended, and that it has to stay available.
	Soaking bool
	// Asks reports that its Pods have to be listed, which show since when it has been available.
	Asks bool
	// Behind reports whether a reload with earlier data is in progress. Doubt reports that it may have
	// failed instead, which is about to be known.
	Behind, Doubt bool
	// Unsure reports that it is about to be known whether the workload has failed.
	Unsure bool
	// Why explains that it has failed or is held, in a phrase whose subject is the workload.
	Why string
	// Due is when time alone changes the state; zero if it does not.
	Due time.Time

	// ended is when its rollout has ended, and since is since when it has been available. rolling is
	// since when it has been seen to roll out without being tracked.
	ended, since, rolling time.Time
	// dipped reports whether it was unavailable after the end of its rollout.
	dipped bool
	// done reports whether it was done before. Then a later rollout shows nothing of the data.
	done     bool
	revision digest.Digest
}

// Tracked is what tracking the rollout of a reload shows, beyond the object itself.
type Tracked struct {
	// Following reports whether older Pods may be left.
	Following bool
	// Unsure reports that the Pods have to be listed first, after a restart. Unlisted reports that
	// they cannot be listed, try after try.
	Unsure, Unlisted bool
	// Late reports whether the rollout made no progress until its deadline, and Cause is why, if
	// any Pod shows that.
	Late  bool
	Cause rollout.Cause
	// Available is since when all Pods have been available, if they were listed because the status
	// has no such time. Lists reports that they can be.
	Available time.Time
	Lists     bool
	// Refused reports that the write of the reload has failed, try after try.
	Refused bool
}

// MemberOf returns the state of a workload. Before is what was known of it in the same fleet: it
// has the times that no status has. Of the sources in the facts, those with windows that cannot be read
// have to be there, and all of them if the ledger has one digest for many.
func MemberOf(f *reload.Facts, src *source.Source, s *Settings, t Tracked, before Member) Member {
	w := &f.Workload
	m := Member{Wave: w.Policy.Wave(), revision: w.Revision()}
	known, unproven, err := f.Ledger()
	switch {
	case errors.Is(err, ledger.ErrNewerFormat):
		m.State, m.Why = Held, "has a ledger of a newer version"
		return m
	case err == nil && known.UnderOtherKey(src.Key.Kind, f.Instance):
		m.State, m.Why = Held, "has a ledger of another installation"
		return m
	case err != nil || !rolledWith(f, &known, src):
		m.wait(f, &known, t.Refused)
		m.Behind = t.Following && !t.Late && (!t.Unsure || !t.Unlisted)
		m.Doubt = m.Behind && t.Unsure
		return m
	}
	m.Rolled, m.done = true, before.done || before.State == Done
	switch {
	case w.Runs != nil, before.State == Done && before.revision == m.revision:
		m.State = Done
	case keeps(&w.Progress):
		m.State, m.Why = Held, "keeps its previous Pods on purpose"
	case unproven: // whether older Pods are back is checked
		m.untracked(&w.Progress, f.Now, before)
	case w.HasRolled() && !t.Following:
		m.rest(w, s, &t, f.Now, before)
	default:
		m.roll(&w.Progress, t, f.Now, before)
	}
	if m.State == Failed {
		m.excuse(&known)
	}
	return m
}

// excuse holds a workload that failed for another reason than a reload with the data. A rollout that
// replaced such a reload before the workload was done shows nothing else, so it is not excused.
func (m *Member) excuse(known *ledger.Ledger) {
	switch {
	case known.Turn.Broken:
		m.State, m.Why = Held, "was unavailable before its reload"
	case known.Counter == 0 || known.Marks.IsZero():
		m.State, m.Why = Held, "was not reloaded by Reroll with this data"
	case m.done:
		m.State, m.Why = Held, "was done before its present rollout"
	}
}

// rolledWith reports whether a ledger has the present data of a source, or of the keys of it that
// count. One digest for many sources shows only whether the ledger has that of all.
func rolledWith(f *reload.Facts, known *ledger.Ledger, src *source.Source) bool {
	key := src.Key.Local()
	if all, aggregated := known.Aggregates[key.Kind]; aggregated {
		return f.AllCurrent(key.Kind, all)
	}
	sum, ok := known.Entries[key]
	return ok && f.IsCurrent(src, sum)
}

// keeps reports whether all older Pods stay because a user wants that.
func keeps(p *workload.Progress) bool {
	return p.Observed && p.Pausing || rollout.IsKeptOnPurpose(p) && rollout.AllKeptOnPurpose(p)
}

// wait is for a workload that has to start.
func (m *Member) wait(f *reload.Facts, known *ledger.Ledger, refused bool) {
	a := checkChurn(f, &reload.Decision{ChurnUntil: known.ChurnUntil})
	switch {
	case f.Workload.Runs != nil:
		m.State, m.Why = Held, "runs by itself"
	case !checkNotify(f).Open():
		m.State, m.Why = Held, "is only reloaded by users"
	case hasBadWindow(f, known):
		m.State, m.Why = Held, "has a window that cannot be read"
	case !a.Open():
		m.State, m.Why, m.Due = Held, "was reloaded too often", a.Until
	case refused:
		m.State, m.Why = Failed, "cannot be reloaded (each write fails)"
	default:
		m.State = Waiting
	}
}

// roll is for a workload whose rollout is in progress.
func (m *Member) roll(p *workload.Progress, t Tracked, now time.Time, before Member) {
	switch {
	case p.Observed && p.Aborted:
		m.State, m.Why = Failed, Because(rollout.CauseAborted)
	case t.Unlisted:
		m.State, m.Why = Failed, "has a rollout with an unknown outcome (its Pods cannot be listed)"
	case t.Unsure:
		m.State, m.Unsure = Running, true
	case t.Late:
		m.State, m.Why = Failed, Because(t.Cause)
	case !t.Following && p.Observed && p.Overdue:
		m.State, m.Why = Failed, Because("")
	case !t.Following:
		m.untracked(p, now, before)
	default:
		m.State = Running
	}
}

// untracked is for a rollout that another client has continued, for example with another template.
// Its kind may have no deadline, and nothing else ends its place.
func (m *Member) untracked(p *workload.Progress, now time.Time, before Member) {
	if m.rolling = now; !before.rolling.IsZero() && before.revision == m.revision {
		m.rolling = before.rolling
	}
	if deadline := m.rolling.Add(p.ProgressDeadline()); deadline.After(now) {
		m.State, m.Due = Running, deadline
	} else {
		m.State, m.Why = Failed, Because("")
	}
}

// rest is for a workload whose rollout has ended: it has to stay available. After a restart, only the
// status shows since when it does. One that is unavailable then may never have stayed available, so
// it is not done. Some kinds have no such times in their status, and their Pods may show them.
func (m *Member) rest(w *workload.Workload, s *Settings, t *Tracked, now time.Time, before Member) {
	p := &w.Progress
	if p.Empty() { // it has nothing that could become unavailable
		m.State = Done
		return
	}
	m.ended = firstKnown(p.CompletedAt, before.ended, t.Available, now)
	m.dipped, m.State = before.dipped && before.revision == m.revision, Running
	if !w.AllAvailable() {
		m.dipped = true
	} else {
		switch m.since = before.since; {
		case !m.since.IsZero():
		case !m.dipped && !t.Available.IsZero():
			m.since = t.Available
		case !m.dipped && t.Lists && p.CompletedAt.IsZero() && s.Soak > 0:
			m.Asks, m.Soaking = true, true
			return
		case m.dipped || p.AvailableAt.IsZero() || p.CompletedAt.IsZero():
			m.since = now
		default:
			m.since = later(p.AvailableAt, p.CompletedAt)
		}
		if m.Due = m.since.Add(s.Soak); !m.Due.After(now) {
			m.State, m.Due = Done, time.Time{}
			return
		}
	}
	// A rollout that has ended may still never be available for long enough.
	deadline := m.ended.Add(s.Soak + p.ProgressDeadline())
	switch {
	case !deadline.After(now), !w.AllAvailable() && p.Observed && p.Overdue:
		m.State, m.Why, m.Due = Failed, "is not available", time.Time{}
		if !m.since.IsZero() {
			m.Why, m.Due = "does not stay available", m.since.Add(s.Soak)
		}
	case m.Due.IsZero() || deadline.Before(m.Due):
		m.Due = deadline
	}
	m.soak(s.Soak)
}

// soak explains a workload whose Pods have the data, and for which others still wait.
func (m *Member) soak(takes time.Duration) {
	switch m.Soaking = m.State == Running; {
	case !m.Soaking:
	case m.since.IsZero():
		m.Why = "is not available"
	default:
		m.Why = "has to stay available until " + m.since.Add(takes).UTC().Format(time.RFC3339)
	}
}

func firstKnown(times ...time.Time) time.Time {
	i := slices.IndexFunc(times, func(t time.Time) bool { return !t.IsZero() })
	return times[i]
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Because returns why a workload has failed, in a phrase whose subject is the workload.
func Because(cause rollout.Cause) string {
	switch cause {
	case rollout.CauseCrashLoop:
		return "does not start (crash loop)"
	case rollout.CauseOutOfMemory:
		return "does not start (out of memory)"
	case rollout.CauseImagePull:
		return "does not start (its image cannot be pulled)"
	case rollout.CauseCannotStart:
		return "does not start"
	case rollout.CauseUnschedulable:
		return "does not start (no node has room)"
	case rollout.CauseQuota:
		return "does not start (a quota leaves no room)"
	case rollout.CauseRefused:
		return "does not start (its Pods are rejected)"
	case rollout.CauseReadiness:
		return "does not get ready"
	case rollout.CauseAborted:
		return "was aborted"
	default:
		return "does not complete its rollout"
	}
}

// turnOf is what stands now that a reload begins. A workload that an earlier reload may have broken
// is not excused: then its next data is judged like the first. Failed reports whether the earlier
// reload is known to have failed.
func turnOf(f *reload.Facts, soak time.Duration, failed bool) ledger.Turn {
	w := &f.Workload
	turn := ledger.Turn{At: f.Now.Unix(), Template: w.Template}
	known, _, err := f.Ledger()
	before := known.Turn
	p := &w.Progress
	switch {
	case w.Runs != nil, !p.Observed:
	case !p.Overdue && !p.Aborted && (!w.HasRolled() || w.AllAvailable()): // no status proves more
	case err == nil && before.At > 0 && before.Template == w.Template &&
		(failed || !w.HasRolled() || !wentDownLater(p, time.Unix(before.At, 0), soak, f.Now)):
		turn.Broken = before.Broken
	default:
		turn.Broken = true
	}
	return turn
}

// wentDownLater reports whether a workload that is unavailable was available for the soak time after
// its reload. Without times in the status, it was if enough time has passed.
func wentDownLater(p *workload.Progress, reloaded time.Time, soak time.Duration, now time.Time) bool {
	if p.CompletedAt.IsZero() {
		return !now.Before(reloaded.Add(soak + p.ProgressDeadline()))
	}
	return !p.UnavailableAt.IsZero() && !p.UnavailableAt.Before(p.CompletedAt.Add(soak))
}
