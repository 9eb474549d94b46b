package reload

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/workload"
)

// rolledByReloader reports whether Reloader has rolled the workload for the present
// content of a source: its mark fits, and it was written no earlier than the
// content. Pods that are started by that may be younger than the content by less
// than their age can prove.
func (f *Facts) rolledByReloader(c *Concern) bool {
	wrote := f.Workload.Marks.ByReloader
	return !wrote.IsZero() && !c.Seen.Timeless && !wrote.Before(c.Source.DataTime) && f.showsReloader(c)
}

// besideReloader reports whether Reloader rolled the workload while we ran, for a
// change that we have seen, too.
func (f *Facts) besideReloader() bool {
	return slices.ContainsFunc(f.Concerns, func(c Concern) bool {
		_, restarted := f.restartedByReloader(&c)
		return c.Seen.Edited && (restarted || f.Seen.Template > c.Seen.Content && f.rolledByReloader(&c))
	})
}

// restartedByReloader returns the time after which all Pods must have started, if Reloader recorded
// a restart no earlier than the current data of a source. Such a restart does not change the pod
// template.
func (f *Facts) restartedByReloader(c *Concern) (at time.Time, ok bool) {
	marks := &f.Workload.Marks
	if marks.Writers[workload.RestartField] != workload.ReloaderManager || c.Seen.Timeless {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339, marks.RestartAt)
	return at, err == nil && !at.Before(c.Source.DataTime)
}

// leftToReloader reports whether Reloader has rolled the workload while nobody
// watched, for whichever of its sources.
func (f *Facts) leftToReloader() bool {
	return f.Seen.Template == 0 && slices.ContainsFunc(f.Concerns, func(c Concern) bool { return f.rolledByReloader(&c) })
}

// showsReloader reports whether the mark of a source, of either form, is what
// Reloader writes for its data. It may be ours.
func (f *Facts) showsReloader(c *Concern) bool {
	if mark, ok := f.currentVariable(c); ok && c.Source.IsReloaderMark(f.Key, mark) {
		return true
	}
	mark, ok := f.Workload.Marks.CurrentAnnotation(c.Source.Key)
	return ok && c.Source.IsReloaderMark(f.Key, mark)
}

// reloaderMark returns the mark that Reloader has left for a source, if it
// stands where Reloader would put it today and can be about no other source.
//
// Where that is follows from the strategy alone: Reloader does not tell kinds
// apart, and a mark of the other form is from before it was set up like this.
func (f *Facts) reloaderMark(c *Concern) (string, bool) {
	var mark string
	var ok bool
	if f.Strategy == StrategyAnnotations {
		mark, ok = f.Workload.Marks.CurrentAnnotation(c.Source.Key)
	} else {
		mark, ok = f.currentVariable(c)
	}
	return mark, ok && mark != workload.DeleteMarker
}

// latestMark is reloaderMark if that shows what the pods have. A reload by one
// form leaves the mark of the other form as it was. If the two do not agree, the
// pods have what the later one shows.
func (f *Facts) latestMark(c *Concern) (string, bool) {
	mark, ok := f.reloaderMark(c)
	annotation, annotated := f.Workload.Marks.CurrentAnnotation(c.Source.Key)
	if !annotated {
		return mark, ok
	}
	variable, set := f.currentVariable(c)
	agree := annotation == variable || f.fits(c, annotation) && f.fits(c, variable)
	if set && !agree {
		mark, ok = annotation, f.isAnnotatedLater(workload.EnvVarName(c.Source.Key))
	}
	return mark, ok && mark != workload.DeleteMarker
}

// fits reports whether a mark is one of the current data.
func (f *Facts) fits(c *Concern, mark string) bool {
	return c.Source.IsReloaderMark(f.Key, mark) || mark == workload.MarkHash(c.Source, digest.SecretMarksKeyed)
}

// isAnnotatedLater reports whether the annotation was provably written later than a variable. A field manager has one time for
// all that it owns, so this shows only if the variable is Reloader's and the annotation ours. The annotation has the time of
// our clock.
func (f *Facts) isAnnotatedLater(variable string) bool {
	marks := &f.Workload.Marks
	from, err := workload.ParseReloadedFrom(marks.ReloadedFrom)
	return err == nil && marks.Writers[variable] == workload.ReloaderManager && marks.Writers[annotations.DefaultNames().LastReloadedFrom] == "" &&
		!marks.ByReloader.IsZero() && time.Unix(from.ObservedAt, 0).After(marks.ByReloader.Add(clocksDiffer))
}
