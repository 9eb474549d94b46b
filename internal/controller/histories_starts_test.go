package controller

import (
	"time"

	"github.com/reroll-dev/reroll/test/simapi"
)

// started forgets what the previous controller was shown. A controller without --auto-reload-all
// ends covers, and one with it begins them: it must act on changes from when it has seen
// everything, and may act on changes since its start.
func (o *oracle) started(all bool) {
	clear(o.known)
	clear(o.watched)
	clear(o.live)
	clear(o.gone)
	clear(o.goneAt)
	o.firstShown, o.newestShown, o.skipped = map[simapi.Source]uint64{}, map[simapi.Source]time.Time{}, map[simapi.Source]span{}
	o.startedAt = o.h.server.Version()
	if all == (o.allFrom > 0) {
		return
	}
	o.all, o.allFrom = false, 0
	if all {
		o.allFrom = o.startedAt
		if o.mayFrom == 0 {
			o.mayFrom = o.startedAt
		}
	}
	o.coverAll(turn{o.startedAt, byStart}, o.startedAt)
}

// recordsCoverage is called when a controller records whether it has --auto-reload-all.
func (o *oracle) recordsCoverage(all bool) {
	if !all && o.mayFrom > 0 {
		o.mayFrom = 0
		o.coverAll(turn{o.startedAt, byStart}, o.startedAt)
	}
}

// sees records that the running controller has seen everything once.
func (o *oracle) sees() {
	if o.allFrom > 0 && !o.all {
		o.all = true
		o.coverAll(turn{o.allFrom, byStart}, o.h.server.Version())
	}
}
