package controller

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/test/simapi"
)

func (o *oracle) source(src simapi.Source, e simapi.Event) {
	s := o.sources[src]
	first := s == nil
	if first {
		s = &sourceTruth{first: simapi.ContentOf(e.Object)}
		o.sources[src] = s
	}
	o.h.say("user: %s %s at %d", e.Type, src, e.Version)
	if e.Type == watch.Deleted {
		s.exists, s.deleted = false, e.Version
		s.goings = append(s.goings, e.Version)
		o.deletedInDoubt(src)
		return
	}
	content := simapi.ContentOf(e.Object)
	c := change{version: e.Version, content: content}
	shown, proven, edited := shownTime(e.Object)
	if o.h.traced {
		o.h.say("… by %s, annotated %v, labeled %v; it shows %s, which proves an edit: %t", e.Manager,
			words(e.Object.GetAnnotations()), words(e.Object.GetLabels()), clockTime(shown), proven)
	}
	if !s.exists {
		s.created, s.made, c.deleted = e.Object.GetCreationTimestamp().Time, e.Version, s.deleted
		s.comings = append(s.comings, e.Version)
		s.withoutIt = o.running()
		c.date = s.created
	} else if adds(data(e.Old), data(e.Object)) && isShown(e) {
		c.date, c.instant = e.Time, !e.Time.After(s.created)
	}
	c.proven = proven && shown.Equal(c.date)
	if !c.date.IsZero() && (first || content != s.content) {
		s.written = append(s.written, c.date)
	}
	s.dates = append(s.dates, dated{e.Version, shown, proven, proven && !s.writtenIn(shown), len(e.Object.GetManagedFields()) == 0, edited})
	if !first && content != s.content {
		o.h.count("changes")
		s.changes = append(s.changes, c)
	}
	s.exists, s.content = true, content
	o.sourceSays(src, s, e)
}

type dated struct {
	version uint64
	date    time.Time
	// proven reports whether the manager of the data at that time owns nothing else, so that the
	// time seems to be that of the data. misleads reports that it is not: an apply that removes a
	// label gets a new time, and a manager that loses a label to another one keeps the time of the
	// label. And the first apply after the managers were removed creates an entry for the data that
	// was there, with a new time. It may have been edited before, because such edits have no time.
	proven, misleads bool
	untracked        bool // no field has a manager, so that the time is only that of the creation
	// edited is when a manager that owns nothing else last wrote data; zero if none has.
	edited time.Time
}

// timeless reports whether the API records no time for a change, or shows only an earlier time by
// now: a client has removed the managers of the source.
func (c change) timeless(shown time.Time) bool { return c.date.IsZero() || shown.Before(c.date) }

// running returns the workloads that have Pods, all of which have started.
func (o *oracle) running() map[types.UID]bool {
	running := map[types.UID]bool{}
	for _, obj := range o.h.workloads() {
		pods := o.h.pods.Of(obj)
		running[obj.GetUID()] = len(pods) > 0 && !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool {
			_, started := o.h.pods.Content(pod)
			return !started
		})
	}
	return running
}

// sourceSays records the annotations of a source.
func (o *oracle) sourceSays(src simapi.Source, s *sourceTruth, e simapi.Event) {
	if e.Old == nil || !maps.Equal(e.Old.GetLabels(), e.Object.GetLabels()) {
		s.relabeled = e.Time
	}
	names, annotations := annotations.DefaultNames(), e.Object.GetAnnotations()
	matches, ignored := annotations[names.Match] == "true", annotations[names.Ignore] == "true"
	selected := e.Object.GetLabels()[selectLabel] == selectValue
	plugins := e.Object.GetLabels()[pluginsLabel]
	if s.matches == matches && s.ignored == ignored && s.selected == selected && s.plugins == plugins {
		return
	}
	s.said = e.Version
	o.labelMoves(src, s, plugins, e.Version)
	s.matches, s.ignored, s.selected = matches, ignored, selected
	o.coverAll(turn{e.Version, bySource}, e.Version)
}

// isShown reports whether the API shows the true time of the data.
func isShown(e simapi.Event) bool {
	return slices.ContainsFunc(e.Object.GetManagedFields(), func(m metav1.ManagedFieldsEntry) bool {
		return m.Time != nil && m.Time.Time.Equal(e.Time) && strings.Contains(m.FieldsV1.GetRawString(), `"f:data"`)
	})
}

// writtenIn reports whether the data really changed in a second.
func (s *sourceTruth) writtenIn(date time.Time) bool {
	return slices.ContainsFunc(s.written, date.Equal)
}

// adds reports whether a key is new or has another value: only then does the API server record the
// time.
func adds(before, after map[string]string) bool {
	for key, value := range after {
		if was, ok := before[key]; !ok || was != value {
			return true
		}
	}
	return false
}

// shownTime returns the time of the last manager that wrote data and still owns some. It decreases
// if the last written data is removed. It proves that the data was written then if that manager
// owns nothing else. Edited is when such a manager last wrote data; zero if none has since the creation.
func shownTime(obj simapi.Object) (shown time.Time, proven bool, edited time.Time) {
	made := obj.GetCreationTimestamp().Time
	shown, proven = made, true
	for _, m := range obj.GetManagedFields() {
		fields := m.FieldsV1.GetRawString()
		if m.Time == nil || !strings.Contains(fields, `"f:data"`) {
			continue
		}
		at, alone := m.Time.Time, !strings.Contains(fields, `"f:metadata"`)
		if alone && at.After(made) && at.After(edited) {
			edited = at
		}
		if at.Before(shown) {
			continue
		}
		proven = alone || at.Equal(shown) && proven
		shown = at
	}
	return shown, proven, edited
}

// lastEdit returns when the data of a source was last provably edited, as far as the API shows it; zero
// if nothing proves an edit. Another manager may have written a label since, beside the data.
func (o *oracle) lastEdit(l *look, src simapi.Source) time.Time {
	if shown := o.sources[src].datedAt(l.known[src]); !shown.proven {
		return shown.edited
	}
	return o.latestShown(src, l)
}

// provesEdit reports whether the API proves an edit that Pods may be older than.
func (o *oracle) provesEdit(l *look, src simapi.Source) bool {
	shown := o.sources[src].datedAt(l.known[src])
	return shown.proven || !shown.edited.IsZero() && l.older(shown.edited)
}

// dateAt returns the time that the API shows for the data in a version of the object.
func (s *sourceTruth) dateAt(version uint64) time.Time { return s.datedAt(version).date }

func (s *sourceTruth) datedAt(version uint64) dated {
	for _, d := range slices.Backward(s.dates) {
		if d.version <= version {
			return d
		}
	}
	return dated{}
}

// cameAfter returns the data with which the source was first created after a version, or empty if
// it was not created since.
func (s *sourceTruth) cameAfter(version uint64) string {
	coming := slices.IndexFunc(s.comings, func(v uint64) bool { return v > version })
	if coming < 0 {
		return ""
	}
	return s.contentAt(s.comings[coming])
}

// contentAt returns the data in a version of the object.
func (s *sourceTruth) contentAt(version uint64) string {
	content := s.first
	for _, c := range s.changes {
		if c.version <= version {
			content = c.content
		}
	}
	return content
}

// noteShown records what the API shows when the controller writes.
func (o *oracle) noteShown(w *workloadTruth, l *look, obj simapi.Object) {
	for src := range w.covered {
		if w.wrote[src] == 0 || w.forgotten[src] {
			w.askedShown[src] = o.coverShown(obj)
		}
		if date := o.sources[src].dateAt(l.known[src]); date.After(w.noted) && l.asked && !l.older(date) {
			w.labeled[src] = l.known[src]
		}
	}
}

// noteDates records the newest date of the data that the controller writes into a ledger.
func (o *oracle) noteDates(w *workloadTruth, l *look) {
	for src := range w.covered {
		if date := o.sources[src].dateAt(l.known[src]); date.After(w.noted) {
			w.noted = date
		}
	}
}

// coverShown returns since when a workload is covered according to the API: a manager has one time
// for all fields that it owns.
func (o *oracle) coverShown(obj simapi.Object) (since time.Time) {
	for _, m := range obj.GetManagedFields() {
		for _, way := range slices.Concat(asks(), asksByLabel(), asksForClasses()) {
			for key := range way {
				if m.Time != nil && m.Time.After(since) && strings.Contains(m.FieldsV1.GetRawString(), `"f:`+key+`"`) {
					since = m.Time.Time
				}
			}
		}
	}
	if all := o.h.coverage.AllSince; o.all && (since.IsZero() || all.Before(since)) {
		since = all
	}
	for _, at := range []time.Time{o.installedIn, o.h.coverage.Since, o.selectionShown()} {
		if at.After(since) {
			since = at
		}
	}
	return since
}

// shown records the version of a source that the running controller is shown.
func (o *oracle) shown(src simapi.Source, version uint64) {
	s := o.sources[src]
	if s == nil {
		return // a workload
	}
	if o.firstShown[src] == 0 {
		o.firstShown[src] = version
	}
	if date := s.dateAt(version); date.After(o.newestShown[src]) {
		o.newestShown[src] = date
	}
}

// words formats annotations or labels for a trace.
func words(values map[string]string) []string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if key != annotations.Ledger {
			words = append(words, key+"="+values[key])
		}
	}
	return words
}

// latestShown is the latest time of the data that the controller had been shown before it decided. A
// client may have removed the managers of the source since, and with them the time.
func (o *oracle) latestShown(src simapi.Source, l *look) time.Time {
	shown := o.sources[src].dateAt(l.known[src])
	if newest := l.shownDates[src]; newest.After(shown) {
		return newest
	}
	return shown
}

// seemsNewer reports whether the latest time of a source that was shown proves no edit, while only the age of
// Pods decides. The managers of the source may have been removed since.
func (o *oracle) seemsNewer(src simapi.Source, l *look) bool {
	latest := o.latestShown(src, l)
	return l.older(latest) && slices.ContainsFunc(o.sources[src].dates, func(d dated) bool {
		return d.version <= l.known[src] && d.date.Equal(latest) && !d.proven
	})
}

// seemsEdited reports whether the API shows a false edit, or did before the managers of the source
// were removed, while only the age of Pods decides. A later label of another manager does not hide it.
func (o *oracle) seemsEdited(src simapi.Source, l *look) bool {
	if _, known := l.known[src]; !known {
		return false
	}
	latest, edit := o.latestShown(src, l), o.lastEdit(l, src)
	return slices.ContainsFunc(o.sources[src].dates, func(d dated) bool {
		shown := d.date.Equal(latest) || d.date.Equal(edit)
		return d.version <= l.known[src] && d.misleads && shown && !d.date.Before(o.installedIn) && l.older(d.date)
	})
}

// away is the version in which the current data was replaced, and back the version in which it
// returned. Both are 0 if it was never there before.
func (s *sourceTruth) away() (away, back uint64) {
	before := s.first
	for _, c := range s.changes {
		if before == s.content {
			away = c.version
		}
		if before != s.content && c.content == s.content {
			back = c.version
		}
		before = c.content
	}
	return away, back
}

// annotates reports whether a rollout of ours is marked by the annotation, after which no other form of
// mark is left.
func annotates(e simapi.Event) bool {
	mark := annotations.DefaultNames().LastReloadedFrom
	return templateOf(e.Old).Annotations[mark] != templateOf(e.Object).Annotations[mark]
}
