package state

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/grant"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// granted is what ReferenceGrants allow in one namespace. It is never changed. Nil allows nothing.
type granted struct {
	set *grant.Set
	// steps are the latest changes after the first snapshot.
	steps []grantStep
}

type grantStep struct {
	version uint64
	before  *grant.Set
	// listed reports whether a snapshot has shown the change, which was made in that version or later.
	listed bool
}

// maxGrantSteps is more than all ReferenceGrants of a namespace. It bounds what its users can let
// Reroll store and compare.
const maxGrantSteps = grant.Most + 28

// ReadGrants lets ReferenceGrants count. Until a snapshot of them is complete, nothing is decided
// about sources of other namespaces that do not allow a workload themselves.
func (s *State) ReadGrants() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.granted, s.grantsAt = map[string]*granted{}, map[string]uint64{}
}

// SetGrants replaces all ReferenceGrants, by namespace. Known reports whether all of a namespace are
// known: by its name, or by the empty one for all namespaces.
func (s *State) SetGrants(all map[string]*grant.Set, known []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, at := s.granted, s.grantsAt
	s.granted, s.grantsAt = map[string]*granted{}, map[string]uint64{}
	for namespace, set := range all {
		s.granted[namespace] = &granted{set: set}
	}
	for _, namespace := range known {
		s.grantsAt[namespace] = 0
	}
	for namespace, naming := range s.index.naming {
		_, knew := at[s.watchedGrants(namespace)]
		_, knows := s.grantsAt[s.watchedGrants(namespace)]
		if knew == knows && before[namespace].all().Equal(s.granted[namespace].all()) {
			continue
		}
		for key := range naming {
			s.noteChange(key)
		}
	}
}

// watchedGrants is the namespace with which the ReferenceGrants of another one are watched.
func (s *State) watchedGrants(namespace string) string {
	if _, all := s.grantsAt[""]; all {
		return ""
	}
	return namespace
}

// PutGrant stores a ReferenceGrant; nil for one that does not exist or allows no source. It returns
// the workloads that it concerns, and whether there are too many in its namespace.
func (s *State) PutGrant(name types.NamespacedName, g *grant.Grant, version uint64, live bool) (concerned []workload.Key, crowded bool) {
	s.mu.Lock()
	known := s.granted[name.Namespace].all()
	before := known.Get(name.Name)
	if before.Equal(g) {
		s.mu.Unlock()
		return nil, false // what was written earlier still holds
	}
	next, excess := known.With(name.Name, g)
	if !next.Equal(known) {
		s.putGrants(name.Namespace, next, version, live)
	}
	naming := s.namesIn(name.Namespace)
	s.mu.Unlock()
	return s.concernedBy([]regranted{{name.Namespace, naming, []*grant.Grant{before, g, excess}}}), excess != nil
}

// putGrants also records the change. A snapshot after a gap shows only that it was made since the
// newest known version.
func (s *State) putGrants(namespace string, next *grant.Set, version uint64, live bool) {
	watched := s.watchedGrants(namespace)
	at, known := s.grantsAt[watched]
	if live && known {
		s.grantsAt[watched] = max(at, version)
	} else {
		version = at + 1
	}
	now := &granted{set: next}
	if before := s.granted[namespace]; before != nil {
		now.steps = before.steps
	}
	if known && !s.noHistory {
		steps := append(slices.Clone(now.steps), grantStep{version, s.granted[namespace].all(), !live})
		now.steps = steps[max(0, len(steps)-maxGrantSteps):]
	}
	if s.granted[namespace] = now; next == nil && len(s.index.naming[namespace]) == 0 {
		delete(s.granted, namespace)
	}
}

// regranted are ReferenceGrants that have changed, with the workloads that name sources of their
// namespace.
type regranted struct {
	namespace string
	naming    []naming
	grants    []*grant.Grant
}

// naming is a workload with the sources of other namespaces that it names.
type naming struct {
	key     workload.Key
	from    grant.From
	sources []source.LocalKey
}

// namesIn returns the workloads that name sources of a namespace. They are matched without the lock,
// because tenants control their number.
func (s *State) namesIn(namespace string) []naming {
	all := make([]naming, 0, len(s.index.naming[namespace]))
	for key := range s.index.naming[namespace] {
		w := s.workloads[key]
		all = append(all, naming{key, grant.Of(&w.Workload), w.links.foreign})
	}
	return all
}

// concernedBy returns the workloads that one of the changed ReferenceGrants allows a source. Callers
// do not hold the lock.
func (s *State) concernedBy(changed []regranted) (concerned []workload.Key) {
	for _, c := range changed {
		for _, n := range c.naming {
			if slices.ContainsFunc(n.sources, func(local source.LocalKey) bool {
				origin := local.In(n.key.Namespace).Origin()
				return origin.Namespace == c.namespace && slices.ContainsFunc(c.grants, func(g *grant.Grant) bool { return g.Allows(n.from, origin.Local()) })
			}) {
				concerned = append(concerned, n.key)
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range concerned {
		s.noteChange(key)
	}
	return concerned
}

// KeepGrants removes the ReferenceGrants that a complete snapshot of a namespace, or of all, did not
// contain. It returns the workloads that they concern.
func (s *State) KeepGrants(watched string, named map[types.NamespacedName]struct{}, version uint64) []workload.Key {
	return s.keepGrants(watched, named, func() uint64 { return version })
}

// NoGrants records that the API server does not serve ReferenceGrants: one that comes later is newer
// than all that is known.
func (s *State) NoGrants(watched string) []workload.Key {
	return s.keepGrants(watched, nil, func() uint64 { return max(s.grantsAt[watched], s.newest) })
}

func (s *State) keepGrants(watched string, named map[types.NamespacedName]struct{}, version func() uint64) []workload.Key {
	s.mu.Lock()
	var changed []regranted
	for namespace, of := range s.granted {
		if watched != "" && namespace != watched {
			continue
		}
		var gone []*grant.Grant
		next := of.all()
		for _, name := range of.all().Names() {
			if _, there := named[types.NamespacedName{Namespace: namespace, Name: name}]; !there {
				gone = append(gone, next.Get(name))
				next, _ = next.With(name, nil)
			}
		}
		if len(gone) > 0 {
			s.putGrants(namespace, next, 0, false)
			changed = append(changed, regranted{namespace, s.namesIn(namespace), gone})
		}
	}
	var first []workload.Key
	if _, known := s.grantsAt[watched]; !known {
		first = s.namingWatched(watched)
		s.firstGrants(watched)
	}
	s.grantsAt[watched] = max(s.grantsAt[watched], version()) // a snapshot may be older than the watch before it
	s.mu.Unlock()
	return append(first, s.concernedBy(changed)...)
}

// ForgetGrants records that ReferenceGrants may not be read any more, so that it is unknown what they
// allow. It returns the workloads that name sources of other namespaces.
func (s *State) ForgetGrants(watched string) []workload.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.grantsAt[watched]; !known {
		return nil
	}
	delete(s.grantsAt, watched)
	return s.namingWatched(watched)
}

// namingWatched returns the workloads that name sources of a namespace, or of any other one.
func (s *State) namingWatched(watched string) (found []workload.Key) {
	for namespace := range s.index.naming {
		if watched == "" || namespace == watched {
			found = append(found, s.index.namingFrom(namespace)...)
		}
	}
	return found
}

// firstGrants records that the ReferenceGrants of a first snapshot may have been created at any time.
func (s *State) firstGrants(watched string) {
	for namespace, of := range s.granted {
		if (watched == "" || namespace == watched) && !s.noHistory {
			s.granted[namespace] = &granted{of.set, []grantStep{{version: 1, listed: true}}}
		}
	}
}

func (g *granted) all() *grant.Set {
	if g == nil {
		return nil
	}
	return g.set
}

// at returns the ReferenceGrants of an earlier version.
func (g *granted) at(version uint64) *grant.Set {
	if g == nil {
		return nil
	}
	if i := slices.IndexFunc(g.steps, func(step grantStep) bool { return step.version > version }); i >= 0 {
		return g.steps[i].before
	}
	return g.set
}

// grantsOf returns the ReferenceGrants of a namespace, and whether all of them are known. It is nil
// if they do not count.
func (s *State) grantsOf(namespace string) (g *granted, known bool) {
	if s.granted == nil {
		return nil, true
	}
	if _, known = s.grantsAt[s.watchedGrants(namespace)]; !known {
		return nil, false
	}
	return s.granted[namespace], true
}
