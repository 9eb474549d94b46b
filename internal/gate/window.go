package gate

import (
	"fmt"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/window"
)

// windows are the windows of a workload, or of a source, with what sets them.
type windows struct {
	text, setBy string
	*window.Schedule
	// err is why the text cannot be read.
	err error
}

func read(text, setBy string) windows {
	w := windows{text: text, setBy: setBy}
	w.Schedule, w.err = window.Parse(text)
	return w
}

// checkWindow reports whether the windows of the workload and of all changed sources are open. They
// are parsed for each check, because a parsed time zone takes kilobytes of memory.
func checkWindow(f *reload.Facts, d *reload.Decision) Answer {
	if isUrgent(d) {
		return Answer{}
	}
	all, bad := windowsOf(f, d)
	if bad != nil {
		return Answer{By: Window, Why: fmt.Sprintf("%s cannot be read: %s", bad.setBy, bad.err)}
	}
	closed := -1
	for i := range all {
		if !all[i].Open(f.Now) {
			closed = i
			break
		}
	}
	if closed < 0 {
		return Answer{}
	}
	until, _ := opens(all, f.Now)
	return Answer{By: Window, Until: until, Why: fmt.Sprintf("its window is closed: %s (%s)", all[closed].text, all[closed].setBy)}
}

// windowsOf returns the windows of a workload, and of the sources that have changed. Bad are the
// first ones that cannot be read.
func windowsOf(f *reload.Facts, d *reload.Decision) (all []windows, bad *windows) {
	if text, setBy := f.Windows(); text != "" {
		all = append(all, read(text, setBy))
	}
	for _, src := range windowedSources(f, d) {
		all = append(all, read(windowOf(src), annotations.Window+" on "+src.Key.Kind.String()+" "+src.Key.Name))
	}
	for i := range all {
		if all[i].err != nil {
			return all, &all[i]
		}
	}
	return all, nil
}

func windowOf(src *source.Source) string { return src.Annotations.Waves.Waves().Window }

// windowedSources are the sources with windows whose data a reload brings. A ledger with one digest
// for many sources may not show which of them have changed since a reload waits. Then all of them
// count.
func windowedSources(f *reload.Facts, d *reload.Decision) []*source.Source {
	var all []*source.Source
	seen := map[source.Key]bool{}
	add := func(c *reload.Concern) {
		if src := &c.Source; windowOf(src) != "" && !seen[src.Key] {
			seen[src.Key] = true
			all = append(all, src)
		}
	}
	for i := range d.Changes {
		add(&d.Changes[i])
	}
	if !slices.ContainsFunc(f.Concerns, func(c reload.Concern) bool { return windowOf(&c.Source) != "" && !seen[c.Source.Key] }) {
		return all // nearly always, without reading the ledger
	}
	known, _, err := f.Ledger()
	if err != nil {
		return all
	}
	for i := range f.Concerns {
		c := &f.Concerns[i]
		if total, aggregated := known.Aggregates[c.Source.Key.Kind]; aggregated && total.Digest.IsZero() && !c.Source.Key.IsForeign() {
			add(c)
		}
	}
	return all
}

// opens returns the earliest time at which all windows are open, in the time zone of the last one
// that opens. The search is bounded: anyone may write windows that open in turn, and gates are
// checked one after the other. It is repeated every hour, when less of the way is left.
func opens(all []windows, now time.Time) (at time.Time, found bool) {
	steps := window.MaxSteps + len(all)
	searches := make([]*window.Search, len(all))
	for i := range all {
		searches[i] = all[i].SearchFrom(now, &steps)
	}
	at = now
	for i, open := 0, 0; open < len(all); i = (i + 1) % len(all) {
		next, found := searches[i].Opens(at)
		switch {
		case !found:
			return time.Time{}, false
		case next.Equal(at):
			open++
		default:
			at, open = next, 1
		}
	}
	return at, true
}

// hasBadWindow reports whether no reload of a workload starts until a window is corrected: its own,
// or that of a source that has changed.
func hasBadWindow(f *reload.Facts, known *ledger.Ledger) bool {
	if text, _ := f.Windows(); text != "" {
		if _, err := window.Parse(text); err != nil {
			return true
		}
	}
	return slices.ContainsFunc(f.Concerns, func(c reload.Concern) bool {
		return c.Source.Annotations.Waves.Waves().BadWindow && !rolledWith(f, known, &c.Source)
	})
}

// When returns when the gate opens: in its time zone, and in that of a reader if the clocks there
// differ.
func (a *Answer) When(reader *time.Location) string {
	if a.By != Window && a.By != Freeze {
		return a.Until.UTC().Format(time.RFC3339)
	}
	text := a.Until.Format(time.RFC3339)
	if zone := a.Until.Location(); zone != time.UTC {
		text += " (" + zone.String() + ")"
	}
	if here := a.Until.In(reader).Format(time.RFC3339); here != a.Until.Format(time.RFC3339) {
		text += ", here " + here
	}
	return text
}

// DescribeWindows describes the windows of a workload and of its sources, and whether they are
// open.
func DescribeWindows(f *reload.Facts, reader *time.Location) []string {
	var texts []string
	all, _ := windowsOf(f, &reload.Decision{Changes: f.Concerns})
	for i := range all {
		texts = append(texts, all[i].describe(f.Now, reader))
	}
	return texts
}

func (w *windows) describe(now time.Time, reader *time.Location) string {
	text := w.text + " (" + w.setBy + ")"
	switch at, found := w.opens(now); {
	case w.err != nil:
		return text + ", which cannot be read, so no reload starts: " + w.err.Error()
	case !found:
		return text + ", closed"
	case at.Equal(now):
		return text + ", open now"
	default:
		a := Answer{By: Window, Until: at}
		return text + ", opens at " + a.When(reader)
	}
}

func (w *windows) opens(now time.Time) (time.Time, bool) {
	if w.err != nil {
		return time.Time{}, false
	}
	return w.Opens(now)
}
