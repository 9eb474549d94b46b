package controller

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/reroll-dev/reroll/internal/workqueue"
)

// next is a controller that starts where this one ends.
func (r *road) next(changes ...func(*Options)) *road {
	r.Helper()
	n := &road{stage: newStage(r.T)}
	n.server, n.clock, n.running = r.server, r.clock, r.running
	n.controller.clock, n.controller.queue, n.controller.rollouts = r.clock, workqueue.NewShared(r.clock, workers), workqueue.NewShared(r.clock, rolloutWorkers)
	n.installation().Installed = r.installation().Installed
	for _, change := range changes {
		change(n.opts())
	}
	n.tells(told{stageReport{stage: n.stage}, &n.lines})
	for _, resource := range []string{"configmaps", "deployments"} {
		for _, obj := range r.server.List(resource) {
			if resource == "configmaps" {
				n.configMaps().isListed(obj)
			} else {
				n.deployments().isListed(obj)
			}
		}
	}
	n.followsAll()
	return n
}

func TestAfterARestart(t *testing.T) {
	for about, tc := range map[string]struct {
		before        func(*road)
		asked, follow int
	}{
		"a reload under way is followed again":           {func(r *road) { r.status(4, 1, 3); r.pods(3, 1, unready) }, 1, 1},
		"nothing is asked where all is at rest":          {func(r *road) { r.status(3, 3, 3); r.pods(0, 3) }, 0, 0},
		"the rollout of somebody else is not our reload": {func(r *road) { r.status(4, 1, 3); r.pods(0, 4) }, 1, 0},
		"one whose mark is gone is not asked for": {func(r *road) {
			r.change(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Env = nil })
			r.status(4, 1, 3)
		}, 0, 0},
	} {
		t.Run(about, func(t *testing.T) {
			r := newRoad(t)
			tc.before(r)
			n := r.next()
			duty{queue: n.controller.rollouts, do: n.controller.trackRollout}.all(t.Context())
			n.want(tc.asked)
			if n.controller.RolloutsInProgress() != tc.follow {
				t.Errorf("%d are followed", n.controller.RolloutsInProgress())
			}
		})
	}
}

func TestPodsKeptOnPurposeAreNotReportedAgainAfterARestart(t *testing.T) {
	r := newRoad(t)
	r.change(func(d *appsv1.Deployment) { d.Spec.Paused = true })
	r.status(3, 0, 3)
	r.pods(3, 0)
	r.play(time.Second)
	r.want(0, "not rolled: paused, 3 of 3")
	n := r.next()
	n.play(time.Hour)
	n.want(1)
	n.change(func(d *appsv1.Deployment) { d.Spec.Paused = false })
	n.pods(0, 3)
	n.status(3, 3, 3)
	n.play(time.Second)
	n.want(2, "rolled 3 pods after 1h0m0s")
}
