package state

import (
	"cmp"

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
	// keys is when keys changed, for a source of which some workload does not count all keys; nil
	// for all others.
	keys *keyHistory
}

// PutSource stores a source and returns the workloads to reconcile because of it: none if neither
// its data nor its annotations differ from what was known. Live is an event of a watch that has
// missed nothing since the last complete snapshot.
func (s *State) PutSource(src source.Source, live bool) []workload.Key {
	concerned, _ := s.ReceiveSource(src, live)
	return concerned
}

// ReceiveSource is PutSource. It also returns how many workloads do not have to be reconciled
// because none of their keys changed.
func (s *State) ReceiveSource(src source.Source, live bool) (concerned []workload.Key, spared int) {
	changes := s.compareKeys(&src)
	s.mu.Lock()
	defer s.mu.Unlock()
	version := VersionOf(src.ResourceVersion)
	if src.Bundle == nil {
		return s.putSource(src, version, changes, live)
	}
	s.sawBundles(version, live)
	before, _ := s.index.source(src.Key)
	concerned, spared = s.putSource(src, version, changes, live)
	if now, _ := s.index.source(src.Key); live && now != before {
		concerned = append(concerned, s.uniteWith(before, now, reload.Departure{Version: version})...)
	}
	return concerned, spared
}

// putSource also stores a union of bundles, in the version of the event that changed it.
func (s *State) putSource(src source.Source, version uint64, changes keyChanges, live bool) (concerned []workload.Key, spared int) {
	s.newest = max(s.newest, version)
	known, ok, back := s.before(&src, live)
	// The reports of Pods come from many objects, each with a version of its own, as bundles do.
	if ok && !src.Key.Kind.Reported() && !src.Key.Local().IsUnion() && overtaken(version, known.seen.Version, live) {
		return nil, 0
	}
	if s.noHistory {
		known, ok, back = sourceRecord{}, false, false
	}
	differs := !ok || known.Digest != src.Digest
	if !differs {
		known.keepTimes(&src, live)
	}
	next := sourceRecord{Source: src, seen: reload.SourceSeen{Version: version}, changed: version}
	if !live && src.Key.Local().IsUnion() {
		next.seen.Version = s.unitedAt(version)
	}
	if ok {
		next.inherit(&known, differs, live, back)
	} else {
		next.appear(live)
		next.seen.Absent = s.absentIn(src.Key, live)
	}
	concerned = s.index.candidates(src.Key)
	affected := concerned
	if ok && differs {
		affected = s.changeKeys(concerned, &next, &known, changes, live)
	}
	s.index.addSource(&next)
	s.noteSource(src.Key)
	away := ok && (differs || !live && editedSince(&src, &known.Source))
	before := known.Annotations
	before.Labels = src.Annotations.Labels
	if !back && !differs && !away && before == src.Annotations {
		return s.selecting(&known, &src), 0
	}
	switch {
	case away:
		s.recordChanged(affected, next, known, live)
	case !ok:
		s.recordCreated(concerned, next, known, live)
	}
	if ok && !back && known.Annotations == src.Annotations {
		return affected, len(concerned) - len(affected)
	}
	return concerned, 0
}

// before returns what was known of a source before an event. Back reports whether a watch has shown that it
// was recreated. If a snapshot shows it after its deletion, known is the deleted one.
func (s *State) before(src *source.Source, live bool) (known sourceRecord, ok, back bool) {
	known, ok = s.known(src.Key)
	gone, back := s.gone.get(src.Key)
	s.gone.drop(src.Key)
	switch {
	case back && !ok && live:
		return gone, true, true // a recreated source may or may not have changed, like any other
	case back && !ok:
		return gone, false, false // it may have been recreated more than once
	}
	return known, ok && known.UID == src.UID, false
}

// editedSince reports whether a source with the same data was provably edited since another version:
// the edit may have been reverted. A label moves the time as well, but cannot be such an edit. And a
// manager that loses its label to another one then owns only data, with the time that was known
// before.
func editedSince(now, before *source.Source) bool {
	return now.EditedAt > before.EditedAt && now.EditedAt != before.DataTime.Unix()
}

// keepTimes is for the same data. If its managed fields were removed, the times that they showed
// remain true. And a watch shows that a later write edited nothing: a client that applies the same data
// for the first time gets an entry that owns only data, with a new time.
func (r *sourceRecord) keepTimes(src *source.Source, live bool) {
	switch {
	case r.UID != src.UID:
	case src.DataTime.Before(r.DataTime):
		src.DataTime, src.EditedAt, src.Untracked = r.DataTime, r.EditedAt, r.Untracked
	case live && src.EditedAt > r.DataTime.Unix() && !src.Key.Kind.Reported() && !src.Key.Local().IsUnion():
		src.EditedAt = r.EditedAt
	}
}

// appear records what the first event of a source shows.
func (r *sourceRecord) appear(live bool) {
	if live {
		version := r.seen.Version
		annotated := cmp.Or(r.AnnotatedIn, version) // its watch may lag behind that of the data
		r.seen.Content, r.seen.Annotations, r.seen.Matched, r.seen.Created = version, annotated, annotated, version
	}
}

// inherit records what another event of a known source shows. Back reports whether the source was
// recreated.
func (r *sourceRecord) inherit(known *sourceRecord, differs, live, back bool) {
	if r.seen.Timeless = known.seen.Timeless; differs {
		r.seen.Timeless = timeless(&r.Source, &known.Source)
	} else {
		r.changed = known.changed
	}
	r.appear(live)
	if back {
		r.seen.Departed = known.departure.Version
	} else {
		r.seen.Created, r.seen.Departed, r.seen.Absent = known.seen.Created, known.seen.Departed, known.seen.Absent
	}
	if !live {
		if r.AnnotatedIn != 0 && r.AnnotatedIn == known.AnnotatedIn {
			// A gap in the watch of the data hides no event of the object with the annotations.
			r.seen.Annotations, r.seen.Matched = known.seen.Annotations, known.seen.Matched
		}
		return
	}
	r.keys = known.keys
	if known.Annotations.Match || !r.Annotations.Match {
		r.seen.Matched = known.seen.Matched
	}
	if !admits(known.Annotations, r.Annotations) {
		r.seen.Annotations = known.seen.Annotations
	}
	r.seen.Allowed = known.seen.Allowed
	if known.Annotations.AllowFrom != r.Annotations.AllowFrom {
		r.seen.Allow(r.seen.Version, known.Annotations.AllowFrom)
	}
	r.seen.Relabeled = known.seen.Relabeled
	if known.Annotations.Labels != r.Annotations.Labels {
		r.seen.Relabel(r.seen.Version, known.Annotations.Labels)
	}
	r.seen.Edited = differs || known.seen.Edited
	if !differs {
		r.seen.Content, r.seen.Written = known.seen.Content, known.seen.Written
		if back && r.seen.Written.IsZero() {
			r.seen.Written = known.DataTime
		}
		if !back && known.seen.Content == 0 {
			r.seen.Bound = cmp.Or(known.seen.Bound, known.seen.Version)
		}
	}
}

// timeless reports whether the API server recorded no time for a change: it only removed keys, without
// a later time, or fields are not tracked. Pods that lose an object of a SecretProviderClass report
// that like any other change.
func timeless(now, before *source.Source) bool {
	return !now.Key.Kind.Reported() && (now.Untracked && now.UID == before.UID || now.OnlyLost(before) && !now.DataTime.After(before.DataTime))
}

// admits reports whether changed annotations may let a source concern more workloads.
func admits(before, now source.Annotations) bool {
	return before.Ignore && !now.Ignore || before.Unselected && !now.Unselected
}

// recordCreated records, for workloads that were compared while a source did not exist, that it
// exists now, and for all that it was recreated unobserved. A Pod that waited for the source starts
// with its initial data, even if the data changes next.
func (s *State) recordCreated(concerned []workload.Key, now, before sourceRecord, live bool) {
	for _, concern := range concerned {
		w, key := s.workloads[concern], now.Key.SeenFrom(concern.Namespace).Local()
		if _, noted := w.away[key]; noted || !w.compared && before.seen.Version == 0 {
			continue
		}
		away := reload.Away{Made: true, Noted: true}
		switch {
		case live:
			away.Version, away.Time = now.seen.Version, now.DataTime
		case !w.compared && before.departure != nil && before.Digest == now.Digest:
			away.Version = before.departure.Version // until then, it had this data
		case !w.compared, before.seen.Version != 0 && before.departure == nil:
			away.Version = before.seen.Version + 1
		case w.seen.ComparedAt == 0:
			continue // another replica has compared it, with sources that had not arrived here yet
		default:
			away.Version = w.seen.ComparedAt + 1
		}
		w.recordAway(key, away, now.seen.Version)
	}
}

// recordChanged records for workloads that a source had other data before. Only the first time
// counts until the next comparison, because later ones cannot be distinguished.
func (s *State) recordChanged(concerned []workload.Key, now, before sourceRecord, live bool) {
	noted := !timeless(&now.Source, &before.Source)
	for _, concern := range concerned {
		w, key := s.workloads[concern], now.Key.SeenFrom(concern.Namespace).Local()
		away, ok := w.away[key]
		if !ok {
			away = s.leaves(w, key, &now, &before, live && noted)
		}
		away.Noted = noted
		w.recordAway(key, away, now.seen.Version)
	}
}

// leaves is since when a source has other data than a workload was compared with. Seen reports whether
// a watch has shown the change, and its time.
func (s *State) leaves(w *workloadRecord, key source.LocalKey, now, before *sourceRecord, seen bool) reload.Away {
	away := reload.Away{Late: now.seen.Version <= w.comparedIn}
	if w.keysOf(&now.Source, s.keys) == nil && !key.IsForeign() {
		away.Before = before.Digest
	}
	switch {
	case !w.compared:
		away.Version = 1 // it may have changed before we started
	case seen && before.departure != nil && w.doesWithout(key):
		away.Version = before.departure.Version // Pods may have started while it did not exist
	case seen:
		away.Version, away.Time = now.seen.Version, now.DataTime
	default:
		away.Version = before.seen.Version + 1
	}
	return away
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

// KeepSources removes the sources of a kind, in one namespace or in all, that a complete snapshot
// did not contain, and returns the workloads that they may have concerned. Version is that of the
// snapshot, 0 if it is unknown: a source that only a later event shows did not exist then.
func (s *State) KeepSources(kind source.Kind, namespace string, named map[types.NamespacedName]struct{}, version uint64) []workload.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.keepSources(kind, namespace, named, version)
}

// keepSources is KeepSources under the lock.
func (s *State) keepSources(kind source.Kind, namespace string, named map[types.NamespacedName]struct{}, version uint64) (concerned []workload.Key) {
	for key := range s.index.allSources() {
		if key.Kind != kind || namespace != "" && key.Namespace != namespace || key.Local().IsUnion() {
			continue
		}
		if _, ok := named[types.NamespacedName{Namespace: key.Namespace, Name: key.Name}]; !ok {
			s.index.dropSource(key)
			s.noteSource(key)
			concerned = append(concerned, s.index.candidates(key)...)
		}
	}
	if kind == source.ClusterTrustBundle {
		s.bundlesAt, s.bundlesListed = version, version
		clear(s.bundlesChanged)
		if !s.united {
			concerned = append(concerned, s.index.usersOf(kind)...)
		}
		concerned = append(concerned, s.uniteAll()...)
	}
	s.gone.forget(kind, namespace, version)
	return concerned
}

// selecting returns the workloads that select sources by their labels, if only the labels of a
// source changed. Those without a selector are not reconciled: labels change often.
func (s *State) selecting(known *sourceRecord, src *source.Source) []workload.Key {
	if known.Annotations.Labels == src.Annotations.Labels {
		return nil
	}
	var found []workload.Key
	for key := range s.index.trying[src.Key.Namespace] {
		if s.workloads[key].Policy.SelectorFor(src.Key.Kind) != nil {
			found = append(found, key)
		}
	}
	return found
}
