package reload

import (
	"maps"
	"slices"

	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// withOthersRollout adds the sources whose new data is recorded because another client has changed
// the pod template since. The new Pods start with the data, so there is nothing to reload. Pods
// that the workload keeps on purpose do not get it, and no reload of ours reports that.
func (f *Facts) withOthersRollout(d Decision) Decision {
	if d.Action != Record || d.Found || f.Workload.Runs != nil {
		return d
	}
	base := f.known()
	var unproven []Concern
	for _, c := range f.Concerns {
		switch brings, proven := f.othersRollout(&c, base); {
		case proven:
			d.OthersRollout = append(d.OthersRollout, c.Source.Key)
		case brings:
			unproven = append(unproven, c)
		}
	}
	d.OthersRollout = append(d.OthersRollout, f.goneBeforeOthers(base, d.Ledger)...)
	if len(unproven) == 0 || !mayKeep(&f.Workload.Progress) {
		return d
	}
	if f.Pods == nil {
		return Decision{Action: ListPods, Why: "the age of the Pods that it keeps on purpose must show whether they use the current data"}
	}
	for i := range unproven {
		if f.Pods.Count > 0 && !f.Pods.Oldest.After(unproven[i].Source.DataTime) {
			d.OthersRollout = append(d.OthersRollout, unproven[i].Source.Key)
		}
	}
	return d
}

// othersRollout reports whether the rollout of another client brings new data of a source, and
// whether the order of events proves it. Data without an entry in a ledger is not new.
func (f *Facts) othersRollout(c *Concern, base base) (brings, proven bool) {
	if !f.isNewData(c, base) {
		return false, false
	}
	switch order := f.order(c); {
	case order == upToDate:
		// No watch has shown the change of the data. The previous template may be newer than the
		// data, too.
		return true, c.Seen.Content != 0
	case order == unknown && !f.Seen.TemplateReverted:
		return f.rolledByReloader(c), false
	default:
		return false, false // the age of the Pods was the evidence, so none of them is older
	}
}

// isNewData reports whether a source has other data than the ledger names.
func (f *Facts) isNewData(c *Concern, base base) bool {
	key := c.Source.Key.Local()
	digest, named := base.ledger.Entries[key]
	_, aggregated := base.ledger.Aggregates[key.Kind]
	switch {
	case base.err != nil, !named && !aggregated:
		return false
	case aggregated && !named:
		return c.wasAway() && c.Seen.Edited
	case f.underLostKey(key, base):
		return c.Seen.Content != 0 && c.Seen.Edited
	default:
		return f.isOtherData(c, digest)
	}
}

// goneBeforeOthers are the sources whose deletion was observed before another client changed the
// pod template, if a deletion is a change.
func (f *Facts) goneBeforeOthers(base base, next ledger.Ledger) []source.Key {
	if !f.OnDelete || base.err != nil || f.Seen.TemplateReverted {
		return nil
	}
	var gone []source.Key
	for _, key := range slices.SortedFunc(maps.Keys(base.ledger.Entries), source.CompareLocalKeys) {
		_, noted := base.ledger.Gone[key]
		_, stays := next.Entries[key]
		left := f.Gone[key].Version
		if f.mayUse(key, &base.ledger) && !noted && !stays && f.isAbsent(key) && left != 0 && f.Seen.Template > left {
			gone = append(gone, key.In(f.Workload.Key.Namespace))
		}
	}
	return gone
}

// mayKeep reports whether the workload keeps Pods on purpose, or may, as long as its status is
// about an earlier template.
func mayKeep(p *workload.Progress) bool {
	keeps := p.Paused && !p.PausedByReroll || p.OnDelete || p.Partition > 0
	return rollout.IsKeptOnPurpose(p) || keeps && !p.Observed
}
