package controller

import (
	"maps"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// Some workloads select sources by the label plugins. With --reload-on-create, a source that gets
// such a label is like one that is created, and with --reload-on-delete, a source that loses it is
// like one that is deleted.

const pluginsLabel = "plugins"

// asksByLabel returns selectors for workloads. Some select nothing.
func asksByLabel() []map[string]string {
	var ways []map[string]string
	for _, text := range []string{"plugins=grafana", "plugins in (grafana, loki)", "!plugins", "plugins=none", "plugins=gra=fana", ""} {
		ways = append(ways, map[string]string{annotations.Sources: text})
	}
	return append(ways, nil)
}

// fitsLabel reads the selectors as the documentation of Kubernetes says.
func fitsLabel(text, plugins string) bool {
	switch text {
	case "plugins=grafana":
		return plugins == "grafana"
	case "plugins in (grafana, loki)":
		return plugins == "grafana" || plugins == "loki"
	case "!plugins":
		return plugins == ""
	default:
		return false
	}
}

// selectsByLabel reports whether the selector of a workload selects a source. The one of the pod
// template counts if the workload has none.
func selectsByLabel(obj simapi.Object, src simapi.Source, plugins string) bool {
	return src.Resource != simapi.ClassResource && fitsLabel(selectorOf(obj), plugins)
}

// selectByLabel gives a workload another selector.
func (u *users) selectByLabel(w drawnWorkload) bool {
	ways := asksByLabel()
	way := ways[u.h.rand.IntN(len(ways))]
	return u.edit(w, func(obj simapi.Object) {
		on := u.where(obj)
		annotated := annotationsOf(on)
		delete(annotated, annotations.Sources)
		maps.Copy(annotated, way)
		on.SetAnnotations(annotated)
	})
}

func (u *users) labelPlugins(src simapi.Source) bool {
	value := []string{"grafana", "grafana", "loki", ""}[u.h.rand.IntN(4)]
	return u.save(src, u.hand(src), func(obj simapi.Object) { u.label(obj, pluginsLabel, value) })
}

// moves are the versions in which a source began or ceased to concern a workload by its labels
// alone. Rolled is the version of the source that the controller had been shown at its last rollout.
type moves struct {
	entered, left, rolled uint64
	// adopted is since when the controller has had time to record its data when it left.
	adopted uint64
	// doubtful is when it was deleted while no ledger showed what selects it.
	doubtful uint64
	// unlabeled is when it lost the label while the workload covered it for another reason, too, and late
	// is that version if a ledger of ours was written after that reason ended, and before the controller
	// was shown it.
	unlabeled, late uint64
	// lapsed is when it ceased to do so while its namespace was not selected.
	lapsed uint64
}

// reselects records that something else selects the sources of a workload than before, and that our
// next write records it.
func (o *oracle) reselects(w *workloadTruth, e simapi.Event) {
	selects := func(obj simapi.Object) map[string]string {
		all := annotationsOf(obj)
		delete(all, annotations.Ledger)
		maps.Copy(all, templateOf(obj).Annotations)
		for _, src := range simapi.Refers(obj) {
			all[src.String()] = ""
		}
		return all
	}
	switch {
	case e.Manager == workload.FieldManager:
		w.reselected = 0
	case e.Old != nil && !maps.Equal(selects(e.Old), selects(e.Object)):
		w.reselected, w.reselectedAt = e.Version, e.Time
		for src, s := range o.sources {
			if !s.exists {
				o.deletedInDoubtOf(w, e.Object, src)
			}
		}
	}
}

func selectorOf(obj simapi.Object) string {
	if text, own := obj.GetAnnotations()[annotations.Sources]; own {
		return text
	}
	return templateOf(obj).Annotations[annotations.Sources]
}

// deletedInDoubt records the workloads that select a source by its labels alone when it is deleted,
// while no ledger shows what selects their sources.
func (o *oracle) deletedInDoubt(src simapi.Source) {
	for _, obj := range o.h.workloads() {
		o.deletedInDoubtOf(o.workloads[obj.GetUID()], obj, src)
	}
}

func (o *oracle) deletedInDoubtOf(w *workloadTruth, obj simapi.Object, src simapi.Source) {
	s := o.sources[src]
	kept := s.plugins
	s.plugins = "any other"
	// Where all workloads are opted in at times, that may end before the deletion is noticed. It shows
	// nothing of a source that this selects, too.
	if !o.asksFor(obj, src, o.all && o.h.all == allAlways) && (w.reselected != 0 || o.asksFor(obj, src, o.h.all != allNever)) {
		w.moved(src).doubtful = s.deleted
	}
	s.plugins = kept
}

// deletedUnselected reports whether the last labels of a deleted source are unknown, and the ledger
// does not show that they selected it.
func (o *oracle) deletedUnselected(w *workloadTruth, src simapi.Source) bool {
	deleted := o.sources[src].deleted
	return w.moved(src).doubtful == deleted && deleted <= o.lastGap && o.excused(saysNoMore)
}

func (w *workloadTruth) moved(src simapi.Source) *moves {
	if w.moves[src] == nil {
		w.moves[src] = &moves{}
	}
	return w.moves[src]
}

// labelMoves records which workloads a source enters and leaves by a change of its label.
func (o *oracle) labelMoves(src simapi.Source, s *sourceTruth, plugins string, version uint64) {
	was := s.plugins
	unselected := o.unselected
	o.unselected = false
	defer func() { o.unselected = unselected }()
	for _, obj := range o.h.workloads() {
		w := o.workloads[obj.GetUID()]
		s.plugins = was
		before := o.asksFor(obj, src, o.all)
		s.plugins = plugins
		asks := o.asksFor(obj, src, o.all)
		if w == nil {
			continue
		}
		switch m := w.moved(src); {
		case unselected && !asks && before:
			m.lapsed = version
		case unselected && asks && !before:
			m.lapsed = 0
		case unselected:
		case asks && !before:
			m.entered = version
		case !asks && before:
			m.left, m.adopted = version, w.adopted[src]
		case asks && selectsByLabel(obj, src, was) && !selectsByLabel(obj, src, plugins):
			m.unlabeled = version
		}
	}
	s.plugins = plugins
}

// noteLabel records, at our ledger without a former source, that the controller has yet to be shown that
// the source had lost its label before.
func (w *workloadTruth) noteLabel(src simapi.Source, l *look) {
	m := w.moved(src)
	switch {
	case l.known[src] >= m.unlabeled:
		m.late = 0
	case m.unlabeled < w.ended[src].version:
		m.late = m.unlabeled
	}
}

// movedByLabel reports whether a rollout of ours may be for a source that came or went by its label.
func (o *oracle) movedByLabel(w *workloadTruth, src simapi.Source, l *look) bool {
	m := w.moved(src)
	mayBeFor := func(version uint64) bool {
		if version <= max(o.installedAt, m.rolled) || version > l.known[src] {
			return false
		}
		return version == w.first[src] && w.foreign < version || o.later(w, src, l, version)
	}
	// It lost the label while a controller opted in all workloads, and the next one does not.
	endedByStart := w.ended[src].by == byStart && m.unlabeled <= w.ended[src].version
	return o.h.onDelete && (mayBeFor(m.left) || endedByStart && mayBeFor(m.unlabeled) || mayBeFor(m.late) && o.excused(labelShownLate) || mayBeFor(m.lapsed) && o.excused(changedInLapse)) || o.h.onCreate && mayBeFor(m.entered)
}

// labeledLater reports whether a source seems to have got the labels that select it after a selector
// of the workload came that no controller saw: labels have one time, whichever was written last. The label
// by which controllers select may have come after both.
func (o *oracle) labeledLater(w *workloadTruth, src simapi.Source, l *look) bool {
	s, began := o.sources[src], w.began[src]
	_, known := l.known[src]
	obj, err := o.h.server.Get(plural(l.key.Kind), inShop(l.key.Name))
	if err != nil || !known || !o.h.onCreate || !selectsByLabel(obj, src, s.plugins) || w.reselectedAt.IsZero() {
		return false
	}
	unseen := began.by == byWorkload && began.version <= l.live[plural(l.key.Kind)] ||
		began.by == bySource && o.h.selector && began.version <= l.live[src.Resource]
	return unseen && !s.relabeled.Before(w.reselectedAt) && l.older(s.relabeled)
}

// mayHaveBeenSelected reports whether a source without effect on a workload would have had one with
// another label when it was deleted, which the running controller did not see.
// It would if it had the label by which controllers select, and the match annotation, or were not ignored,
// and the workload covered it once, so that its ledger may still have the data.
func (o *oracle) mayHaveBeenSelected(w *workloadTruth, src simapi.Source, l *look) bool {
	if !o.wentUnseen(src, l) {
		return false
	}
	for _, plugins := range []string{"grafana", "loki", ""} {
		if o.wouldAsk(l, src, func(s *sourceTruth) { s.plugins = plugins }) {
			return true
		}
	}
	_, was := w.ended[src]
	return was && o.wouldAsk(l, src, func(s *sourceTruth) { s.selected, s.matches, s.ignored = true, true, false })
}

// optedInSince reports whether a workload covers a source that lost its label, since a controller
// that opts in all workloads started.
func (o *oracle) optedInSince(w *workloadTruth, src simapi.Source) bool {
	_, covered := w.covered[src]
	return covered && o.all && o.excused(optedInByStart)
}

// judgeMoves checks, at rest, that no source came or went by its label in vain, if users did nothing
// else since the last rest.
func (o *oracle) judgeMoves(w *workloadTruth) {
	if o.steps != 1 || o.keyless || w.tampered > 0 {
		return
	}
	for src, m := range simapi.InOrder(w.moves) {
		s := o.sources[src]
		switch {
		case !s.exists || w.foreign > o.since || len(s.changes) > 0 && s.changes[len(s.changes)-1].version > o.since:
		case o.h.onDelete && m.left > o.since && m.adopted > 0 && m.adopted < m.left && m.rolled < m.left && !o.optedInSince(w, src):
			o.fail("%s was not rolled for %s, which lost its label at %d", w.name, src, m.left)
		case o.h.onCreate && m.entered > max(o.since, o.lastGap) && len(w.adopted) > 0 && m.rolled < m.entered && !o.allHave(w, src):
			o.fail("%s was not rolled for %s, which got its label at %d", w.name, src, m.entered)
		}
		if (m.left > o.since || m.entered > o.since) && s.exists {
			o.h.count("moved by a label")
		}
	}
}
