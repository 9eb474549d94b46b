package reload

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// For a workload that selects sources by their labels, a source that gets the labels is like one
// that is created, and a source that loses them is like one that is deleted.

// Relabel records a change of the labels.
func (s *SourceSeen) Relabel(version uint64, before source.Labels) {
	s.Relabeled = s.Relabeled.with(version, before)
}

// Left is an existing source that does not concern a workload, and that earlier labels may have
// selected. Version is the version in which it lost them; 0 if no watch has shown that.
type Left struct {
	Key     source.LocalKey
	Version uint64
	// Uncounted reports whether it was ignored or not selected until a later version, so that it was
	// deleted for no workload, unless a reload for that waits.
	Uncounted bool
}

// Spare adds an existing source that does not concern the workload.
func (f *Facts) Spare(src *source.Source, seen SourceSeen) {
	key := src.Key.Local()
	f.Spared = append(f.Spared, key)
	if key.IsForeign() {
		return // no selector reaches into other namespaces
	}
	w := &f.Workload
	if _, refers := w.Reference(key); !w.Policy.SelectedBefore(src.Key, src.Annotations, refers) {
		return
	}
	lost := seen.Relabeled.latest(func(before source.Labels) bool {
		return before.MatchedBy(w.Policy.Selector())
	})
	f.Left = append(f.Left, Left{key, lost, lost != 0 && lost <= seen.Annotations})
}

// Unselect adds an existing source that the selectors of the controller exclude, or whose consent is
// unknown. Its entry in the ledger stays, unless dropUnlabeled removes it.
func (f *Facts) Unselect(src *source.Source) {
	key := src.Key.Local()
	f.Unselected = append(f.Unselected, key)
	if key.IsForeign() {
		return // no selector reaches into other namespaces
	}
	w, selected := &f.Workload, src.Annotations
	selected.Unselected, selected.Ignore = false, false
	_, refers := w.Reference(key)
	if w.Policy.SelectedBefore(src.Key, selected, refers) && !w.Verdict(src.Key, selected, f.AutoReloadAll).Concerned {
		f.Unlabeled = append(f.Unlabeled, key)
	}
}

// dropUnlabeled removes entries that are there for another reason than labels, such as a reference
// that counted then. Once what selects the sources is recorded anew, such an entry would look like that
// of a source which lost its labels.
func (f *Facts) dropUnlabeled(next, known *ledger.Ledger) {
	for _, key := range f.Unlabeled {
		if _, has := next.Entries[key]; has && !f.selectedByLabels(key, known) {
			delete(next.Entries, key)
		}
	}
}

// selecting is a digest of what selects the sources, for the ledger.
func (f *Facts) selecting() digest.Digest {
	l := f.lookupTables()
	if l.selecting == nil {
		now := f.Workload.Selecting(f.AutoReloadAll)
		l.selecting = &now
	}
	return *l.selecting
}

// selectedByLabels reports whether the ledger shows that an entry may be there because labels
// selected the source: what else selects sources is the same now. Whether workloads are opted in by
// default may differ since, if that did not select the source. A restart with another
// --auto-reload-all would otherwise hide that a source lost its labels or was deleted before.
func (f *Facts) selectedByLabels(key source.LocalKey, known *ledger.Ledger) bool {
	if known.Selecting == f.selecting() {
		return true
	}
	d := f.withoutDefault()
	return slices.ContainsFunc([]bool{false, true}, func(all bool) bool {
		if known.Selecting != d.selecting[all] {
			return false
		}
		withoutLabels := d.workload.Verdict(key.In(d.workload.Key.Namespace), source.Annotations{Match: true}, all)
		return !withoutLabels.Concerned
	})
}

// withoutDefault is the workload as if its namespace left it to --auto-reload-all whether it is opted
// in, with the digests of what selects its sources then, by that flag.
type withoutDefault struct {
	workload  workload.Workload
	selecting map[bool]digest.Digest
}

// withoutDefault is kept, because many entries of a ledger may ask for it.
func (f *Facts) withoutDefault() *withoutDefault {
	l := f.lookupTables()
	if l.withoutDefault == nil {
		w := f.Workload
		w.Policy = w.Policy.WithoutDefault()
		l.withoutDefault = &withoutDefault{w, map[bool]digest.Digest{false: w.Selecting(false), true: w.Selecting(true)}}
	}
	return l.withoutDefault
}

// mayUse reports whether a source with an entry in a ledger may concern the workload even if it does
// not exist, so that its annotations and labels are unknown. If the workload selects sources by
// their labels, the ledger shows whether that was the reason for the entry, or the watch has shown which
// labels the source had when it was deleted.
func (f *Facts) mayUse(key source.LocalKey, known *ledger.Ledger) bool {
	if key.IsForeign() {
		return f.Workload.Policy.Names(key)
	}
	_, refers := f.Workload.Reference(key)
	return refers || f.Workload.Policy.Names(key) ||
		f.Workload.Policy.SelectorFor(key.Kind) != nil && (f.selectedByLabels(key, known) || f.sawSelected(key))
}

// sawSelected reports whether the watch has shown the deletion of a source that the workload selected.
func (f *Facts) sawSelected(key source.LocalKey) bool {
	return f.sawLeave(key) && f.Workload.Verdict(key.In(f.Workload.Key.Namespace), f.Gone[key].Source.Annotations, f.AutoReloadAll).Concerned
}

// findLeft finds the sources that the selector of the workload no longer matches. The ledger shows
// that nothing else has changed that decides about them.
func (f *Facts) findLeft(base base, t *tally) {
	if !base.ledger.OnDelete {
		return
	}
	for _, left := range f.Left {
		entry, was := base.ledger.Entries[left.Key]
		_, noted := base.ledger.Gone[left.Key]
		switch {
		case !was || noted, !f.selectedByLabels(left.Key, &base.ledger), left.Uncounted && !entry.IsZero():
		case left.Version != 0 && f.Seen.Template > left.Version && !f.Seen.TemplateReverted: // another client has rolled the workload since
		default:
			reference, _ := f.Workload.Reference(left.Key)
			verdict := policy.Verdict{Concerned: true, Rule: policy.RuleSelected, Entry: f.Workload.Policy.Selector().Text}
			t.changes = append(t.changes, Concern{Source: source.Source{Key: left.Key.In(f.Workload.Key.Namespace)}, Verdict: verdict, Deleted: true, Uses: reference.Uses})
		}
	}
}

// labeledIn is the version in which a source got labels because of which it concerns the workload; 0
// if it concerned the workload before, or if no watch has shown the change.
func (f *Facts) labeledIn(c *Concern) uint64 {
	if c.Verdict.Rule != policy.RuleSelected {
		return 0
	}
	return c.Seen.Relabeled.latest(func(before source.Labels) bool {
		annotations := c.Source.Annotations
		annotations.Labels = before
		return !f.Workload.Verdict(c.Source.Key, annotations, f.AutoReloadAll).Concerned
	})
}

// arrival is a source with the time of its labels as that of its creation, if it concerns the
// workload since then.
func (f *Facts) arrival(c *Concern, base base) *Concern {
	unlabeled := c.Source.Annotations
	unlabeled.Labels = source.Labels{}
	if c.Verdict.Rule != policy.RuleSelected || f.Workload.Verdict(c.Source.Key, unlabeled, f.AutoReloadAll).Concerned {
		return c
	}
	arrived, labeled := *c, time.Unix(c.Source.LabeledAt, 0)
	if labeled.After(c.Source.Created) {
		arrived.Source.Created = labeled
	}
	switch version := f.labeledIn(c); {
	case version > c.Seen.Created: // later than the creation
		if c.Source.LabeledAt == 0 { // an earlier comparison of the workload decides
			arrived.Source.Created = f.Workload.Created.Add(f.SettlePeriod)
		}
		arrived.Seen.Created = version
		return &arrived
	case c.Seen.Relabeled != nil && f.coveredIn(c) > f.Seen.ComparedAt:
		return c // labels selected it before the latest ones, and it concerns the workload since something else changed
	case c.Seen.Created == 0 && base.err == nil:
		return &arrived // the ledger shows that it did not concern the workload before
	default:
		return c
	}
}
