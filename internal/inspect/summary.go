package inspect

import (
	"cmp"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/report"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Summary is the answer about one workload without what only the page of the workload shows. It is
// not changed after it was made, so that many readers share it. It has a field for each column and
// each filter of the pages.
type Summary struct {
	Key   workload.Key
	State State
	// Detail explains the state, in a phrase. It may name sources and other workloads.
	Detail string
	Cause  rollout.Cause
	Since  time.Time
	// Gate is the gate that a reload waits for, and GateSource the source of a wave.
	Gate       gate.Name
	Until      time.Time
	Stopped    bool
	GateSource source.Key
	// Approve is the command that approves the present data.
	Approve string
	// Schedule is the text of its windows, empty without any.
	Schedule string
	// Reloads is -1 if the number is unknown, and Began zero if it is unknown when the latest began.
	Reloads         int64
	Began           time.Time
	Updated, Wanted int32
	Sources         []SourceUse
	// Fleets are the sources that roll it in waves, while it is not up to date.
	Fleets []FleetKey
	// Others are further sources that the detail may name.
	Others []source.LocalKey
}

// SourceUse is a source of a workload in its summary.
type SourceUse struct {
	Key source.LocalKey
	// Rolls reports whether a change rolls the workload.
	Rolls, Absent bool
}

// Attention orders the states by how soon a user has to act.
func (s *Summary) Attention() int {
	switch s.State {
	case Stuck:
		return 0
	case OutOfDate:
		return 1
	case Reverted:
		return 2
	case Missing:
		return 3
	case Waiting:
		return 4
	case InProgress:
		return 5
	case Unknown:
		return 6
	case UpToDate:
		return 7
	default:
		return 8
	}
}

// NeedsUser reports whether Pods lack data, and no rollout brings it now.
func (s *Summary) NeedsUser() bool {
	switch s.State {
	case Stuck, OutOfDate, Reverted, Missing, Waiting:
		return true
	default:
		return false
	}
}

// Current returns how many Pods have the current data, as far as the state shows that.
func (s *Summary) Current() (pods int32, known bool) {
	switch s.State {
	case UpToDate:
		return s.Wanted, true
	case InProgress, Stuck:
		return s.Updated, true
	case OutOfDate, Reverted:
	case Waiting:
		if s.Since.IsZero() && s.Gate == "" {
			return 0, false // no change is known
		}
	default:
		return 0, false
	}
	if s.Updated < s.Wanted {
		return s.Updated, true // of a rollout that has not ended
	}
	return 0, true
}

// compareSummaries puts those first that need a user, and then orders them by name.
func compareSummaries(a, b *Summary) int {
	return cmp.Or(cmp.Compare(a.Attention(), b.Attention()), workload.CompareKeys(a.Key, b.Key))
}

// isStable reports whether neither time nor other workloads change the answer.
func (s *Summary) isStable() bool { return s.State == UpToDate || s.State == NotOptedIn }

func (a *Answer) summary() *Summary {
	s := &Summary{
		Key: a.Workload.Key, State: a.State, Detail: report.OneLine(a.Detail), Cause: a.Cause, Since: a.Since,
		Gate: a.Gate.By, Until: a.Gate.Until, Stopped: a.Gate.Stopped, GateSource: a.Gate.Source, Schedule: a.Schedule,
		Reloads: -1, Updated: a.Workload.Progress.Updated, Wanted: a.Workload.Progress.Wanted,
	}
	if a.Gate.By == gate.Approval {
		s.Approve = a.Gate.Request.Brief(a.Workload.Key) // with the digest of a Secret, the page would show it
	}
	if a.Ledger.There && a.Ledger.Err == nil {
		s.Reloads = a.Ledger.Counter
		if at := a.Ledger.Turn.At; at > 0 {
			s.Began = time.Unix(at, 0)
		}
	}
	for i := range a.Sources {
		// A list with an expression may leave out thousands of sources of the namespace.
		if src := &a.Sources[i]; src.counts() || len(src.Uses) > 0 || src.Absent {
			s.Sources = append(s.Sources, SourceUse{Key: src.Key, Rolls: src.counts() && a.LeftOut == "", Absent: src.Absent})
		}
	}
	if !s.isStable() {
		s.Fleets = a.Fleets
	}
	for i := range a.Decision.Changes {
		key := a.Decision.Changes[i].Source.Key.Local()
		if !slices.ContainsFunc(s.Sources, func(use SourceUse) bool { return use.Key == key }) {
			s.Others = append(s.Others, key)
		}
	}
	return s
}

func (s *Summary) equal(other *Summary) bool {
	return s.Key == other.Key && s.State == other.State && s.Detail == other.Detail && s.Cause == other.Cause && s.Since.Equal(other.Since) &&
		s.Gate == other.Gate && s.Until.Equal(other.Until) && s.Stopped == other.Stopped && s.GateSource == other.GateSource &&
		s.Approve == other.Approve && s.Schedule == other.Schedule && s.Reloads == other.Reloads && s.Began.Equal(other.Began) &&
		s.Updated == other.Updated && s.Wanted == other.Wanted && slices.Equal(s.Sources, other.Sources) && slices.Equal(s.Others, other.Others) &&
		slices.Equal(s.Fleets, other.Fleets)
}
