package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
)

// deadWebhook is a rule of the cluster that nobody answers for. It is asked about every workload
// but web.
type deadWebhook struct {
	*stage
	patched chan time.Time
}

// Patch implements API.
func (a *deadWebhook) Patch(ctx context.Context, kind kinds.Kind, key workload.Key, patch kinds.Patch) (runtime.Object, error) {
	if key.Name != "web" {
		time.Sleep(10 * time.Second)
		return nil, errors.New("failed calling webhook: context deadline exceeded")
	}
	a.patched <- time.Now()
	return a.stage.Patch(ctx, kind, key, patch)
}

func TestFailingWorkloadsDoNotBlockOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		const failing = 200
		for i := range failing {
			s.add(fmt.Sprintf("fails-%d", i), true, "")
		}
		s.add("web", true, "")
		s.play(time.Minute)
		api := &deadWebhook{s, make(chan time.Time, 10)}
		s.controller.api, s.controller.report, s.controller.counter = api, noReport{}, noReport{}
		s.controller.clock, s.controller.queue = clock.RealClock{}, workqueue.NewShared(clock.RealClock{}, workers)

		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		s.controller.serve(ctx, &running)
		for i := range failing {
			s.edit(fmt.Sprintf("fails-%d", i), "2")
		}
		time.Sleep(5 * time.Minute)
		edited := time.Now()
		s.edit("web", "2")
		if took := (<-api.patched).Sub(edited); took > 2*time.Second {
			t.Errorf("it was written after %s, while %d others fail", took, s.controller.Depth())
		}
		stop()
		running.Wait()
	})
}
