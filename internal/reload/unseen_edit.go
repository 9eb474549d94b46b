package reload

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
)

// Coverage is since when this installation covers its objects, by the clock of the API server. The
// controller stores it in the cluster: a change that a workload without a ledger missed counts only
// if it was covered then.
type Coverage struct {
	// Since is when the installation began, or when the settings that select objects last changed.
	Since time.Time
	// AllSince is when --auto-reload-all was turned on; zero if it is off, or if nothing records
	// it.
	AllSince time.Time
}

// unseenEdit is for a source that was written while no controller watched, and that has no entry in
// the ledger. It is a change if its data was provably edited after the workload was opted in, and
// Pods are older. Everything else is recorded: a label moves the time of the data as well, and
// changes from before opting in roll no workload.
func (f *Facts) unseenEdit(c *Concern) finding {
	optedIn, known := f.optedInSince(c)
	if !known || c.Source.DataTime.Before(optedIn) {
		return recorded
	}
	if c.Source.EditedSince(optedIn) {
		if found := f.byPods(c.asEdited()); found != recorded {
			return found
		}
	}
	if found := f.byPods(c); found != changed {
		return found
	}
	return unproven
}

// coveredIn is the version in which a source began to concern the workload, as far as a watch has
// shown it.
func (f *Facts) coveredIn(c *Concern) uint64 {
	covered := max(f.referencedIn(c), c.Seen.Annotations)
	if c.Seen.Matched > covered && !f.Workload.Judge(c.Source.Key, source.Annotations{}, f.AutoReloadAll).Concerned {
		return c.Seen.Matched // it concerns the workload for no other reason
	}
	return covered
}

// referencedIn is the version in which the annotations began to select a source. Rewording them is
// no change.
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

// Adopts is the version since which the annotations of a workload without a ledger select all its
// sources; 0 if they selected some before, or if no watch has shown the change. The sources in the
// new ledger may be older than that version, because their watch may lag behind.
func (f *Facts) Adopts() uint64 {
	if f.Workload.LedgerText != "" || f.Remembered != "" || f.Seen.Earlier != nil && f.Seen.Earlier.OptedIn(f.AutoReloadAll) || len(f.Seen.Widened) > 1 {
		return 0
	}
	return f.Seen.Policy
}

// beforeAdoption reports whether data last changed before the annotations of the workload, which
// had no ledger then, selected any source.
func (f *Facts) beforeAdoption(c *Concern) bool {
	return c.Seen.Content != 0 && c.Seen.Content < f.Seen.Adopted
}

// optedInSince returns the earliest time at which the workload was provably opted in for a source,
// and this installation covered both. It returns false if nothing proves one.
func (f *Facts) optedInSince(c *Concern) (since time.Time, known bool) {
	optedIn := f.Workload.OptedInAt
	// If the annotations of the workload opt in now, its namespace or --auto-reload-all may have
	// covered it before.
	all, covers := f.allSince()
	if covers && !all.IsZero() && len(c.Uses) > 0 && (optedIn.IsZero() || all.Before(optedIn)) || isByDefault(c) {
		optedIn = all
	}
	if optedIn.IsZero() {
		return optedIn, false
	}
	for _, at := range []time.Time{f.Installed, f.Coverage.Since, f.SelectedAt} {
		if at.After(optedIn) {
			optedIn = at
		}
	}
	return optedIn, true
}

// allSince is since when workloads are opted in unless they opt out, and whether they are: the
// namespace decides that, or else the flag.
func (f *Facts) allSince() (since time.Time, covers bool) {
	if optedIn, decides := f.Workload.Policy.OptedInByNamespace(); decides {
		return f.OptedInByNamespaceAt, optedIn
	}
	if since = f.Coverage.AllSince; !since.IsZero() && f.OptedInByNamespaceAt.After(since) {
		since = f.OptedInByNamespaceAt // until then, the namespace may have opted its workloads out
	}
	return since, f.AutoReloadAll
}

// isByDefault reports whether a source concerns the workload only because the workload does not opt
// out.
func isByDefault(c *Concern) bool {
	return c.Verdict.Rule == policy.RuleAutoAll || c.Verdict.Rule == policy.RuleAutoNamespace
}

// optedInBefore reports whether the workload was opted in for a source before that was created. If
// nothing records the time, a ledger shows it.
func (f *Facts) optedInBefore(c *Concern, base base) bool {
	optedIn, known := f.optedInSince(c)
	if !known {
		return base.err == nil
	}
	return !c.Source.Created.Before(optedIn)
}

// writtenBy is the source with the data time of a ledger that has its data, if that is earlier:
// later writes did not change the data.
func (c *Concern) writtenBy(ledger int64) *Concern {
	written := *c
	if at := time.Unix(ledger, 0); at.Before(c.Source.DataTime) {
		written.Source.DataTime = at
	}
	return &written
}

// asEdited is the source with the time at which its data was provably edited.
func (c *Concern) asEdited() *Concern {
	edited := *c
	edited.Source.DataTime = time.Unix(c.Source.EditedAt, 0)
	return &edited
}
