package gate

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Latest is the latest reload of one workload. The zero Latest is none.
type Latest struct {
	// At is when it began, in seconds since 1970.
	At int64
	// Failed reports whether its rollout does not complete, for a reason that nobody intended.
	// Unsure reports that this is about to be known.
	Failed, Unsure bool
}

// LatestOf returns the latest reload of a workload. A rollout of another client since then is not
// its outcome, and neither is what was broken before.
func LatestOf(w *workload.Workload, t Tracked, now time.Time) Latest {
	known, err := workload.ReadLedger(w.LedgerText, w)
	// Another client can write a ledger. A time in the future would stay the latest one.
	if err != nil || w.Runs != nil || known.Turn.At == 0 || known.Turn.At > now.Add(clocksDiffer).Unix() {
		return Latest{}
	}
	l := Latest{At: known.Turn.At}
	if known.Turn.Broken || known.Turn.Template != w.Template || w.HasRolled() && !t.Following || keeps(&w.Progress) || w.Progress.Empty() {
		return l
	}
	if _, inPlace := rollout.ReloadOf(w, &known); !inPlace {
		return l
	}
	if t.Unlisted { // a missing permission is not a storm
		return l
	}
	var m Member
	m.roll(&w.Progress, t, now, Member{})
	// A further reload of a workload that failed is no success yet. Otherwise one edit would start
	// everything that waits.
	l.Failed, l.Unsure = m.State == Failed || known.Turn.Again, m.Unsure && !known.Turn.Again
	return l
}

// clocksDiffer is by how much the clocks of two controllers may differ.
const clocksDiffer = time.Minute

// Storm has the latest reloads of the cluster, one for each workload, and counts those that failed.
// It is not safe for concurrent use.
type Storm struct {
	halt   Halt
	latest map[workload.Key]Latest
	// oldest is the oldest of the latest reloads. It is asked about far more often than it changes.
	oldest workload.Key
	// accepted is the time of the newest reload of which a user accepted that it failed.
	accepted int64
	// failed are the failed reloads by namespace, and unsure those that may have failed.
	failed, unsure map[string]int
	// short reports whether a reload was removed, so that an earlier one counts instead.
	short bool
}

// NewStorm returns a storm without reloads.
func NewStorm(h Halt) *Storm {
	return &Storm{halt: h, latest: map[workload.Key]Latest{}, failed: map[string]int{}, unsure: map[string]int{}}
}

// Counts reports whether a reload of a workload that began at a time is among the latest, or its
// workload has one that is.
func (s *Storm) Counts(key workload.Key, at int64) bool {
	_, known := s.latest[key]
	if known || at == 0 || len(s.latest) < s.halt.Last {
		return known || at != 0
	}
	return earlier(s.oldest, s.latest[s.oldest].At, key, at)
}

// earlier orders reloads, also those of the same second, so that a restart changes nothing.
func earlier(a workload.Key, atA int64, b workload.Key, atB int64) bool {
	return atA < atB || atA == atB && workload.CompareKeys(a, b) < 0
}

// Put updates the latest reload of a workload. The oldest one does not count any more if there are
// too many.
func (s *Storm) Put(key workload.Key, now Latest) {
	before, known := s.latest[key]
	if before == now {
		return
	}
	s.count(key, before, -1)
	if known && now.At < before.At {
		s.short = true // an earlier reload of another workload may be later than this one
	}
	if now.At == 0 {
		delete(s.latest, key)
		s.findOldest()
		return
	}
	s.latest[key] = now
	s.count(key, now, 1)
	if before.At != now.At {
		s.findOldest()
	}
	if len(s.latest) > s.halt.Last {
		s.count(s.oldest, s.latest[s.oldest], -1)
		delete(s.latest, s.oldest)
		s.findOldest()
	}
}

func (s *Storm) findOldest() {
	s.oldest = workload.Key{}
	for key, l := range s.latest {
		if s.oldest == (workload.Key{}) || earlier(key, l.At, s.oldest, s.latest[s.oldest].At) {
			s.oldest = key
		}
	}
}

func (s *Storm) count(key workload.Key, l Latest, by int) {
	if l.At <= s.accepted {
		return
	}
	add := func(to map[string]int) {
		if to[key.Namespace] += by; to[key.Namespace] == 0 {
			delete(to, key.Namespace)
		}
	}
	if l.Unsure {
		add(s.unsure)
	}
	if l.Failed {
		add(s.failed)
	}
}

// Short reports whether earlier reloads may count now, and Filled records that they were put.
func (s *Storm) Short() bool { return s.short }

// Refill makes all reloads be put anew, because more is known of their rollouts.
func (s *Storm) Refill() { s.short = true }

// Filled is called after the latest reloads of all workloads were put.
func (s *Storm) Filled() { s.short = false }

// Accepted reports whether a user accepted a reload, should it have failed.
func (s *Storm) Accepted(l Latest) bool { return l.At <= s.accepted }

// Accept records that reloads up to a time no longer count as failed.
func (s *Storm) Accept(until int64) {
	if until == s.accepted {
		return
	}
	s.accepted = until
	clear(s.failed)
	clear(s.unsure)
	for key, l := range s.latest {
		s.count(key, l, 1)
	}
}

// HaltedIn reports whether no reload starts in a namespace, or, with an empty name, in one without
// failures. Another namespace counts for at most half of the failures that it takes, so that one
// tenant alone does not halt the others.
func (s *Storm) HaltedIn(ns string) bool { return s.reaches(ns, s.failed) }

// mayHaltIn is HaltedIn if all reloads of which it is not known yet have failed, too.
func (s *Storm) mayHaltIn(ns string) bool {
	if len(s.unsure) == 0 {
		return false
	}
	perhaps := maps.Clone(s.failed)
	for of, n := range s.unsure {
		perhaps[of] += n
	}
	return s.reaches(ns, perhaps)
}

// Unsure reports whether it is about to be known whether some of the latest reloads have failed.
func (s *Storm) Unsure() bool { return len(s.unsure) > 0 }

func (s *Storm) reaches(ns string, failed map[string]int) bool {
	most := s.halt.Failures()
	sum := failed[ns]
	for other, n := range failed {
		if other != ns {
			sum += min(n, max(most/2, 1))
		}
	}
	return s.halt != Halt{} && sum >= most
}

// Halted are the namespaces in which no reload starts, in order, and whether it is all of them.
func (s *Storm) Halted() (in []string, all bool) {
	for _, ns := range slices.Sorted(maps.Keys(s.failed)) {
		if s.HaltedIn(ns) {
			in = append(in, ns)
		}
	}
	return in, s.HaltedIn("")
}

// Why counts the reloads that failed.
func (s *Storm) Why() string {
	all := 0
	for _, n := range s.failed {
		all += n
	}
	return fmt.Sprintf("%d of the last %d reloads in the cluster did not complete (--halt-when-failing=%s)", all, s.halt.Last, s.halt)
}

// Newest is the workload of the newest reload that failed, and the time of the newest reload.
func (s *Storm) Newest() (failed workload.Key, at int64) {
	var failedAt int64
	for key, l := range s.latest {
		if l.Failed && l.At > s.accepted && (l.At > failedAt || l.At == failedAt && workload.CompareKeys(key, failed) < 0) {
			failed, failedAt = key, l.At
		}
		at = max(at, l.At)
	}
	return failed, at
}

// Ask reports whether a reload of a workload may start. A workload that failed itself may: its
// newest data may be what mends it.
func (s *Storm) Ask(key workload.Key) Answer {
	ns := key.Namespace
	switch own := s.latest[key]; {
	case own.Failed:
		return Answer{}
	case s.HaltedIn(ns):
		return Answer{By: Halted, Stopped: true, Why: s.Why()}
	case s.mayHaltIn(ns):
		return Answer{By: Halted, Why: "until it is known whether too many of the last reloads in the cluster have failed"}
	default:
		return Answer{}
	}
}

// checkHalt asks whether any reload starts. An urgent change waits for no other workload.
func checkHalt(f *reload.Facts, d *reload.Decision, ask func(workload.Key) Answer) Answer {
	if ask == nil || isUrgent(d) {
		return Answer{}
	}
	return ask(f.Workload.Key)
}

// isUrgent reports whether a changed source is urgent.
func isUrgent(d *reload.Decision) bool {
	return slices.ContainsFunc(d.Changes, func(changed reload.Concern) bool { return changed.Source.Annotations.Waves.Waves().Urgent })
}
