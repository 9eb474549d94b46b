package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/test/simapi"
)

// A snapshot shows nothing of data that came and went since the version before. The API shows a later
// time, which may also be that of a label or of a manager that took over equal data.

// skip records that the running controller is shown two versions of a source one after the other, if it
// had other data in between, and the same in both.
func (o *oracle) skip(src simapi.Source, from, to uint64) {
	s := o.sources[src]
	if s == nil || from == 0 || s.contentAt(from) != s.contentAt(to) {
		return
	}
	if slices.ContainsFunc(s.changes, func(c change) bool { return from < c.version && c.version <= to }) {
		o.skipped[src] = span{from, to}
	}
}

// awayInGap reports whether a Pod started while a source had other data that the running controller was
// never shown. If the API proves an edit since the version before, the controller has to ask the Pods.
func (o *oracle) awayInGap(src simapi.Source, pod types.UID) bool {
	s, gap := o.sources[src], o.skipped[src]
	away, back := s.away()
	proven := s.datedAt(gap.to).edited.After(s.dateAt(gap.from))
	return gap.from < away && back <= gap.to && s.made <= gap.from && gap.from < o.podMade[pod] && !proven
}
