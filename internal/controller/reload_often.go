package controller

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

const (
	// manyReloads within oftenWithin are reported, and again after that time while they continue.
	manyReloads = 10
	oftenWithin = time.Hour
	// maxCulprits bounds the sources that are stored for one reload.
	maxCulprits = 8
)

// reloadCounts are the latest reloads by workload. A count survives its workload: each reload of a
// Job deletes and recreates the Job. Counts older than an hour are dropped, so the number of
// reloaded workloads bounds the table.
type reloadCounts struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	of    map[workload.Key]*reloadCount
	swept time.Time
}

type reloadCount struct {
	reloads []pastReload // the newest manyReloads at most, in order
	// reported is when the reloads were reported, and held when a reload that has to wait was.
	reported, held time.Time
}

type pastReload struct {
	at      time.Time
	sources []source.Key
}

func newReloadCounts(c clock.PassiveClock) *reloadCounts {
	return &reloadCounts{clock: c, of: map[workload.Key]*reloadCount{}, swept: c.Now()}
}

// add counts a reload, and reports whether the workload was reloaded so often that its users should
// know.
func (r *reloadCounts) add(key workload.Key, changes []reload.Concern) (notice.Often, bool) {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep(now)
	count := r.of[key]
	if count == nil {
		count = &reloadCount{}
		r.of[key] = count
	}
	count.add(now, changes)
	first := count.reloads[0].at
	if len(count.reloads) < manyReloads || now.Sub(first) >= oftenWithin || !count.reported.IsZero() && now.Sub(count.reported) < oftenWithin {
		return notice.Often{}, false
	}
	count.reported = now
	often := notice.Often{Reloads: len(count.reloads), Within: now.Sub(first)}
	often.Source, often.Changes = count.culprit()
	return often, true
}

// hold returns the source that changed in most of the latest reloads of a workload whose next one
// has to wait, or the source that changed now if none is known. First reports whether that was not
// reported within the last hour.
func (r *reloadCounts) hold(key workload.Key, changed source.Key) (often notice.Often, first bool) {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	count := r.of[key]
	if count == nil {
		count = &reloadCount{} // the reloads were made before this process started
		r.of[key] = count
	}
	first = count.held.IsZero() || now.Sub(count.held) >= oftenWithin
	if first {
		count.held = now
	}
	often = notice.Often{Reloads: len(count.reloads), Source: changed}
	if culprit, changes := count.culprit(); changes > 0 {
		often.Source, often.Changes = culprit, changes
	}
	return often, first
}

func (r *reloadCounts) sweep(now time.Time) {
	if now.Sub(r.swept) < oftenWithin {
		return
	}
	r.swept = now
	for key, count := range r.of {
		if now.Sub(count.last()) >= oftenWithin {
			delete(r.of, key)
		}
	}
}

// last is when the latest reload was made, or a reload had to wait.
func (c *reloadCount) last() time.Time {
	if n := len(c.reloads); n > 0 && c.reloads[n-1].at.After(c.held) {
		return c.reloads[n-1].at
	}
	return c.held
}

func (c *reloadCount) add(now time.Time, changes []reload.Concern) {
	past := pastReload{at: now}
	for _, change := range changes[max(len(changes)-maxCulprits, 0):] {
		past.sources = append(past.sources, change.Source.Key)
	}
	if len(c.reloads) == manyReloads {
		c.reloads = append(c.reloads[:0], c.reloads[1:]...)
	}
	c.reloads = append(c.reloads, past)
}

// culprit is the source that changed in most of the reloads. If several did, it is the one that
// changed last.
func (c *reloadCount) culprit() (most source.Key, changes int) {
	times := map[source.Key]int{}
	for _, past := range c.reloads {
		for _, src := range past.sources {
			if times[src]++; times[src] >= changes {
				most, changes = src, times[src]
			}
		}
	}
	return most, changes
}

// reloaded reports a reload, and a workload that is reloaded again and again.
func (c *Controller) reloaded(w *workload.Workload, d reload.Decision, took time.Duration) {
	c.withdraw(w.Key, notice.GateOverridden)
	c.report.Reloaded(w, d, took)
	if often, is := c.often.add(w.Key, d.Changes); is {
		c.report.Notify(notice.TooOften(w, often))
	}
}
