package reload

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
)

// Coverage is since when this installation covers what it covers, by the clock of the API server. The controller keeps it in the
// cluster: a change that a workload without a ledger missed counts only if it was covered by then.
type Coverage struct {
	// Since is when the installation began, or when the settings last changed that say which objects it covers.
	Since time.Time
	// AllSince is when --auto-reload-all was turned on; zero if it is off, or if nothing records
	// it.
	AllSince time.Time
}

// unseenEdit is for a source that was written while nobody watched, and of which the ledger says nothing. It is a change if its
// data were provably edited after the workload had asked for it, and pods are older. Everything else is recorded: a label that
// the owner of the data wrote has moved its time as well, and nothing that changed before somebody asked rolls a workload.
func (f *Facts) unseenEdit(c *Concern) finding {
	asked, known := f.optedInSince(c)
	if !known || c.Source.DataTime.Before(asked) {
		return recorded
	}
	if c.Source.EditedSince(asked) {
		if found := f.asked(c.asEdited()); found != recorded {
			return found
		}
	}
	if found := f.asked(c); found != changed {
		return found
	}
	return unproven
}

// coveredIn is the version in which a source came to concern the workload, as far as somebody saw it.
func (f *Facts) coveredIn(c *Concern) uint64 {
	covered := max(f.referencedIn(c), c.Seen.Annotations)
	if c.Seen.Matched > covered && !f.Workload.Judge(c.Source.Key, source.Annotations{}, f.AutoReloadAll).Concerned {
		return c.Seen.Matched // it concerns the workload for no other reason
	}
	return covered
}

// referencedIn is the version in which the workload came to ask for a source. Other words for the same are not new.
func (f *Facts) referencedIn(c *Concern) uint64 {
	if f.Seen.Earlier == nil {
		return f.Seen.Policy
	}
	_, refers := f.Workload.Reference(c.Source.Key.Local())
	for _, step := range slices.Backward(f.Seen.Widened) {
		if !step.Before.Judge(c.Source.Key, c.Source.Annotations, refers, f.AutoReloadAll).Concerned {
			return step.Version
		}
	}
	return 0
}

// Adopts is the version from which a workload without a ledger asks for all that it asks for; 0 if it asked for something before
// that, or nobody saw it begin. What the ledger is about to say of sources may be older than that: their watch may lag behind.
func (f *Facts) Adopts() uint64 {
	if f.Workload.LedgerText != "" || f.Remembered != "" || f.Seen.Earlier != nil && f.Seen.Earlier.OptedIn(f.AutoReloadAll) || len(f.Seen.Widened) > 1 {
		return 0
	}
	return f.Seen.Policy
}

// beforeAdoption reports whether data became what they are before the workload, which had no ledger by then, asked for anything.
func (f *Facts) beforeAdoption(c *Concern) bool {
	return c.Seen.Content != 0 && c.Seen.Content < f.Seen.Adopted
}

// optedInSince returns the earliest time at which the workload provably asked for a source, and this installation covered both. It
// returns false if nothing proves one.
func (f *Facts) optedInSince(c *Concern) (since time.Time, known bool) {
	asked := f.Workload.OptedInAt
	// One that says so itself by now may have been covered with all others before.
	if all := f.Coverage.AllSince; f.AutoReloadAll && !all.IsZero() && len(c.Uses) > 0 && (asked.IsZero() || all.Before(asked)) || c.Verdict.Rule == policy.RuleAutoAll {
		asked = all
	}
	if asked.IsZero() {
		return asked, false
	}
	for _, at := range []time.Time{f.Installed, f.Coverage.Since, f.SelectedAt} {
		if at.After(asked) {
			asked = at
		}
	}
	return asked, true
}

// optedInBefore reports whether the workload asked for a source before it was created. If nothing records when it did, the
// workload has a ledger.
func (f *Facts) optedInBefore(c *Concern, base base) bool {
	asked, known := f.optedInSince(c)
	if !known {
		return base.err == nil
	}
	return !c.Source.Created.Before(asked)
}

// writtenBy is the source with the time of a ledger that has its data, if that is earlier: what was written later changed none of
// them.
func (c *Concern) writtenBy(ledger int64) *Concern {
	written := *c
	if at := time.Unix(ledger, 0); at.Before(c.Source.DataTime) {
		written.Source.DataTime = at
	}
	return &written
}

// asEdited is the source with the time at which its data were provably edited.
func (c *Concern) asEdited() *Concern {
	edited := *c
	edited.Source.DataTime = time.Unix(c.Source.EditedAt, 0)
	return &edited
}
