package controller

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/reroll-dev/reroll/test/simapi"
)

// latestScheduled returns the latest run of the schedule that began before a version, and that was
// not deleted by then before its end.
func (c *cronTruth) latestScheduled(at uint64) dated {
	var last dated
	for _, begun := range c.scheduled {
		if gone := c.undone[begun.version]; begun.version <= at && (gone == 0 || gone > at) {
			last = begun
		}
	}
	return last
}

// shownBegun is when a run of the schedule has begun, as far as the API shows it at a version. If its
// Job is deleted, only the status of the CronJob is left, with the minute for which it was scheduled.
func (c *cronTruth) shownBegun(run dated, at uint64) time.Time {
	if gone := c.gone[run.version]; gone != 0 && gone <= at {
		return run.date.Truncate(time.Minute)
	}
	return run.date
}

// judgeOwnRun judges the beginning of a run of ours.
func (o *oracle) judgeOwnRun(c *cronTruth, job *batchv1.Job, version uint64) {
	o.h.count("reloads")
	run := o.own[job.UID]
	l := run.look
	if !o.mayRunNow(c, run) {
		o.fail("run %s of %s begins at %d, decided on at %d, without a change since the latest run", job.Name, c.name, version, l.at)
	}
	for src := range run.covered {
		c.carried[src] = max(c.carried[src], l.known[src])
	}
	c.reloads = append(c.reloads, version)
}

func (o *oracle) mayRunNow(c *cronTruth, run ownRun) bool {
	l := run.look
	last := c.latestScheduled(l.at)
	for src, ended := range c.ended {
		if _, covered := run.covered[src]; !covered && ended.version > l.at || ended.version > o.h.landing.look.at {
			return o.excused(sentBefore)
		}
	}
	if n := len(c.reloads); n > 0 && c.reloads[n-1] > o.h.landing.look.at {
		return o.excused(sentBefore) // another run began after that request was sent
	}
	latest := map[simapi.Source]change{}
	for src, since := range simapi.InOrder(run.covered) {
		for _, ch := range o.sources[src].changes {
			if ch.version <= l.known[src] {
				latest[src] = ch
			}
		}
		if ch := latest[src]; ch.version > c.carried[src] && ch.version > last.version && ch.version > since {
			return true
		}
	}
	for src, ch := range simapi.InOrder(latest) {
		dated := o.sources[src].datedAt(l.known[src])
		shown, timeless := dated.date, dated.untracked || ch.timeless(dated.date)
		soon := !c.shownBegun(last, l.at).After(shown.Add(startLag + clockSkew))
		switch {
		case ch.version == 0:
		case c.forgotten[src] && o.lastGap >= c.carried[src]:
			return o.excused(ledgerGone)
		case ch.version <= c.carried[src] && (c.dropped > ch.version || soon && o.keyLostAt > ch.version) && c.wiped > ch.version && o.lastGap >= c.wiped:
			return o.excused(ledgerGone) // only an earlier run is left to compare with, or one that the lost key has signed
		case ch.version <= c.carried[src]:
		case ch.version <= run.covered[src] && (o.lastGap >= c.first[src] || ch.version > c.first[src]):
			return o.excused(changedInLapse)
		case ch.version <= run.covered[src]:
		case soon:
			return o.excused(beganSoon)
		case timeless, !shown.After(run.noted):
			return o.excused(showsNoTime) // so it may be later than any run
		}
	}
	for src := range simapi.InOrder(run.covered) {
		if o.seemsLater(c, src, run, last) {
			return true
		}
	}
	return false
}

// seemsLater reports whether the data of a source seems to be later than all runs, although it did
// not change.
func (o *oracle) seemsLater(c *cronTruth, src simapi.Source, run ownRun, last dated) bool {
	l, s := run.look, o.sources[src]
	version, known := l.known[src]
	shown := s.datedAt(version)
	if !known || shown.date.Before(o.installedIn) || last.date.After(shown.date.Add(startLag+clockSkew)) {
		return false
	}
	made := latestOf(s.comings, version)
	switch {
	case run.unreadable[src] && (shown.proven || made > o.keyLostAt):
		return o.excused(unreadable)
	case shown.misleads && (run.wrote[src] == 0 || version <= l.live[src.Resource]):
		return o.excused(seemsEdited)
	default:
		// It may have had other data between its deletion and this creation.
		return len(s.comings) > 1 && made > c.carried[src] && made <= l.live[src.Resource] && o.excused(cameBackUnseen)
	}
}
