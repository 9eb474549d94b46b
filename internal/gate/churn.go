package gate

import (
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
)

// The limit is kept by the generic cell rate algorithm. Each reload counts for an interval, and
// the ledger contains until when all of them count together. A workload may be reloaded while fewer
// than the allowed number count. One time is enough for that: no counter has to be reset, and a
// restart of the controller loses nothing.

// interval is how long one reload counts, in whole seconds, because the ledger contains seconds.
func interval(l policy.Limit) time.Duration {
	each := l.Within / time.Duration(l.Reloads)
	if rest := each % time.Second; rest > 0 {
		each += time.Second - rest
	}
	return each
}

// countsUntil is until when earlier reloads count, by the ledger. A time that this limit cannot
// lead to counts nothing: the limit was higher before, or another client wrote it. Clocks of two
// controllers differ by less than an interval.
func countsUntil(l policy.Limit, inLedger int64, now time.Time) time.Time {
	until := time.Unix(inLedger, 0)
	if until.After(now.Add(time.Duration(l.Reloads+1) * interval(l))) {
		return now
	}
	return until
}

func checkChurn(f *reload.Facts, d *reload.Decision) Answer {
	l, setBy := f.Churn()
	if l == (policy.Limit{}) || d.ChurnUntil == 0 || joinsPause(f) {
		return Answer{}
	}
	opens := countsUntil(l, d.ChurnUntil, f.Now).Add(-time.Duration(l.Reloads-1) * interval(l))
	if !opens.After(f.Now) {
		return Answer{}
	}
	return Answer{By: Churn, Until: opens, Why: fmt.Sprintf("it was reloaded as often as %s (%s) allows", l, setBy)}
}

func passChurn(f *reload.Facts, d *reload.Decision) {
	l, _ := f.Churn()
	if l == (policy.Limit{}) {
		d.Ledger.ChurnUntil = 0
		return
	}
	if joinsPause(f) {
		return
	}
	until := countsUntil(l, d.ChurnUntil, f.Now)
	if until.Before(f.Now) {
		until = f.Now
	}
	d.Ledger.ChurnUntil = seconds(until.Add(interval(l)))
}

// joinsPause reports whether the workload is paused by an earlier reload. Then a reload starts no
// rollout: it is part of the one that begins when the pause ends.
func joinsPause(f *reload.Facts) bool { return f.Workload.Pause.Ours() }

// seconds rounds up, so that a reload never counts for too short a time.
func seconds(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}
