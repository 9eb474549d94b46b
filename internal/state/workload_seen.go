package state

import (
	"maps"
	"slices"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
)

// maxRecent bounds the revisions of a workload whose rollouts never end. Beyond it, Pods are
// listed.
const maxRecent = 128

// maxReferenced bounds the sources of the templates of such a workload in the same way.
const maxReferenced = 1024

// recordEvent records what an event shows about the templates of a workload, and about who may have
// read what. Known is nil for an object that was not known.
func (w *workloadRecord) recordEvent(known *workloadRecord, version uint64, live, autoReloadAll bool) {
	switch {
	case !live:
		// No watch has shown whether a template that differs was in use before.
		w.seen.TemplateReverted = known != nil && (known.seen.TemplateReverted || known.revision != w.revision)
		w.seen.Recent = []digest.Digest{w.revision}
	case known == nil:
		w.seen.Template, w.seen.Policy = version, version
		w.seen.Recent, w.seen.Whole = []digest.Digest{w.revision}, true
	default:
		w.seen = known.seen
		w.recordChanges(known, version, autoReloadAll)
	}
	if known != nil {
		w.seen.Recounted, w.seen.ComparedAt, w.seen.Adopted, w.seen.AdoptedSources, w.seen.Ready = known.seen.Recounted, known.seen.ComparedAt, known.seen.Adopted, known.seen.AdoptedSources, known.seen.Ready
		if !live {
			w.keepPolicy(known, version, autoReloadAll)
		}
	}
	if known != nil {
		w.recordKeyRule(known, version, live)
	}
	if w.seen.Ready == 0 && w.Progress.Observed && w.Progress.Ready > 0 {
		w.seen.Ready = version
	}
	switch {
	case w.RolledOut && (known == nil || !w.Unobserved):
		w.seen.Recent, w.seen.Whole = []digest.Digest{w.revision}, true
	case w.Unobserved && known != nil && !live:
		// Otherwise the rollout would never count as completed again.
		w.seen.Recent, w.seen.Whole, w.seen.Referenced = known.seen.Recent, known.seen.Whole, known.seen.Referenced
		w.mayHave(w.revision)
	}
}

// recordKeyRule records whether other keys count. An annotation that says the same in other words has
// said it since the earlier one, unless a gap hides a rule in between.
func (w *workloadRecord) recordKeyRule(known *workloadRecord, version uint64, live bool) {
	switch {
	case !w.Policy.KeyRule().Equal(known.Policy.KeyRule()):
		w.seen.Recount(version, known.Policy.KeyRule())
	case live && !known.KeysAt.IsZero() && known.KeysAt.Before(w.KeysAt):
		w.KeysAt = known.KeysAt
	}
}

// recordChanges records what a watch without gaps shows.
func (w *workloadRecord) recordChanges(known *workloadRecord, version uint64, autoReloadAll bool) {
	switch {
	case known.revision != w.revision:
		w.recordReferences(known, version)
		w.recordTemplate(version)
	case known.Runs.Resumes(w.Runs):
		w.seen.Template = version // none of its Pods has read anything before
	}
	switch {
	case w.Policy.Widens(known.Policy, autoReloadAll):
		w.seen.Widen(version, known.Policy, known.OptedInAt)
	case !known.OptedInAt.IsZero() && known.OptedInAt.Before(w.OptedInAt):
		w.OptedInAt = known.OptedInAt // the client that wrote the annotations has written another field
	}
}

// keepPolicy records since when the annotations select sources, as far as a gap does not hide it. The
// sources that they did not select in the version before the gap, they began to select later. An older
// snapshot is of a restored API server, whose versions show no order.
func (w *workloadRecord) keepPolicy(known *workloadRecord, version uint64, autoReloadAll bool) {
	before := VersionOf(known.ResourceVersion)
	if before == 0 || version <= before {
		return
	}
	w.seen.Policy, w.seen.Widened, w.seen.WidenedBefore, w.seen.Forgotten = known.seen.Policy, known.seen.Widened, known.seen.WidenedBefore, known.seen.Forgotten
	if w.Policy.Widens(known.Policy, autoReloadAll) {
		w.seen.Widen(before+1, known.Policy, known.OptedInAt)
	}
}

// recordReferences records which sources no Pod has referenced before the new template. As long as a
// rollout is not complete, Pods of each of its templates may exist.
func (w *workloadRecord) recordReferences(known *workloadRecord, version uint64) {
	since := map[source.LocalKey]uint64{}
	if complete := known.seen.Whole && len(known.seen.Recent) == 1; !complete {
		maps.Copy(since, known.seen.Referenced)
	}
	note := func(from, to *workloadRecord, version uint64) {
		for _, ref := range to.References {
			_, had := from.Reference(ref.Key)
			if _, noted := since[ref.Key]; !had && !noted {
				since[ref.Key] = version
			}
		}
	}
	if known.seen.Whole {
		note(known, w, version)
		note(w, known, 0) // should the reference return, Pods may have had it all the time
	}
	if len(since) > maxReferenced {
		since, w.seen.Recent, w.seen.Whole = nil, nil, false
	}
	w.seen.Referenced = since
}

// recordTemplate records that the pod template changed in a version.
func (w *workloadRecord) recordTemplate(version uint64) {
	w.seen.Template = version
	w.seen.TemplateReverted = w.seen.MayHavePodsOf(w.revision)
	w.mayHave(w.revision)
}

// mayHave records a revision that Pods may have.
func (w *workloadRecord) mayHave(revision digest.Digest) {
	if !slices.Contains(w.seen.Recent, revision) {
		w.seen.Recent = append(slices.Clone(w.seen.Recent), revision)
	}
	if len(w.seen.Recent) > maxRecent {
		w.seen.Recent, w.seen.Whole = []digest.Digest{revision}, false
	}
}
