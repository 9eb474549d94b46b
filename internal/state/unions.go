package state

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// A volume may select ClusterTrustBundles by signer and labels. Together these are one source, which
// exists here as long as a workload references it: a bundle that comes, goes, or gets other labels
// changes the data of the union, and none of these is a creation or deletion for its Pods.

// union is a union of bundles, with the workloads that reference it.
type union struct {
	source.Union
	users keys
}

func (x *index) linkUnions(w workload.Key, unions []source.LocalKey) {
	for _, key := range unions {
		u, ok := x.union(key)
		if !ok {
			of, valid := key.Union()
			if !valid {
				continue
			}
			u = &union{Union: of, users: keys{}}
			put(x.unions, of.Signer, key, u)
		}
		u.users[w] = struct{}{}
	}
}

func (x *index) union(key source.LocalKey) (*union, bool) {
	u, ok := x.unions[key.Signer()][key]
	return u, ok
}

func (x *index) dropBundle(key source.Key) {
	if key.Kind != source.ClusterTrustBundle {
		return
	}
	if src, ok := x.source(key); ok && src.Bundle != nil {
		drop(x.bundles, src.Bundle.Signer, key.Local())
	}
}

// follow adds the sources of unions that a workload references since a version, and that no workload
// has referenced before. Before are those that this one has referenced.
func (s *State) follow(unions, before []source.LocalKey, since uint64) {
	if !s.united {
		return
	}
	for _, key := range unions {
		u, ok := s.index.union(key)
		if _, known := s.index.source(key.In("")); !ok || known || len(u.users) > 1 || slices.Contains(before, key) {
			continue
		}
		// Its bundles were there before. So it is as if a snapshot had brought it, and not created.
		src, newest, exists := s.bundlesOf(u)
		changed := s.changedIn(u)
		if !exists {
			if _, kept := s.gone.get(key.In("")); !kept && changed > since { // its last bundle may have left
				s.gone.keep(sourceRecord{Source: source.Source{Key: key.In("")}, departure: &reload.Departure{Version: changed}})
			}
			continue
		}
		seen := reload.SourceSeen{Version: s.unitedAt(newest)}
		if s.bundlesListed != 0 {
			seen.Bound = max(s.bundlesListed, changed) // later events were about bundles of others
		}
		if changed > since {
			// The watch of bundles is ahead of that of workloads.
			seen.Content, seen.Edited = changed, true
		}
		s.index.addSource(&sourceRecord{Source: src, seen: seen, changed: max(newest, seen.Content)})
	}
}

// unfollow drops the sources of unions that no workload references any more.
func (s *State) unfollow(unions []source.LocalKey) {
	for _, key := range unions {
		if u, ok := s.index.union(key); ok && len(u.users) == 0 {
			drop(s.index.unions, u.Signer, key)
			s.index.dropSource(key.In(""))
			s.gone.drop(key.In("")) // no Pod has its data any more
		}
	}
}

// KeepBundles is KeepSources for ClusterTrustBundles, with the version of the snapshot: a union may
// have lost a bundle in any version up to that one.
func (s *State) KeepBundles(named map[types.NamespacedName]struct{}, version uint64) []workload.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keepSources(source.ClusterTrustBundle, "", named, version)
}

// sawBundles records an event of a bundle. If the version of the snapshot before it is unknown, so is
// what came between the two. Until a new snapshot is complete, its bundles may be newer than the
// latest one.
func (s *State) sawBundles(version uint64, live bool) {
	if !live {
		s.bundlesListed = 0
	}
	if live && s.bundlesAt != 0 {
		s.bundlesAt = max(s.bundlesAt, version)
	}
}

// uniteAll makes all unions from a complete snapshot, and returns the workloads that they may
// concern.
func (s *State) uniteAll() []workload.Key {
	s.united = true
	var concerned []workload.Key
	for _, of := range s.index.unions {
		for _, u := range of {
			concerned = append(concerned, s.unite(u, nil)...)
		}
	}
	return concerned
}

// uniteWith makes the unions to which a bundle belonged before an event, or belongs since. Either
// record may be nil.
func (s *State) uniteWith(before, now *sourceRecord, at reload.Departure) []workload.Key {
	has := func(u *union, r *sourceRecord) bool { return r != nil && u.Has(&r.Source) }
	same := before != nil && now != nil && before.Digest == now.Digest && maps.Equal(before.Bundle.Labels, now.Bundle.Labels)
	signers := map[string]struct{}{}
	for _, r := range []*sourceRecord{before, now} {
		if r == nil || r.Bundle == nil {
			continue
		}
		signers[r.Bundle.Signer] = struct{}{}
		if !same {
			s.noteBundle(r.Bundle, at.Version)
		}
	}
	var concerned []workload.Key
	for signer := range signers {
		for _, u := range s.index.unions[signer] {
			if has(u, before) || has(u, now) {
				concerned = append(concerned, s.unite(u, &at)...)
			}
		}
	}
	return concerned
}

// bundleChange is a version in which a bundle with these labels changed, or got or lost them.
type bundleChange struct {
	version uint64
	labels  labels.Set
}

// maxBundleChanges is more than the changes by which the watch of bundles is ahead of that of
// workloads. Of earlier ones, the labels are unknown, so that any union may have changed.
const maxBundleChanges = 32

func (s *State) noteBundle(b *source.TrustBundle, version uint64) {
	changes := slices.Concat(s.bundlesChanged[b.Signer], []bundleChange{{version, b.Labels}})
	s.bundlesChanged[b.Signer] = changes[max(0, len(changes)-maxBundleChanges):]
}

// changedIn is the version in which a watch has shown the latest change of a union since the last
// snapshot; 0 if it has shown none.
func (s *State) changedIn(u *union) uint64 {
	changes := s.bundlesChanged[u.Signer]
	for _, c := range slices.Backward(changes) {
		if u.Selector.Matches(c.labels) {
			return c.version
		}
	}
	if len(changes) == maxBundleChanges {
		return changes[0].version
	}
	return 0
}

// unitedAt is the version that the data of a union of the present bundles cannot be newer than; 0 if
// it is unknown. Newest is the newest version of these bundles. Another one may have left later.
func (s *State) unitedAt(newest uint64) uint64 {
	if s.bundlesAt == 0 {
		return 0
	}
	return max(s.bundlesAt, newest)
}

// bundlesOf makes a union of the present bundles, with the newest version of any of them.
func (s *State) bundlesOf(u *union) (src source.Source, newest uint64, exists bool) {
	var bundles []*source.Source
	for _, src := range s.index.bundles[u.Signer] {
		if u.Has(&src.Source) {
			bundles = append(bundles, &src.Source)
			newest = max(newest, src.seen.Version)
		}
	}
	src, exists = u.Of(bundles)
	return src, newest, exists
}

// unite stores the present union. At is the event that may have changed it, and nil for a snapshot.
func (s *State) unite(u *union, at *reload.Departure) []workload.Key {
	key := u.Key().In("")
	known, existed := s.known(key)
	if src, newest, ok := s.bundlesOf(u); ok {
		if at != nil {
			concerned, _ := s.putSource(src, at.Version, keyChanges{}, true)
			return concerned
		}
		if existed && newest <= known.seen.Version && known.Digest == src.Digest && known.Annotations == src.Annotations {
			return nil // what the watch has shown of it remains true
		}
		concerned, _ := s.putSource(src, newest, keyChanges{}, false)
		return concerned
	}
	if !existed {
		return nil
	}
	if at != nil {
		known.departure = at
		s.gone.keep(known)
	}
	s.index.dropSource(key)
	return s.index.candidates(key)
}

// Unite makes the unions after sources were put that are all there are.
func (s *State) Unite() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uniteAll()
}

// Unions are the unions to which a bundle belongs.
func (s *State) Unions(src *source.Source) []source.LocalKey {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if src.Bundle == nil {
		return nil
	}
	var all []source.LocalKey
	for key, u := range s.index.unions[src.Bundle.Signer] {
		if u.Has(src) {
			all = append(all, key)
		}
	}
	slices.SortFunc(all, source.CompareLocalKeys)
	return all
}

// Users are the workloads of all namespaces that a source may concern, also those that use a union to
// which it belongs.
func (s *State) Users(key source.Key) []workload.Key {
	s.mu.RLock()
	defer s.mu.RUnlock()
	users := keys{}
	for _, w := range s.index.candidates(key) {
		users[w] = struct{}{}
	}
	if src, known := s.index.source(key); known && src.Bundle != nil {
		for _, u := range s.index.unions[src.Bundle.Signer] {
			if u.Has(&src.Source) {
				maps.Copy(users, u.users)
			}
		}
	}
	return slices.Collect(maps.Keys(users))
}
