package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
)

// A reload may pause its workload for a while, so that further changes are part of the same
// rollout. The annotations of the object determine when the pause ends, no matter which client
// wrote them. The record only contains when to check.

// resumeWorkers is how many workloads are resumed at the same time. They are separate workers, so
// that pauses and reloads do not wait for each other.
const resumeWorkers = 4

// ended is a pause that Reroll has ended, with its annotations.
type ended struct {
	uid   types.UID
	since string
}

// queuePause queues the end of the pause of a workload.
func (c *Controller) queuePause(key workload.Key) {
	w, there := c.state.Workload(key)
	if !there || !w.Pause.Ours() && !w.Pause.Leftover() {
		return
	}
	var wait time.Duration
	if w.Pause.Ours() {
		wait, _ = w.PauseLeft(c.clock.Now(), c.opts.Names)
	}
	c.pauses.Add(key, wait, wait)
}

// endPause resumes a workload whose pause is over, even if the workload is no longer opted in.
func (c *Controller) endPause(ctx context.Context, key workload.Key) workqueue.Result {
	w, there := c.state.Workload(key)
	if there && c.isStale(&w) {
		return workqueue.WaitFor(watchAgain)
	}
	if !there || c.opts.DryRun || w.Deleting || c.state.Terminating(key.Namespace) || !w.Pause.Ours() && !w.Pause.Leftover() {
		return workqueue.Finished()
	}
	var end workload.PauseEnd
	if w.Pause.Ours() {
		var left time.Duration
		if left, end = w.PauseLeft(c.clock.Now(), c.opts.Names); left > 0 {
			c.pauses.Add(key, left, left)
			return workqueue.Finished()
		}
	}
	switch {
	case !c.leads():
		return workqueue.WaitFor(leadAgain)
	case c.pauseIsBack(&w):
		return workqueue.Finished()
	}
	ctx, cancel := context.WithTimeout(ctx, requestsTake)
	defer cancel()
	err := c.resumeWorkload(ctx, &w, end)
	switch {
	case err == nil, apierrors.IsNotFound(err) && !c.exists(&w):
		return workqueue.Finished()
	case isConflict(err) && c.pauses.TriesOf(key) < toleratedConflicts:
		// The watch may have brought the newer version already, or has yet to bring the deletion.
		return workqueue.Conflicted()
	default:
		return workqueue.FailedWith(func(retryIn time.Duration, again bool) {
			c.report.Failed(&w, reload.Decision{Action: reload.Resume}, err, retryIn, again)
		})
	}
}

func (c *Controller) resumeWorkload(ctx context.Context, w *workload.Workload, end workload.PauseEnd) error {
	kind := c.kinds[w.Key.Kind]
	patch, err := kinds.Resume(w, c.opts.Names)
	if err != nil {
		return err
	}
	obj, err := c.api.Patch(ctx, kind, w.Key, patch)
	if err != nil {
		return fmt.Errorf("patch %s: %w", w.Key, err)
	}
	c.with(w.Key, func(r *record) { r.resumed = &ended{uid: w.UID, since: w.Pause.Since} })
	answer, err := c.opts.Read(kind, obj)
	if err != nil {
		return err
	}
	c.state.PutAnswer(answer)
	c.trackStatus(w.Key)
	if w.Pause.Ours() {
		if !end.Spoilt {
			c.log.Info("resumed: "+end.Why, "workload", w.Key.String())
		}
		c.report.Notify(notice.PauseEnded(w, end))
	}
	return nil
}

// forgetEndedPause forgets the previous pause, because the next one may begin in the same second.
func (c *Controller) forgetEndedPause(key workload.Key) {
	c.with(key, func(r *record) { r.resumed = nil })
}

// pauseIsBack reports whether a pause that Reroll ended is back, because a tool has applied an old
// copy of the object. Reroll notifies the user and leaves the pause.
func (c *Controller) pauseIsBack(w *workload.Workload) bool {
	e := c.recordOf(w.Key).resumed
	again := e != nil && e.uid == w.UID && e.since == w.Pause.Since && w.Pause.Noted
	if again && w.Pause.Ours() {
		c.notifyOnce(w.Key, notice.PauseBack(w))
	}
	return again
}

// logPause logs that a reload paused its workload.
func (c *Controller) logPause(w *workload.Workload) {
	now, ok := c.state.Workload(w.Key)
	if period, set := now.Policy.PausePeriod(); ok && set && !w.Pause.Paused && now.Pause.Ours() {
		c.log.Info("paused: changes until the end of the period are part of the same rollout", "workload", w.Key.String(), "period", period.String())
	}
}
