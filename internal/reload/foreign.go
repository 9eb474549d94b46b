package reload

import (
	"slices"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
)

// A workload may name a source of another namespace, which has to allow that. Consent counts at the
// moment of a decision. Without it, the source does not concern the workload, and the ledger has no
// entry for it: consent that is given again rolls nothing by itself.

// Allow records that other namespaces are allowed.
func (s *SourceSeen) Allow(version uint64, before annotations.AllowFrom) {
	s.Allowed = s.Allowed.with(version, before)
}

// GrantChange is a version in which ReferenceGrants began or ceased to allow a workload a source.
type GrantChange struct {
	Version uint64
	// Before is what they did until then.
	Before bool
}

// Grant adds the consent of ReferenceGrants to that of the source, for the workloads of a namespace.
// Own is what the source itself allows now, and granted what the ReferenceGrants do.
func (s *SourceSeen) Grant(namespace string, own annotations.AllowFrom, changes []GrantChange, granted bool) {
	var versions []uint64
	for _, step := range s.Allowed.all() {
		versions = append(versions, step.version)
	}
	for _, step := range changes {
		versions = append(versions, step.Version)
	}
	slices.Sort(versions)
	before := func(version uint64) bool {
		is, granted := own, granted
		if i := slices.IndexFunc(s.Allowed.all(), func(c change[annotations.AllowFrom]) bool { return c.version >= version }); i >= 0 {
			is = s.Allowed.steps[i].before
		}
		if i := slices.IndexFunc(changes, func(c GrantChange) bool { return c.Version >= version }); i >= 0 {
			granted = changes[i].Before
		}
		return granted || is.Has(namespace)
	}
	var merged *Changes[annotations.AllowFrom]
	for _, version := range slices.Compact(versions) {
		if !before(version) && before(version+1) { // only the begin of consent matters
			merged = merged.with(version, annotations.AllowFrom{})
		}
	}
	s.Allowed = merged
}

// allowedIn is the version in which a source of another namespace began to allow the workload; 0 if
// it did before, or if no watch has shown the change.
func (f *Facts) allowedIn(c *Concern) uint64 {
	if !c.Source.Key.IsForeign() {
		return 0
	}
	return c.Seen.Allowed.latest(func(before annotations.AllowFrom) bool { return !before.Has(f.Workload.Key.Namespace) })
}

// Conceal makes the digests of sources of other namespaces anew, for the workload. It does that once.
func (f *Facts) Conceal() {
	if f.concealed {
		return
	}
	f.concealed = true
	for i := range f.Concerns {
		if c := &f.Concerns[i]; c.Source.Key.IsForeign() {
			c.Source.Conceal(f.Key)
		}
	}
	for key, gone := range f.Gone {
		if key.IsForeign() {
			gone.Source.Conceal(f.Key)
			f.Gone[key] = gone
		}
	}
}

// LeaveOut takes out the sources of other namespaces that are not watched. Whether they exist is
// unknown, so their entries stay in the ledger, as those of sources that no selector matches.
func (f *Facts) LeaveOut(unwatched func(origin source.Key) bool) {
	for _, local := range f.Workload.Policy.Foreign() {
		key := local.In(f.Workload.Key.Namespace)
		if !key.IsForeign() || !unwatched(key.Origin()) {
			continue
		}
		f.Concerns = slices.DeleteFunc(f.Concerns, func(c Concern) bool { return c.Source.Key == key })
		if !slices.Contains(f.Unselected, local) {
			f.Unselected = append(f.Unselected, local)
		}
	}
}

// NotAllowed are the sources of other namespaces that the workload names and that do not exist, do not
// allow it, or are not watched.
func (f *Facts) NotAllowed(unwatched func(origin source.Key) bool) []source.Key {
	var all []source.Key
	for _, local := range f.Workload.Policy.Foreign() {
		key := local.In(f.Workload.Key.Namespace)
		counts := slices.ContainsFunc(f.Concerns, func(c Concern) bool { return c.Source.Key == key }) || slices.Contains(f.Unselected, local)
		if key.IsForeign() && f.isWatched(key.Kind) && (!counts || unwatched(key.Origin())) {
			all = append(all, key)
		}
	}
	return all
}

// underLostKey reports whether the digest of a source in the ledger was made with a key that is lost.
func (f *Facts) underLostKey(key source.LocalKey, base base) bool {
	return base.err == nil && base.ledger.EntryUnderOtherKey(key, f.Instance)
}

// splitForeign returns the sources that one digest for all of a kind may cover, and those of other
// namespaces, which it never covers.
func splitForeign(concerns []Concern) (own, foreign []Concern) {
	if !slices.ContainsFunc(concerns, func(c Concern) bool { return c.Source.Key.IsForeign() }) {
		return concerns, nil
	}
	for _, c := range concerns {
		if c.Source.Key.IsForeign() {
			foreign = append(foreign, c)
		} else {
			own = append(own, c)
		}
	}
	return own, foreign
}
