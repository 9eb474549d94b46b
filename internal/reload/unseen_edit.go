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

// Began is when the installation began, as far as anything shows that: earlier changes roll nothing. If
// the digest key was lost, the coverage is older than the present one.
func (in Installation) Began() time.Time {
	if since := in.Coverage.Since; !since.IsZero() && since.Before(in.Installed) {
		return since
	}
	return in.Installed
}

// beforeUs reports whether the data is from before the installation. Then it is not a change that
// Reroll missed.
func (f *Facts) beforeUs(c *Concern) bool {
	return c.Seen.Content == 0 && c.Source.DataTime.Before(f.Began())
}

// beforeCover reports whether the data is from before the workload was opted in, by itself or with
// all others, if it was never reloaded.
func (f *Facts) beforeCover(c *Concern, base base) bool {
	since, _ := f.allSince()
	beforeAll := isByDefault(c.Verdict) && c.Seen.Content == 0 && c.Source.DataTime.Before(since)
	return base.ledger.Counter == 0 && (beforeAll || f.beforeAdoption(c))
}

// rotatedBeforeUs reports whether a class has data from before the installation, which is no newer than
// that in its first ledger. A Pod that was late had seemed to rotate the class back, and is gone since.
func (f *Facts) rotatedBeforeUs(c *Concern, base base) bool {
	first := base.ledger.Counter == 0 && c.Source.DataTime.Unix() <= base.ledger.DataTime
	return first && c.Source.Key.Kind.Reported() && f.beforeUs(c)
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
	if at := f.editedAt(c); at != 0 && at >= optedIn.Unix() {
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
	covered := max(f.referencedIn(c), c.Seen.Annotations, f.labeledIn(c), f.allowedIn(c))
	if c.Seen.Matched > covered && f.onlyMatches(c) {
		return c.Seen.Matched
	}
	return covered
}

// onlyMatches reports whether a source concerns the workload only because it matches its search.
func (f *Facts) onlyMatches(c *Concern) bool {
	return !f.Workload.Verdict(c.Source.Key, source.Annotations{Labels: c.Source.Annotations.Labels}, f.AutoReloadAll).Concerned
}

// editedAt is when the data was last provably edited, 0 if nothing proves an edit from after the
// source began to match the search of the workload.
func (f *Facts) editedAt(c *Concern) int64 {
	if c.Source.EditedAt < c.Source.MatchedAt && f.onlyMatches(c) {
		return 0
	}
	return c.Source.EditedAt
}

// referencedIn is the version in which the annotations began to select a source, in a namespace that
// is selected.
func (f *Facts) referencedIn(c *Concern) uint64 {
	return max(f.widenedFor(c), f.SelectedIn)
}

// widenedFor is the version in which the annotations began to select a source, with the labels that it
// had then. Rewording them is no change.
func (f *Facts) widenedFor(c *Concern) uint64 {
	if len(f.Seen.Widened) == 0 {
		return f.Seen.Policy
	}
	for i := range slices.Backward(f.Seen.Widened) {
		if step := &f.Seen.Widened[i]; !f.before(step, c).Concerned {
			return step.Version
		}
	}
	return f.Seen.WidenedBefore
}

// before is what the annotations before a widening say about a source, with the labels of then.
func (f *Facts) before(step *Widening, c *Concern) policy.Verdict {
	then := c.Source.Annotations
	then.Labels = c.Seen.Relabeled.at(step.Version, then.Labels)
	_, refers := f.Workload.Reference(c.Source.Key.Local())
	return step.Before.Verdict(c.Source.Key, then, refers, f.AutoReloadAll)
}

// Adopts is the version since which the annotations of a workload without a ledger select all its
// sources; 0 if they selected some before, or if no watch has shown the change. The sources in the
// new ledger may be older than that version, because their watch may lag behind.
func (f *Facts) Adopts() uint64 {
	switch {
	case f.Workload.LedgerText != "" || f.Remembered != "":
		return 0
	case len(f.Seen.Widened) > 1 || f.Seen.Forgotten || len(f.Seen.Widened) == 1 && f.Seen.Widened[0].Before.OptedIn(f.AutoReloadAll):
		return f.SelectedIn
	default:
		return max(f.Seen.Policy, f.SelectedIn)
	}
}

// AdoptsSources are the versions since which the annotations select sources that no ledger has yet,
// if they are later than the version since which they select all.
func (f *Facts) AdoptsSources() map[source.LocalKey]uint64 {
	var adopts map[source.LocalKey]uint64
	known, all := f.known().ledger, max(f.Seen.Adopted, f.Adopts())
	for i := range f.Concerns {
		c := &f.Concerns[i]
		key := c.Source.Key.Local()
		_, recorded := known.Entries[key]
		_, aggregated := known.Aggregates[key.Kind]
		if recorded || aggregated {
			continue
		}
		if covered := f.coveredIn(c); covered > max(all, c.Seen.Created) {
			if adopts == nil {
				adopts = map[source.LocalKey]uint64{}
			}
			adopts[key] = covered
		}
	}
	return adopts
}

// beforeAdoption reports whether data last changed before the annotations of the workload selected
// the source, which no ledger had then.
func (f *Facts) beforeAdoption(c *Concern) bool {
	return f.adoptedAfter(c.Source.Key.Local(), c.Seen.latest())
}

// adoptedAfter reports the same of a version, which is 0 if it is unknown.
func (f *Facts) adoptedAfter(key source.LocalKey, version uint64) bool {
	return version != 0 && version < max(f.Seen.Adopted, f.Seen.AdoptedSources[key])
}

// optedInSince returns the earliest time at which the workload was provably opted in for a source,
// and this installation covered both. It returns false if nothing proves one.
func (f *Facts) optedInSince(c *Concern) (since time.Time, known bool) {
	optedIn := f.annotatedSince(c)
	// If the annotations of the workload opt in now, its namespace or --auto-reload-all may have
	// covered it before.
	all, covers := f.allSince()
	if covers && !all.IsZero() && len(c.Uses) > 0 && (optedIn.IsZero() || all.Before(optedIn)) || isByDefault(c.Verdict) {
		optedIn = all
	}
	if optedIn.IsZero() {
		return optedIn, false
	}
	if c.Source.Key.IsForeign() {
		if c.Source.AllowedAt == 0 {
			return optedIn, false
		}
		if at := time.Unix(int64(c.Source.AllowedAt), 0); at.After(optedIn) {
			optedIn = at
		}
	}
	for _, at := range []time.Time{f.Began(), f.Coverage.Since, f.SelectedAt} {
		if at.After(optedIn) {
			optedIn = at
		}
	}
	return optedIn, true
}

// annotatedSince is since when the annotations of the workload provably select a source. An edit that
// lets them select other sources moves the time of all annotations.
func (f *Facts) annotatedSince(c *Concern) time.Time {
	optedIn := f.Workload.OptedInAt
	for i := range slices.Backward(f.Seen.Widened) {
		step := &f.Seen.Widened[i]
		before := f.before(step, c)
		if step.OptedInAt.IsZero() || !before.Concerned || isByDefault(before) {
			break
		}
		optedIn = step.OptedInAt
	}
	return optedIn
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
func isByDefault(verdict policy.Verdict) bool {
	return verdict.Rule == policy.RuleAutoAll || verdict.Rule == policy.RuleAutoNamespace
}

// optedInBefore reports whether the workload was opted in for a source before that was created. If
// nothing records the time, a ledger shows it.
func (f *Facts) optedInBefore(c *Concern, base base) bool {
	optedIn, known := f.optedInSince(c)
	if !known {
		return base.err == nil && !c.Source.Key.IsForeign()
	}
	return !c.Source.Created.Before(optedIn)
}

// writtenBy is the source with a data time at which it had its data already, such as that of a ledger,
// if that is earlier: later writes did not change the data.
func (c *Concern) writtenBy(at time.Time) *Concern {
	written := *c
	if !at.IsZero() && at.Before(c.Source.DataTime) {
		written.Source.DataTime = at
	}
	return &written
}

// asBeforeItsDeletion is a source that was created again as it was, with its data time of then. If a
// removed key has no time, only Pods from after the creation have the data for sure.
func (c *Concern) asBeforeItsDeletion() *Concern {
	if !c.Seen.Timeless {
		return c.writtenBy(c.Seen.Written)
	}
	created := *c
	created.Seen.Timeless = false
	return &created
}

// asEdited is the source with the time at which its data was provably edited.
func (c *Concern) asEdited() *Concern {
	edited := *c
	edited.Source.DataTime = time.Unix(c.Source.EditedAt, 0)
	return &edited
}
