package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/workqueue"
)

// pausing keeps the reports about pauses, and about the ends of rollouts.
type pausing struct {
	told
	clock interface{ Now() time.Time }
}

func (r pausing) say(format string, args ...any) {
	*r.lines = append(*r.lines, fmt.Sprintf(format, args...))
}

// Notify implements Report.
func (r pausing) Notify(n notice.Notice) {
	switch n.Reason {
	case notice.Resumed:
		r.say("resumed at %s, spoilt %t", r.clock.Now().Format(time.TimeOnly), n.Warning)
	case notice.PausedAgain:
		r.say("paused again")
	}
}

// paused is a Deployment of three pods that a reload at 12:01:01 holds still for ten minutes.
func paused(t *testing.T) *road {
	t.Helper()
	r := &road{stage: newStage(t)}
	r.tells(pausing{told{stageReport{stage: r.stage}, &r.lines}, r.clock})
	r.add("web", true, "")
	r.change(func(d *appsv1.Deployment) { d.Annotations[r.opts().Names.PausePeriod] = "10m" })
	r.status(3, 3, 3)
	r.play(time.Minute)
	r.edit("web", "2")
	r.play(2 * time.Second)
	r.status(3, 0, 3)
	r.play(time.Second)
	r.wantPause(true)
	return r
}

func (r *road) wantPause(paused bool, lines ...string) {
	r.Helper()
	obj, err := r.server.Get("deployments", inShop("web"))
	if err != nil {
		r.Fatal(err)
	}
	is, since, _ := pauseOf(obj)
	told := slices.DeleteFunc(slices.Clone(r.lines), func(line string) bool { return strings.Contains(line, "rolled") })
	if is != paused || paused != (since != "") || !slices.Equal(told, lines) {
		r.Errorf("paused %t since %q, told was %q; want %t, %q", is, since, told, paused, lines)
	}
}

func TestAPauseGathersChangesAndEndsOnTime(t *testing.T) {
	r := paused(t)
	for i := range 4 {
		r.play(2 * time.Minute)
		r.edit("web", fmt.Sprint(10+i))
	}
	r.play(time.Minute)
	r.wantPause(true)
	r.play(2 * time.Minute)
	r.wantPause(false, "resumed at 12:11:01, spoilt false")
	r.pods(0, 3)
	r.status(3, 3, 3)
	r.play(time.Second)
	if last := r.lines[len(r.lines)-1]; last[:len("rolled 3 pods")] != "rolled 3 pods" || r.controller.pauses.Depth() != 0 {
		t.Errorf("told was %q, %d wait", r.lines, r.controller.pauses.Depth())
	}
}

func TestAPauseOutlivesTheController(t *testing.T) {
	r := paused(t)
	next := newStage(t)
	next.server, next.clock = r.server, r.clock
	next.controller = New(*r.opts(), next, next.clock, r.controller.log, r.controller.report, r.controller.counter)
	next.installation().Installed, r.stage = r.installation().Installed, next
	obj, err := r.server.Get("deployments", inShop("web"))
	if err != nil {
		t.Fatal(err)
	}
	r.deployments().isListed(obj)
	r.play(9 * time.Minute)
	r.wantPause(true)
	r.play(2 * time.Minute)
	r.wantPause(false, "resumed at 12:11:01, spoilt false")
}

func TestAStandbyResumesNothing(t *testing.T) {
	r := paused(t)
	leads := false
	r.leadsWhile(func() bool { return leads })
	r.play(time.Hour)
	r.wantPause(true)
	leads = true
	r.play(2 * time.Second)
	if len(r.lines) != 1 {
		t.Errorf("told was %q", r.lines)
	}
}

func TestARejectedResumeIsRetried(t *testing.T) {
	resource := schema.GroupResource{Resource: "deployments"}
	for about, refusal := range map[string]error{
		"by an error":     errors.New("not now"),
		"as a conflict":   apierrors.NewConflict(resource, "web", errors.New("denied by a webhook")),
		"as if it's gone": apierrors.NewNotFound(resource, "web"),
	} {
		t.Run(about, func(t *testing.T) {
			r := paused(t)
			r.refuses = refusal
			r.play(time.Hour)
			r.wantPause(true)
			if r.failed < 3 || r.failed > 25 {
				t.Errorf("%d failures are told in an hour", r.failed)
			}
			r.refuses = nil
			r.play(workqueue.LastRetry)
			if len(r.lines) != 1 {
				t.Errorf("told was %q", r.lines)
			}
		})
	}
}

func TestADeploymentDeletedAsItsPauseEndsIsNoFailure(t *testing.T) {
	r := paused(t)
	r.refuses = apierrors.NewNotFound(schema.GroupResource{Resource: "deployments"}, "web")
	wrote := r.patched
	r.play(10*time.Minute + 2*time.Second) // the watch lags behind
	r.deployments().departs(inShop("web"), "")
	r.play(time.Hour)
	if r.failed != 0 || r.patched == wrote {
		t.Errorf("%d failures and %d patches, want no failure of a patch", r.failed, r.patched-wrote)
	}
}

func TestAShortenedPauseEndsDespiteAFailedResume(t *testing.T) {
	r := paused(t)
	// A reconciliation has failed, and the next one comes later.
	r.controller.queue.Failed(named("web"))
	r.change(func(d *appsv1.Deployment) { d.Annotations[r.opts().Names.PausePeriod] = "1s" })
	r.play(time.Second)
	if len(r.lines) != 1 {
		t.Errorf("told was %q", r.lines)
	}
}

func TestAPauseEndedByAnotherClientIsNotEndedAgain(t *testing.T) {
	r := paused(t)
	r.change(func(d *appsv1.Deployment) { d.Spec.Paused = false })
	wrote := r.patched
	r.play(time.Second)
	r.wantPause(false)
	if r.patched != wrote+1 {
		t.Errorf("%d writes to take away what was noted", r.patched-wrote)
	}
	// The next reload begins another.
	r.edit("web", "3")
	r.play(2 * time.Second)
	r.wantPause(true)
}

// Nothing may stay paused for ever because somebody spoilt when the pause began.
func TestAPauseWithASpoiltBeginEndsAtOnce(t *testing.T) {
	for about, spoil := range map[string]func(map[string]string, string){
		"another text": func(ann map[string]string, name string) { ann[name] = "yesterday" },
		"the future":   func(ann map[string]string, name string) { ann[name] = "2199-01-01T00:00:00Z" },
		"removed":      func(ann map[string]string, name string) { delete(ann, name) },
	} {
		t.Run(about, func(t *testing.T) {
			r := paused(t)
			r.play(time.Minute)
			r.change(func(d *appsv1.Deployment) { spoil(d.Annotations, r.opts().Names.PausedAt) })
			r.play(5 * time.Second)
			r.wantPause(false, "resumed at 12:02:03, spoilt true")
		})
	}
}

func TestAPauseRestoredByAToolIsLeftAlone(t *testing.T) {
	r := paused(t)
	obj, err := r.server.Get("deployments", inShop("web"))
	if err != nil {
		t.Fatal(err)
	}
	since := obj.GetAnnotations()[r.opts().Names.PausedAt]
	r.play(time.Hour)
	wrote := r.patched
	for range 100 {
		r.change(func(d *appsv1.Deployment) {
			d.Spec.Paused, d.Annotations[r.opts().Names.PausedAt] = true, since
		})
		r.play(time.Minute)
	}
	if r.patched != wrote {
		t.Errorf("%d writes against who puts the pause back", r.patched-wrote)
	}
	r.wantPause(true, "resumed at 12:11:01, spoilt false", "paused again")
	// Once it is let go, the next one is ours again.
	r.change(func(d *appsv1.Deployment) { d.Spec.Paused = false })
	r.edit("web", "3")
	r.play(2 * time.Second)
	r.play(time.Hour)
	if obj, err = r.server.Get("deployments", inShop("web")); err != nil {
		t.Fatal(err)
	}
	if paused, _, _ := pauseOf(obj); paused {
		t.Errorf("it is left paused, told was %q", r.lines)
	}
}

func TestTwoPausesWithinOneSecond(t *testing.T) {
	r := paused(t)
	r.change(func(d *appsv1.Deployment) {
		d.Annotations[r.opts().Names.PausePeriod], d.Annotations[annotations.Settle] = "1ms", "0s"
	})
	r.play(time.Second)
	r.clock.SetTime(r.clock.Now().Truncate(time.Second).Add(time.Second))
	for i := range 3 {
		r.edit("web", fmt.Sprint(20+i))
		r.play(100 * time.Millisecond)
	}
	r.play(time.Minute)
	if obj, err := r.server.Get("deployments", inShop("web")); err != nil || obj.(*appsv1.Deployment).Spec.Paused {
		t.Errorf("it is left paused, %v, told was %q", err, r.lines)
	}
}

func TestADryRunEndsNoPause(t *testing.T) {
	r := paused(t)
	r.opts().DryRun = true
	wrote := r.patched
	r.play(time.Hour)
	if r.patched != wrote {
		t.Errorf("%d writes in a dry run", r.patched-wrote)
	}
}
