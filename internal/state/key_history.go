package state

import (
	"cmp"
	"maps"
	"time"

	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// keyHistory is when keys of a source changed. It exists only for sources of which some workload
// does not count all keys, and that the watch has shown to change. For all others, the history of
// the whole source says as much as is needed. It is replaced, and never changed.
type keyHistory struct {
	// first is what was known of the whole source before these changes.
	first   wholeHistory
	changed map[string]keyChange
}

// wholeHistory is the history of a source at one time.
type wholeHistory struct {
	source  source.Source
	seen    reload.SourceSeen
	changed uint64
}

// keyChange is the latest change of a key.
type keyChange struct {
	version  uint64
	dataTime time.Time
	editedAt int64
	timeless bool
}

// mostKeyChanges bounds the keys of one history. With more, all keys count as changed.
const mostKeyChanges = 256

// recordKeys records a change of keys that the watch has shown.
func (r *sourceRecord) recordKeys(known *sourceRecord, keys []string) {
	history := keyHistory{first: wholeHistory{known.Source, known.seen, known.changed}, changed: map[string]keyChange{}}
	if known.keys != nil {
		history = keyHistory{known.keys.first, maps.Clone(known.keys.changed)}
	}
	change := keyChange{r.seen.Version, r.DataTime, r.EditedAt, r.seen.Timeless}
	for _, key := range keys {
		if history.changed[key] = change; len(history.changed) > mostKeyChanges {
			r.keys = nil
			return
		}
	}
	r.keys = &history
}

// latest is the latest change of one of the keys that count.
func (h *keyHistory) latest(keys *source.Keys) (latest keyChange, found bool) {
	for name, change := range h.changed {
		if keys.Has(name) && (!found || change.version > latest.version) {
			latest, found = change, true
		}
	}
	return latest, found
}

// changedFor is the version of the latest event that changed a key that counts.
func (r *sourceRecord) changedFor(keys *source.Keys) uint64 {
	if keys == nil || r.keys == nil {
		return r.changed
	}
	if latest, found := r.keys.latest(keys); found {
		return latest.version
	}
	return r.keys.first.changed
}

// changedAfter reports whether a key that counts for a workload changed after a version. To match its
// annotations takes time, so they are only matched if any key did.
func (s *State) changedAfter(w *workloadRecord, now *sourceRecord, version uint64) bool {
	return now.changed > version && now.changedFor(w.keysOf(&now.Source, s.keys)) > version
}

// concern is the source as a workload sees it for which only some keys count.
func (r *sourceRecord) concern(keys *source.Keys) reload.Concern {
	c := reload.Concern{Source: r.Source, Seen: r.seen}
	c.Count(keys)
	if keys == nil || r.keys == nil {
		return c
	}
	if latest, found := r.keys.latest(keys); found {
		c.Seen.Content, c.Seen.Edited, c.Seen.Timeless = latest.version, true, latest.timeless
		c.Source.DataTime, c.Source.EditedAt = latest.dataTime, latest.editedAt
		return c
	}
	first := &r.keys.first
	c.Seen.Content, c.Seen.Edited, c.Seen.Timeless = first.seen.Content, first.seen.Edited, first.seen.Timeless
	c.Seen.Bound = cmp.Or(first.seen.Bound, first.seen.Version)
	c.Source.DataTime, c.Source.EditedAt = first.source.DataTime, first.source.EditedAt
	c.Earlier = &first.source
	return c
}

// keysOf are the keys of the sources of a workload that count, without the sources of which all do,
// and as if it named and selected none: an event must not match thousands of references.
func keysOf(w *workload.Workload, byDefault policy.KeyMode) map[source.LocalKey]*source.Keys {
	rule := w.Policy.KeyRule()
	if !rule.Restricts(byDefault) {
		return nil
	}
	found := map[source.LocalKey]*source.Keys{}
	put := func(key source.LocalKey) {
		if keys := rule.Of(key, w.UsedKeys(key), 0, byDefault).Keys; keys != nil {
			found[key] = keys
		}
	}
	for i := range w.References {
		if ref := &w.References[i]; !ref.UsesAll() {
			put(ref.Key)
		}
	}
	for _, key := range rule.Listed() {
		put(key)
	}
	return found
}

// keysOf are the keys of a source that count; nil for all.
func (w *workloadRecord) keysOf(src *source.Source, byDefault policy.KeyMode) *source.Keys {
	key := src.Key.SeenFrom(w.Key.Namespace).Local()
	keys := w.links.keys[key]
	if keys == nil {
		return nil
	}
	rule := w.Policy.KeyRule()
	return rule.Of(key, keys, w.Policy.WithoutReference(key, src.Annotations.Labels), byDefault).Keys
}

// changeKeys returns the workloads for which a key that changed counts, and records the change if
// there are workloads for which not all keys count.
func (s *State) changeKeys(concerned []workload.Key, next, known *sourceRecord, changes keyChanges, live bool) []workload.Key {
	if !next.Key.Kind.HasKeys() {
		return concerned
	}
	if changes.before != known.Digest {
		changes = changesOf(&next.Source, &known.Source) // another event came first
	}
	affected, restricted := make([]workload.Key, 0, len(concerned)), false
	for _, concern := range concerned {
		keys := s.workloads[concern].keysOf(&next.Source, s.keys)
		restricted = restricted || keys != nil
		if changes.count(keys) {
			affected = append(affected, concern)
		}
	}
	// An incomplete history would make a later change of keys look like an earlier one.
	if next.keys = nil; restricted && live {
		next.recordKeys(known, changes.keys)
	}
	return affected
}
