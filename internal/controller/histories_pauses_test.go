package controller

import (
	"maps"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/test/simapi"
)

// In these histories, only the controller pauses Deployments. So at rest none is paused, whatever
// users have done to the annotations and whenever a controller was killed. A reload pauses its
// Deployment in the same write if it has a pause period. If no user changed the pause, no
// controller ends it before its time.

func (u *users) deployment() drawnWorkload { return workloads()[u.h.rand.IntN(2)] }

// askForPauses writes a valid or an invalid period, or removes it.
func (u *users) askForPauses(w drawnWorkload) bool {
	period := []string{"2s", "20s", "20s", "3m", "soon", "-1s", ""}[u.h.rand.IntN(7)]
	return u.edit(w, func(obj simapi.Object) {
		ann := annotationsOf(obj)
		ann[annotations.DefaultNames().PausePeriod] = period
		if period == "" {
			delete(ann, annotations.DefaultNames().PausePeriod)
		}
		obj.SetAnnotations(ann)
	})
}

// spoilPause writes another value for the beginning of the pause.
func (u *users) spoilPause(w drawnWorkload) bool {
	since := []string{"yesterday", "", "2199-01-01T00:00:00Z", "2001-01-01T00:00:00Z"}[u.h.rand.IntN(4)]
	return u.edit(w, func(obj simapi.Object) {
		ann := maps.Clone(obj.GetAnnotations())
		if _, paused := ann[annotations.DefaultNames().PausedAt]; paused {
			ann[annotations.DefaultNames().PausedAt] = since
			obj.SetAnnotations(ann)
		}
	})
}

// endPause acts like a tool that knows of no pause.
func (u *users) endPause(w drawnWorkload) bool {
	return u.edit(w, func(obj simapi.Object) { obj.(*appsv1.Deployment).Spec.Paused = false })
}

func changesLedger(e simapi.Event) bool {
	return e.Old != nil && e.Old.GetAnnotations()[annotations.Ledger] != e.Object.GetAnnotations()[annotations.Ledger]
}

// defers reports whether the ledger of an object shows that a reload waits: one of its digests is
// zero.
func defers(obj simapi.Object) bool {
	return strings.Contains(obj.GetAnnotations()[annotations.Ledger], strings.Repeat("0", 32))
}

// pauseOf returns whether an object is paused, and its recorded beginning.
func pauseOf(obj simapi.Object) (paused bool, since, period string) {
	names, annotations := annotations.DefaultNames(), obj.GetAnnotations()
	if d, ok := obj.(*appsv1.Deployment); ok {
		paused = d.Spec.Paused
	}
	return paused, annotations[names.PausedAt], annotations[names.PausePeriod]
}

// heldStill judges a write of the controller that changes more than a pause.
func (o *oracle) heldStill(w *workloadTruth, e simapi.Event, rolled bool) {
	before, _, _ := pauseOf(e.Old)
	after, since, text := pauseOf(e.Object)
	period, err := time.ParseDuration(text)
	_, pausable := e.Object.(*appsv1.Deployment)
	asked := pausable && err == nil && period > 0
	switch {
	case rolled && asked && !after:
		o.fail("the reload of %s at %d does not pause it, which has the period %q", w.name, e.Version, text)
	case !before && after && (!rolled || !asked || since == ""):
		o.fail("a write to %s at %d pauses it, with the period %q and the time %q", w.name, e.Version, text, since)
	case before && !after:
		o.fail("a reload of %s at %d ends its pause", w.name, e.Version)
	case !before && after:
		o.h.count("pauses")
		w.pausedAt = o.h.server.Now()
	}
}

// resumed judges a write of the controller that changes only a pause. The clocks of two controllers
// differ in these histories, so the length of a pause is by the clock of the second one.
func (o *oracle) resumed(w *workloadTruth, e simapi.Event) {
	before, since, text := pauseOf(e.Old)
	after, left, _ := pauseOf(e.Object)
	o.h.say("%s is resumed at %d, was paused: %t", w.name, e.Version, before)
	if after || left != "" {
		o.fail("a write to %s at %d ends its pause, and leaves paused %t, %q", w.name, e.Version, after, left)
	}
	if !before || o.h.landing.look.life != o.h.life {
		return // a previous controller sent it, by its own clock
	}
	o.h.count("resumes")
	period, err := time.ParseDuration(text)
	began, wrong := time.Parse(time.RFC3339, since)
	if err == nil && period > 0 && wrong == nil && began.Equal(w.sinceTold(o.h)) && o.h.server.Now().Sub(w.pausedAt) < period-time.Second {
		o.fail("the pause of %s, of %s, was ended after %s", w.name, period, o.h.server.Now().Sub(w.pausedAt))
	}
}

// sinceTold returns the recorded beginning of a pause of this controller.
func (w *workloadTruth) sinceTold(h *history) time.Time {
	return w.pausedAt.Add(h.clock.Now().Sub(h.server.Now())).Truncate(time.Second)
}

// judgePause runs at rest. The annotation of an ended pause may return with the annotations of an
// earlier revision, and has no effect.
func (o *oracle) judgePause(w *workloadTruth, obj simapi.Object) {
	if paused, since, period := pauseOf(obj); paused {
		o.fail("at rest, %s is left paused since %q, with the period %q", w.name, since, period)
	}
}
