package controller

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/reroll-dev/reroll/internal/workload"
)

// newRelease is a stage on which somebody edits the ConfigMap and then the template of the
// Deployment, so that there is nothing to reload.
func newRelease(t *testing.T, change func(*appsv1.Deployment)) *road {
	t.Helper()
	r := &road{stage: newStage(t)}
	r.tells(told{stageReport{stage: r.stage}, &r.lines})
	r.add("web", true, "")
	r.status(3, 3, 3)
	r.play(time.Minute)
	r.release("2", change)
	return r
}

func (r *road) release(value string, change func(*appsv1.Deployment)) {
	r.Helper()
	r.edit("web", value)
	r.change(func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].Image = "web:" + value
		change(d)
	})
	r.play(2 * time.Second)
	if r.marked != 0 {
		r.Fatal("it was reloaded, and a record was to come")
	}
}

func pause(d *appsv1.Deployment) { d.Spec.Paused = true }

func TestPodsKeptByAnotherClientsRolloutAreReportedOnce(t *testing.T) {
	r := newRelease(t, pause)
	r.want(0) // the status is about the template before
	r.status(3, 0, 3)
	r.play(time.Second)
	r.want(0, "not rolled: paused, 3 of 3")
	for i := range int32(20) {
		r.status(3, 0, i%3)
		r.play(time.Hour)
	}
	r.want(0, "not rolled: paused, 3 of 3")

	// A start finds the data in the ledger.
	again := &road{stage: newStage(t)}
	again.tells(told{stageReport{stage: again.stage}, &again.lines})
	again.server = r.server
	source, err := r.server.Get("configmaps", inShop("web"))
	if err != nil {
		t.Fatal(err)
	}
	again.configMaps().isListed(source)
	again.deployments().isListed(again.stands())
	again.followsAll()
	again.play(time.Hour)
	again.want(0)

	// A change of other data is reported again.
	r.release("3", pause)
	r.status(3, 0, 3)
	r.play(time.Second)
	r.want(0, "not rolled: paused, 3 of 3", "not rolled: paused, 3 of 3")
}

func TestPodsReplacedByAnotherClientsRolloutAreNotReported(t *testing.T) {
	for about, happens := range map[string]func(*road){
		"it goes on": func(r *road) { r.status(4, 1, 3) },
		"it is paused when no pod is left with the previous data": func(r *road) {
			r.status(3, 3, 3)
			r.change(pause)
			r.status(3, 3, 3)
		},
		"the Deployment is deleted": func(r *road) {
			r.forgets(workload.Key{Kind: "Deployment", Namespace: namespace, Name: "web"})
		},
	} {
		t.Run(about, func(t *testing.T) {
			r := newRelease(t, func(*appsv1.Deployment) {})
			happens(r)
			r.play(time.Hour)
			r.want(0)
			if r.controller.othersAwaited() != 0 {
				t.Errorf("%d are still waited for", r.controller.othersAwaited())
			}
		})
	}
}

func TestARecordWithALostResponseReportsTheKeptPods(t *testing.T) {
	r := newRelease(t, pause)
	r.status(3, 0, 3)
	r.play(time.Minute)
	api := &lossy{stage: r.stage, loses: true}
	r.sends(api)
	r.release("3", pause)
	api.loses = false
	r.status(3, 0, 3)
	r.play(time.Minute)
	r.want(0, "not rolled: paused, 3 of 3", "not rolled: paused, 3 of 3")
}
