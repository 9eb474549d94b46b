package reload

import (
	"maps"
	"slices"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
)

// IsCurrent reports whether a digest in a ledger of the workload is that of the present data of a
// source, or of the keys of it that count.
func (f *Facts) IsCurrent(src *source.Source, recorded digest.Digest) bool {
	return recorded == src.Digest || recorded == src.DigestOf(f.Workload.KeysOf(src.Key.Local(), src.Annotations.Labels, f.Keys).Keys)
}

// KeysChange is a version since which other keys count, with the rule before.
type KeysChange struct {
	Version uint64
	Before  policy.KeyRule
}

// Recount records that other keys count since a version. Before is the earlier rule. If rules are too
// large, only the latest one is kept, and the versions of the others: data that is recorded by one of
// these counts as other data.
func (w *WorkloadSeen) Recount(version uint64, before policy.KeyRule) {
	recounted := append(slices.Clone(w.Recounted), KeysChange{version, before})
	w.Recounted = recounted[max(0, len(recounted)-maxWidened):]
	size := 0
	for i := len(w.Recounted) - 1; i >= 0; i-- {
		if size += w.Recounted[i].Before.Size(); size > maxEarlier && i < len(w.Recounted)-1 {
			w.Recounted[i].Before = policy.KeyRule{}
		}
	}
}

// ForgetRecounts forgets the changes of the rule that a comparison has considered.
func (w *WorkloadSeen) ForgetRecounts(compared []KeysChange) {
	if len(compared) == 0 {
		return
	}
	last := compared[len(compared)-1].Version
	w.Recounted = slices.DeleteFunc(slices.Clone(w.Recounted), func(c KeysChange) bool { return c.Version <= last })
}

// form is what a digest in a ledger that is not the present one shows of the present data.
type form uint8

const (
	// otherData is a digest of other data, as far as anything shows.
	otherData form = iota
	// wholeSource is a digest of the whole source, or of an earlier version since which no key that counts has changed.
	wholeSource
	// otherKeys is a digest of the keys that counted before.
	otherKeys
)

// formOf reports what a digest in the ledger shows: by other annotations or another flag, or with
// another pod template, other keys of the same data count.
func (f *Facts) formOf(c *Concern, recorded digest.Digest) form {
	switch {
	case !c.Source.Key.Kind.HasKeys():
		return otherData
	case c.Keys != nil && (recorded == c.Source.Digest || c.Earlier != nil && recorded == c.Earlier.Digest):
		return wholeSource
	}
	for _, keys := range f.earlierKeys(c) {
		if recorded == c.Source.DigestOf(keys) || c.Earlier != nil && recorded == c.Earlier.DigestOf(keys) {
			return otherKeys
		}
	}
	return otherData
}

// isOtherData reports whether a digest in the ledger shows other data than the current one, whichever keys
// counted for it.
func (f *Facts) isOtherData(c *Concern, recorded digest.Digest) bool {
	return recorded != c.Digest() && f.formOf(c, recorded) == otherData
}

// earlierKeys are the keys of a source that may have counted before: those that the pod template
// uses, and those by the earlier annotations.
func (f *Facts) earlierKeys(c *Concern) []*source.Keys {
	key := c.Source.Key.Local()
	all := make([]*source.Keys, 0, 1+len(f.Seen.Recounted))
	put := func(keys *source.Keys) {
		if keys != nil && !keys.Equal(c.Keys) {
			all = append(all, keys)
		}
	}
	put(f.Workload.UsedKeys(key))
	for i := range f.Seen.Recounted {
		put(f.Workload.KeysUnder(f.Seen.Recounted[i].Before, key, c.Source.Annotations.Labels, f.Keys).Keys)
	}
	return all
}

// AllCurrent reports whether a ledger's one digest for all sources of a kind is that of their present
// data, in any form.
func (f *Facts) AllCurrent(kind source.Kind, all ledger.Total) bool {
	return ledger.Aggregate(kind, entriesOf(f.Concerns)) == all.Digest || f.formOfAll(kind, f.Concerns, all.Digest) != otherData
}

// formOfAll is formOf for one digest of all sources of a kind.
func (f *Facts) formOfAll(kind source.Kind, concerns []Concern, recorded digest.Digest) form {
	if !kind.HasKeys() || recorded.IsZero() {
		return otherData
	}
	whole, used := make(map[source.LocalKey]digest.Digest, len(concerns)), map[source.LocalKey]digest.Digest{}
	restricted := false
	for i := range concerns {
		c := &concerns[i]
		key := c.Source.Key.Local()
		if key.Kind != kind {
			continue
		}
		whole[key], used[key] = c.Source.Digest, c.Source.Digest
		if keys := f.Workload.UsedKeys(key); keys != nil && f.Workload.Policy.WithoutReference(key, c.Source.Annotations.Labels) == 0 {
			used[key], restricted = c.Source.DigestOf(keys), true
		}
	}
	switch {
	case ledger.Aggregate(kind, whole) == recorded:
		return wholeSource
	case restricted && !maps.Equal(whole, used) && ledger.Aggregate(kind, used) == recorded:
		return otherKeys
	default:
		return otherData
	}
}

// otherwiseCounted is for data that the ledger records in another form. Choosing other keys rolls
// nothing, and the ledger has to record the present form before the data changes next. Of the keys
// that count only now, the ledger records nothing.
func (f *Facts) otherwiseCounted(c *Concern, base base, form form) finding {
	recounted := f.recounted(c)
	if c.Seen.Content == c.Away.Version && c.Seen.Content < recounted && !base.mayBeReverted {
		return recorded // the only change, of a key that did not count then: the watches are independent
	}
	if form == otherKeys && c.Seen.Edited && c.Seen.Content > recounted {
		switch f.order(c) {
		case outOfDate:
			return changed
		case unknown:
			return f.byPods(c)
		}
	}
	if found := f.sameData(c, base); found != same {
		return found
	}
	if at := f.Workload.KeysAt; form == otherKeys && c.Seen.Content == 0 && !at.IsZero() && !c.Source.DataTime.Before(at) {
		return f.byPods(c) // it was written after these keys were chosen, which no watch has shown
	}
	return recorded
}

// recounted is the first version since the last comparison in which other keys of a source began to
// count. A key that changed later may have counted then, even if the keys were chosen anew since.
func (f *Facts) recounted(c *Concern) uint64 {
	labeled := f.reselected(c)
	switch n := len(f.Seen.Recounted); {
	case n == maxWidened:
		return 0
	case n == 0:
		return labeled
	case labeled == 0:
		return f.Seen.Recounted[0].Version
	default:
		return min(labeled, f.Seen.Recounted[0].Version)
	}
}

// reselected is the first version since the last comparison in which the workload began or ceased to
// select a source by its labels; 0 if no watch has shown that.
func (f *Facts) reselected(c *Concern) uint64 {
	selector, steps := f.Workload.Policy.SelectorFor(c.Source.Key.Kind), c.Seen.Relabeled.all()
	after, first := c.Source.Annotations.Labels.MatchedBy(selector), uint64(0)
	for _, step := range slices.Backward(steps) {
		before := step.before.MatchedBy(selector)
		if step.version <= f.Seen.ComparedAt {
			break
		}
		if before != after {
			first = step.version
		}
		after = before
	}
	return first
}
