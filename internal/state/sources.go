package state

import (
	"cmp"
	"strconv"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// sourceRecord is a source with its observed history.
type sourceRecord struct {
	source.Source
	seen reload.SourceSeen
	// changed is the version of the latest event that changed the data.
	changed uint64
	// departure is when the source was deleted; nil for all existing sources, of which there are
	// many.
	departure *reload.Departure
}

// PutSource stores a source and returns the workloads to reconcile because of it: none if neither
// its data nor its annotations differ from what was known. Live is an event of a watch that has
// missed nothing since the last complete snapshot.
func (s *State) PutSource(src source.Source, live bool) []workload.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	version := VersionOf(src.ResourceVersion)
	s.newest = max(s.newest, version)
	known, ok := s.known(src.Key)
	gone, back := s.gone[src.Key]
	if back = back && !ok && live; back {
		known, ok = gone, true // a recreated source may or may not have changed, like any other
	} else {
		ok = ok && known.UID == src.UID
	}
	delete(s.gone, src.Key)
	// The reports of Pods come from many objects, each with a version of its own.
	if ok && !src.Key.Kind.Reported() && overtaken(version, known.seen.Version, live) {
		return nil
	}
	differs := !ok || known.Digest != src.Digest
	if !differs && known.UID == src.UID && src.DataTime.Before(known.DataTime) {
		// Its managed fields were removed, but the times that they showed remain true.
		src.DataTime, src.EditedAt, src.Untracked = known.DataTime, known.EditedAt, known.Untracked
	}
	next := sourceRecord{Source: src, seen: reload.SourceSeen{Version: version}, changed: version}
	if !differs {
		next.changed = known.changed
	}
	if ok {
		next.inherit(&known, differs, live, back)
	} else {
		next.appear(live)
	}
	s.index.addSource(&next)
	// An edit that no watch has shown may have been reverted before this version. A label moves the
	// time as well, but cannot be such an edit.
	away := ok && (differs || !live && src.EditedAt > known.EditedAt)
	if !back && !differs && !away && known.Annotations == src.Annotations {
		return nil
	}
	concerned := s.index.candidates(src.Key)
	switch {
	case away:
		s.recordChanged(concerned, next, known, live)
	case !ok:
		s.recordCreated(concerned, next, known, live)
	}
	return concerned
}

// appear records what the first event of a source shows.
func (r *sourceRecord) appear(live bool) {
	if live {
		version := r.seen.Version
		r.seen.Content, r.seen.Annotations, r.seen.Matched, r.seen.Created = version, version, version, version
	}
}

// inherit records what another event of a known source shows. Back reports whether the source was
// recreated.
func (r *sourceRecord) inherit(known *sourceRecord, differs, live, back bool) {
	if r.seen.Timeless = known.seen.Timeless; differs {
		r.seen.Timeless = timeless(&r.Source, &known.Source)
	}
	r.appear(live)
	if !back {
		r.seen.Created = known.seen.Created
	}
	if !live {
		return
	}
	if known.Annotations.Match || !r.Annotations.Match {
		r.seen.Matched = known.seen.Matched
	}
	if !admits(known.Annotations, r.Annotations) {
		r.seen.Annotations = known.seen.Annotations
	}
	r.seen.Edited = differs || known.seen.Edited
	if !differs {
		r.seen.Content = known.seen.Content
		if !back && known.seen.Content == 0 {
			r.seen.Bound = cmp.Or(known.seen.Bound, known.seen.Version)
		}
	}
}

// timeless reports whether the API server recorded no time for a change: it only removed keys, or
// fields are not tracked. Pods that lose an object of a SecretProviderClass report that like any
// other change.
func timeless(now, before *source.Source) bool {
	return !now.Key.Kind.Reported() && (now.Untracked && now.UID == before.UID || now.OnlyLost(before))
}

// admits reports whether changed annotations may let a source concern more workloads.
func admits(before, now source.Annotations) bool {
	return before.Ignore && !now.Ignore || before.Unselected && !now.Unselected
}

// recordCreated records, for workloads that were compared while a source did not exist, that it
// exists now, or that it was recreated unobserved. A Pod that waited for the source starts with its
// initial data, even if the data changes next.
func (s *State) recordCreated(concerned []workload.Key, now, before sourceRecord, live bool) {
	key := now.Key.Local()
	for _, concern := range concerned {
		w := s.workloads[concern]
		if _, noted := w.away[key]; noted || !w.compared {
			continue
		}
		away := reload.Away{Made: true, Noted: true}
		switch {
		case live:
			away.Version, away.Time = now.seen.Version, now.DataTime
		case before.seen.Version != 0:
			away.Version = before.seen.Version + 1
		case w.seen.ComparedAt == 0:
			continue // another replica has compared it, with sources that had not arrived here yet
		default:
			away.Version = w.seen.ComparedAt + 1
		}
		w.recordAway(key, away)
	}
}

// recordChanged records for workloads that a source had other data before. Only the first time
// counts until the next comparison, because later ones cannot be distinguished.
func (s *State) recordChanged(concerned []workload.Key, now, before sourceRecord, live bool) {
	key := now.Key.Local()
	noted := !timeless(&now.Source, &before.Source)
	for _, concern := range concerned {
		w := s.workloads[concern]
		away, ok := w.away[key]
		switch {
		case ok:
		case !w.compared:
			away.Version = 1 // it may have changed before we started
		case live && noted && before.departure != nil && w.doesWithout(key):
			away.Version = before.departure.Version // Pods may have started while it did not exist
		case live && noted:
			away.Version, away.Time = now.seen.Version, now.DataTime
		default:
			away.Version = before.seen.Version + 1
		}
		away.Noted = noted
		w.recordAway(key, away)
	}
}

// doesWithout reports whether Pods of a workload start even if a referenced source does not exist.
func (w *workloadRecord) doesWithout(key source.LocalKey) bool {
	ref, refers := w.Reference(key)
	return refers && workload.Optional(ref.Uses)
}

// Source returns a known source.
func (s *State) Source(key source.Key) (source.Source, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	src, ok := s.known(key)
	return src.Source, ok
}

func (s *State) known(key source.Key) (sourceRecord, bool) {
	src, ok := s.index.source(key)
	if !ok {
		return sourceRecord{}, false
	}
	return *src, true
}

// DeleteSource removes a source whose deletion was observed, and returns the workloads that it may
// have concerned.
func (s *State) DeleteSource(key source.Key, departure reload.Departure) []workload.Key {
	missed := s.missed(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	concerned := s.index.candidates(key)
	if known, ok := s.known(key); ok && missed {
		known.departure = &departure
		s.keepGone(known)
	}
	s.index.dropSource(key)
	return concerned
}

// KeepSources removes the sources of a kind, in one namespace or in all, that a complete snapshot
// did not contain, and returns the workloads that they may have concerned.
func (s *State) KeepSources(kind source.Kind, namespace string, named map[types.NamespacedName]struct{}) (concerned []workload.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key := range s.index.allSources() {
		if key.Kind != kind || namespace != "" && key.Namespace != namespace {
			continue
		}
		if _, ok := named[types.NamespacedName{Namespace: key.Namespace, Name: key.Name}]; !ok {
			s.index.dropSource(key)
			concerned = append(concerned, s.index.candidates(key)...)
		}
	}
	for key := range s.gone {
		if key.Kind == kind && (namespace == "" || key.Namespace == namespace) {
			delete(s.gone, key) // its later history is unknown
		}
	}
	return concerned
}

// overtaken reports whether an object is not newer than the known version. The watch may bring the
// version that the response to our own write contained. An older snapshot counts, because then the
// API server was restored.
func overtaken(version, known uint64, live bool) bool {
	if version == 0 || known == 0 {
		return false
	}
	if live {
		return version <= known
	}
	return version == known
}

// VersionOf parses a resource version; 0 if it is no number, and then the order is unknown.
func VersionOf(resourceVersion string) uint64 {
	v, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0
	}
	return v
}
