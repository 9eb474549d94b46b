package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
)

// lossy is an API of which answers are lost.
type lossy struct {
	*stage
	loses bool
	// answers are those to writes, and nil is success.
	answers []error
}

// Patch implements API.
func (a *lossy) Patch(ctx context.Context, kind kinds.Kind, key workload.Key, patch kinds.Patch) (runtime.Object, error) {
	obj, err := a.stage.Patch(ctx, kind, key, patch)
	if err == nil && a.loses {
		err = errors.New("the connection was closed")
	}
	a.answers = append(a.answers, err)
	return obj, err
}

type reloads struct {
	stageReport
	counters *[]int64
}

// Reloaded implements Report.
func (r reloads) Reloaded(_ *workload.Workload, d reload.Decision, _ time.Duration) {
	*r.counters = append(*r.counters, d.Ledger.Counter)
}

// A reload takes effect, and its response is lost. Before the watch brings it, the source changes
// again, and the next write conflicts with the first.
func TestAReloadWithALostResponseIsReportedAfterTheNextConflict(t *testing.T) {
	s := newStage(t)
	var told []int64
	s.tells(reloads{stageReport{stage: s}, &told})
	s.add("web", true, "")
	s.play(time.Minute)
	api := &lossy{stage: s, loses: true}
	s.sends(api)
	s.edit("web", "2")
	s.play(settleTime + workqueue.FirstRetry/2)
	api.loses = false
	s.edit("web", "3")
	s.play(settleTime + workqueue.FirstRetry)
	if len(api.answers) < 2 || apierrors.IsConflict(api.answers[0]) || !apierrors.IsConflict(api.answers[1]) || len(told) != 0 {
		t.Fatalf("the writes were answered %v, and told was %v: this shows nothing", api.answers, told)
	}
	landed, err := s.server.Get("deployments", inShop("web"))
	if err != nil {
		t.Fatal(err)
	}
	s.deployments().arrives(landed)
	s.play(time.Minute)
	if len(told) != 2 || told[0] != 1 || told[1] != 2 || s.controller.withoutAnswer() != 0 {
		t.Errorf("told were the reloads %v, %d are kept; want the first and the second", told, s.controller.withoutAnswer())
	}
}
