package reload

import (
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/workload"
)

// rolledByReloader reports whether Reloader has rolled the workload for the current data of a
// source: its mark fits, and was not written earlier than the data. The Pods of that rollout may be
// too close in age to the data for their age to prove anything.
func (f *Facts) rolledByReloader(c *Concern) bool {
	wrote := f.Workload.Marks.ByReloader
	return !wrote.IsZero() && !c.Seen.Timeless && !wrote.Before(c.Source.DataTime) && f.showsReloader(c)
}

// besideReloader reports whether Reloader rolled the workload while the controller ran, for a
// change that the watch has shown, too.
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

// leftToReloader reports whether Reloader rolled the workload for any of its sources while no
// controller watched.
func (f *Facts) leftToReloader() bool {
	return f.Seen.Template == 0 && slices.ContainsFunc(f.Concerns, func(c Concern) bool { return f.rolledByReloader(&c) })
}

// showsReloader reports whether the mark of a source, in either form, is the mark that Reloader
// writes for its data. Reroll may have written it.
func (f *Facts) showsReloader(c *Concern) bool {
	if mark, ok := f.currentVariable(c); ok && c.Source.IsReloaderMark(f.Key, mark) {
		return true
	}
	mark, ok := f.Workload.Marks.CurrentAnnotation(c.Source.Key)
	return ok && c.Source.IsReloaderMark(f.Key, mark)
}

// reloaderMark returns the mark that Reloader wrote for a source, if it is in the current place and
// cannot be about another source.
// The place follows from the strategy alone, because Reloader does not distinguish kinds. A mark in
// the other form is from before a change of the strategy.
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

// latestMark is reloaderMark if that shows the data of the Pods. A reload in one form leaves the
// mark in the other form unchanged. If the two differ, the later one shows the data of the Pods.
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

// fits reports whether a mark belongs to the current data.
func (f *Facts) fits(c *Concern, mark string) bool {
	return c.Source.IsReloaderMark(f.Key, mark) || mark == workload.MarkHash(c.Source, digest.SecretMarksKeyed)
}

// isAnnotatedLater reports whether the annotation was provably written later than a variable. A
// field manager has one time for all that it owns, so this shows only if the variable is Reloader's
// and the annotation ours. The annotation has the time of our clock.
func (f *Facts) isAnnotatedLater(variable string) bool {
	marks := &f.Workload.Marks
	from, err := workload.ParseReloadedFrom(marks.ReloadedFrom)
	return err == nil && marks.Writers[variable] == workload.ReloaderManager && marks.Writers[annotations.DefaultNames().LastReloadedFrom] == "" &&
		!marks.ByReloader.IsZero() && time.Unix(from.ObservedAt, 0).After(marks.ByReloader.Add(clocksDiffer))
}
