package reload

import (
	"encoding/hex"
	"slices"
)

// reloaderManager is the field manager under which Reloader writes.
const reloaderManager = "Reloader"

// rolledByReloader tells that Reloader has rolled the workload for the present
// content of a source: its mark fits, and it was written no earlier than the
// content. Pods that are started by that may be younger than the content by less
// than their age can prove.
func (f *Facts) rolledByReloader(c *Concern) bool {
	wrote := f.Workload.Marks.ByReloader
	return !wrote.IsZero() && !c.Seen.Timeless && !wrote.Before(c.Source.DataTime) && f.showsReloader(c)
}

// besideReloader tells that Reloader rolled the workload while we ran, for a
// change that we have seen, too.
func (f *Facts) besideReloader() bool {
	return slices.ContainsFunc(f.Concerns, func(c Concern) bool {
		return c.Seen.Edited && f.Seen.Template > c.Seen.Content && f.rolledByReloader(&c)
	})
}

// leftToReloader tells that Reloader has rolled the workload while nobody
// watched, for whichever of its sources.
func (f *Facts) leftToReloader() bool {
	return f.Seen.Template == 0 && slices.ContainsFunc(f.Concerns, func(c Concern) bool { return f.rolledByReloader(&c) })
}

// showsReloader tells that the mark of a source, of either form, is what
// Reloader writes for its content. It may be ours.
func (f *Facts) showsReloader(c *Concern) bool {
	fits := hex.EncodeToString(c.Source.Reloader[:])
	if mark, ok := f.standingVariable(c); ok && mark == fits {
		return true
	}
	mark, ok := f.Workload.Marks.standingAnnotation(c.Source.Key)
	return ok && mark == fits
}
