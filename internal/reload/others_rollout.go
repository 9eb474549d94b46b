package reload

import (
	"maps"
	"slices"
)

// withOthersRollout adds the sources whose new data is recorded because somebody
// else has changed the pod template since. Their new pods start with the data, so
// there is nothing to reload. Pods that the workload keeps on purpose do not get
// it, and no reload of ours reports that.
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
		return Decision{Action: AskPods, Why: "whether the pods that it keeps on purpose are older than the content of its sources is not known"}
	}
	for i := range unproven {
		if f.Pods.Count > 0 && !f.Pods.Oldest.After(unproven[i].Source.DataTime) {
			d.OthersRollout = append(d.OthersRollout, unproven[i].Source.Key)
		}
	}
	return d
}

// othersRollout reports whether the rollout of somebody else brings new data of a
// source, and whether the order of what was seen proves it. Data that no ledger
// names is not new: it was there before anybody was to act upon it.
func (f *Facts) othersRollout(c *Concern, base base) (brings, proven bool) {
	if !f.isNewData(c, base) {
		return false, false
	}
	switch order := f.order(c); {
	case order == fresh:
		// Nobody saw the data change. The template before this one may be younger too.
		return true, c.Seen.Content != 0
	case order == unknown && !f.Seen.Returned:
		return f.rolledByReloader(c), false
	default:
		return false, false // the age of the pods was the evidence, so none of them is older
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
	case aggregated:
		return c.wasAway() && c.Seen.Edited
	case otherKey(key.Kind, base, f):
		return c.Seen.Content != 0 && c.Seen.Edited
	default:
		return digest != c.Source.Digest
	}
}

// goneBeforeOthers are the sources that were seen to be deleted before somebody
// else changed the pod template, where that is a change.
func (f *Facts) goneBeforeOthers(base base, next Ledger) []SourceKey {
	if !f.OnDelete || base.err != nil || f.Seen.Returned {
		return nil
	}
	var gone []SourceKey
	for _, key := range slices.SortedFunc(maps.Keys(base.ledger.Entries), compareLocalKeys) {
		_, refers := f.Workload.Reference(key)
		_, noted := base.ledger.Gone[key]
		_, stays := next.Entries[key]
		left := f.Gone[key].Version
		if (refers || f.Workload.Policy.Names(key)) && !noted && !stays && f.isAbsent(key) && left != 0 && f.Seen.Template > left {
			gone = append(gone, key.In(f.Workload.Key.Namespace))
		}
	}
	return gone
}

// mayKeep reports whether the workload keeps pods on purpose, or may, as long as
// its status is about an earlier template.
func mayKeep(p *Progress) bool {
	keeps := p.Paused && !p.Held || p.OnDelete || p.Partition > 0
	return keptOnPurpose(p) || keeps && !p.Observed
}

// keptOnPurpose reports whether pods stay as they are because somebody wants
// that. A pause-period ends by itself, and so does a pause that is a step of a
// rollout: pods that wait there are on their way.
func keptOnPurpose(p *Progress) bool {
	cause, _ := Purpose(p)
	return cause != "" && cause != CauseHeld && !p.Pausing
}

// KeptOnPurpose returns the pods that keep the previous data of sources after a
// rollout that somebody else has begun; its cause is empty if there are none. The
// status of the workload tells, as soon as it is about the present template:
// observed is false until then.
func KeptOnPurpose(w *Workload, changed []SourceKey) (kept Outcome, observed bool) {
	p := &w.Progress
	if !p.Observed || !keptOnPurpose(p) {
		return Outcome{}, p.Observed
	}
	cause, old := Purpose(p)
	return Outcome{Cause: cause, Changed: changed, Old: old, All: int(p.Total), Wanted: int(p.Wanted)}, true
}
