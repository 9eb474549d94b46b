package controller

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// slowAPI takes a second for each request, and counts those that are on their way.
type slowAPI struct {
	*stage
	// listed and patched happen when an answer comes.
	listed, patched func()

	mu         sync.Mutex
	busy, most int
}

func (a *slowAPI) take(then func()) {
	a.mu.Lock()
	a.busy++
	a.most = max(a.most, a.busy)
	a.mu.Unlock()
	time.Sleep(time.Second)
	then()
	a.mu.Lock()
	a.busy--
	a.mu.Unlock()
}

// Pods implements API.
func (a *slowAPI) Pods(ctx context.Context, w *workload.Workload) (reload.Pods, error) {
	a.take(a.listed)
	return a.stage.Pods(ctx, w)
}

// Patch implements API.
func (a *slowAPI) Patch(ctx context.Context, kind kinds.Kind, key workload.Key, patch kinds.Patch) (runtime.Object, error) {
	a.take(a.patched)
	return a.stage.Patch(ctx, kind, key, patch)
}

func TestManyWorkloadsAreInOneMessageAndNoneAfterStop(t *testing.T) {
	const workloads = 2*notifyWorkers + 1
	for about, tc := range map[string]struct {
		// What has ended the process, and cut off what was on its way.
		before, listing, patching func(stop, cut func())

		asked, sent, noted int
		took               time.Duration
	}{
		"nobody ends it": {asked: workloads, sent: workloads, noted: workloads, took: 6 * time.Second},
		"it had ended":   {before: func(stop, _ func()) { stop() }},
		"it ends while is decided what to tell": {
			listing: func(stop, _ func()) { stop() }, asked: notifyWorkers, took: time.Second,
		},
		"it ends when all is told": {
			patching: func(stop, _ func()) { stop() }, asked: workloads, sent: workloads, noted: workloads, took: 6 * time.Second,
		},
		"it ends when all is told, and noting takes too long": {
			patching: func(_, cut func()) { cut() }, asked: workloads, sent: workloads, noted: notifyWorkers, took: 4 * time.Second,
		},
	} {
		t.Run(about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, l := newToldStage(t)
				s.oldPods = true
				for i := range workloads {
					s.add(fmt.Sprintf("web-%d", i), true, "")
				}
				s.play(time.Minute)
				s.server.Advance(time.Minute)
				for i := range workloads {
					s.changeUnseen(fmt.Sprintf("web-%d", i))
				}
				s.play(time.Minute)
				keys := s.messages().Due(maxNotifications)
				if len(keys) != workloads {
					t.Fatalf("%d wait to be told", len(keys))
				}

				stop := make(chan struct{})
				sending, cut := context.WithCancel(t.Context())
				defer cut()
				ends := func(how func(stop, cut func())) func() {
					return sync.OnceFunc(func() {
						if how != nil {
							how(func() { close(stop) }, cut)
						}
					})
				}
				api := &slowAPI{stage: s, listed: ends(tc.listing), patched: ends(tc.patching)}
				s.sends(api)
				ends(tc.before)()
				asked, patched, began := s.asked, s.patched, time.Now()
				s.controller.sendMessages(t.Context(), sending, stop, keys)
				if took := time.Since(began); took != tc.took {
					t.Errorf("it took %s, want %s", took, tc.took)
				}
				asked, patched = s.asked-asked, s.patched-patched
				if asked != tc.asked || len(l.taken) != tc.sent || patched != tc.noted {
					t.Errorf("%d were asked for pods, %d sent, %d noted; want %d, %d, %d", asked, len(l.taken), patched, tc.asked, tc.sent, tc.noted)
				}
				if api.most > notifyWorkers {
					t.Errorf("%d requests were on their way at the same time", api.most)
				}
			})
		})
	}
}

// changeUnseen gives a source another content of which nobody has seen when it came.
func (s *stage) changeUnseen(name string) {
	s.Helper()
	changed, err := s.server.Edit("configmaps", inShop(name), "kubectl", func(obj simapi.Object) {
		obj.(*corev1.ConfigMap).Data = map[string]string{"v": "unseen"}
	})
	if err != nil {
		s.Fatal(err)
	}
	s.configMaps().isListed(changed)
}
