package state

import (
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/grant"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// consent adds what ReferenceGrants allow to a source of another namespace, as the workload sees it.
func (g *granted) consent(src *sourceRecord, w *workload.Workload) {
	if g == nil {
		return
	}
	from, origin, namespace := grant.Of(w), src.Key.Origin().Local(), w.Key.Namespace
	since, allows := g.set.Allows(from, origin)
	judged := map[*grant.Grant]bool{} // most of them are part of all versions
	allowed := func(one *grant.Grant) bool {
		is, ok := judged[one]
		if !ok {
			is = one.Allows(from, origin)
			judged[one] = is
		}
		return is
	}
	own := src.Annotations.AllowFrom
	var changes []reload.GrantChange
	for _, step := range g.steps {
		before := step.before.Any(allowed)
		version := step.version
		if step.listed && version == g.steps[len(g.steps)-1].version && g.createdAfter(src, from) {
			version = max(version, src.seen.Content+1)
		}
		changes = append(changes, reload.GrantChange{Version: version, Before: before})
	}
	src.seen.Grant(namespace, own, changes, allows)
	switch {
	case allows && own.Has(namespace):
		src.AllowedAt = grant.Earlier(src.AllowedAt, since)
	case allows:
		src.Annotations.AllowFrom, src.AllowedAt = annotations.AllowOnly(namespace), since
	}
}

// createdAfter reports whether all ReferenceGrants that allow a source were created after its data was
// written. The clocks of two API servers may differ by seconds.
func (g *granted) createdAfter(src *sourceRecord, from grant.From) bool {
	created := g.set.NotBefore(from, src.Key.Origin().Local())
	shown := created != 0 && src.seen.Content != 0 && !src.seen.Timeless && !src.DataTime.IsZero()
	return shown && src.DataTime.Add(source.StartLag).Before(time.Unix(int64(created), 0))
}

// withGrants adds the ReferenceGrants to the sources of other namespaces that a workload names. If
// they are not known, the entries of the sources that need them stay in the ledger, whether the
// sources exist or not. Of a deleted source, the consent at its deletion counts.
func (s *State) withGrants(f *reload.Facts, foreign []source.LocalKey, found []gathered) {
	if s.granted == nil {
		return
	}
	w, exist := &f.Workload, map[source.LocalKey]bool{}
	for i := range found {
		it := &found[i]
		if seen := it.Key.SeenFrom(w.Key.Namespace); seen != it.Key {
			g, known := s.grantsOf(it.Key.Namespace)
			it.grants, it.undecided = g, !known
			exist[seen.Local()] = true
		}
	}
	for _, local := range foreign {
		origin := local.In(w.Key.Namespace).Origin()
		g, known := s.grantsOf(origin.Namespace)
		gone, departed := f.Gone[local]
		switch {
		case exist[local], departed && gone.Source.Annotations.AllowFrom.Has(w.Key.Namespace):
		case departed && g.at(gone.Version).Any(func(one *grant.Grant) bool { return one.Allows(grant.Of(w), origin.Local()) }):
			gone.Source.Annotations.AllowFrom = annotations.AllowOnly(w.Key.Namespace)
			f.Gone[local] = gone
		case !known:
			f.Unselected = append(f.Unselected, local)
		}
	}
}

// Consents reports whether a source of another namespace, if it exists, allows a workload, itself or
// by a ReferenceGrant. It is not known while ReferenceGrants are not.
func (s *State) Consents(origin source.Key, w *workload.Workload) (consents, known bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	src, exists := s.index.source(origin)
	if exists && src.Annotations.AllowFrom.Has(w.Key.Namespace) {
		return true, true
	}
	g, known := s.grantsOf(origin.Namespace)
	_, allows := g.all().Allows(grant.Of(w), origin.Local())
	return exists && allows, known || allows
}
