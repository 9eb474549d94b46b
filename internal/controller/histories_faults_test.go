package controller

import (
	"bytes"
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// Faults between the controller and the API server.
const (
	refused        = "refused with 500"
	lostAnswer     = "answer lost"
	throttled      = "throttled"
	falseConflict  = "conflict answered"
	timedOut       = "timed out"
	landsLate      = "landed late"
	landsAfterKill = "landed after a kill"
	delayed        = "delayed"
	podsRefused    = "pods refused"
	watchEnded     = "watch ended"
	watchExpired   = "watch expired"
	snapshotCut    = "snapshot cut"
	snapshotOld    = "stale snapshot"
	keyLost        = "digest key lost"
	askedAfter     = "asked after a reload"
	toldRolled     = "told to have rolled"
	heldByLimit    = "held by the limit of reloads"
)

func faultNames() []string {
	return []string{
		refused, lostAnswer, throttled, falseConflict, timedOut, landsLate, landsAfterKill, delayed, podsRefused,
		watchEnded, watchExpired, snapshotCut, snapshotOld, keyLost,
	}
}

// Points at which the controller is killed.
const (
	killedIdle         = "idle"
	killedInSnapshot   = "during a snapshot"
	killedBeforeDecide = "before the decision"
	killedAfterDecide  = "after the decision"
	killedAskingPods   = "after the pods were asked"
	killedSending      = "patch sent"
	killedApplied      = "patch applied"
	killedAnswered     = "patch answered"
	killedResumed      = "resumed"
)

func killNames() []string {
	return []string{
		killedIdle, killedInSnapshot, killedBeforeDecide, killedAfterDecide, killedAskingPods, killedSending,
		killedApplied, killedAnswered, killedResumed,
	}
}

// killed ends a controller in the middle of its work. It is a panic, so that everything stays as it
// is.
type killed struct{}

// proxy is the API server of one controller.
type proxy struct {
	memory
	h *history
}

// Pods implements API.
func (p proxy) Pods(_ context.Context, w *workload.Workload) (reload.Pods, error) {
	h := p.h
	h.delay()
	if h.fault(podsRefused, 8) {
		return reload.Pods{}, apierrors.NewInternalError(errors.New("the proxy refuses it"))
	}
	var pods reload.Pods
	if obj, err := h.server.Get(plural(w.Key.Kind), inShop(w.Key.Name)); err == nil {
		h.look().blind = h.blind == w.Key.Name && mayHaveReplicas(obj)
		for _, pod := range h.pods.Of(obj) {
			if h.blind != w.Key.Name {
				pods.Take(pod, w)
			}
		}
	}
	h.look().asked = true
	h.look().pods = pods
	h.oracle.classesAsked(h.look())
	h.say("pods of %s: %d, oldest %s", w.Key.Name, pods.Count, clockTime(pods.Oldest))
	h.killHere(killedAskingPods, 20)
	h.delay()
	return pods, nil
}

// Running implements API.
func (p proxy) Running(_ context.Context, w *workload.Workload, names annotations.Names) ([]rollout.Pod, error) {
	h := p.h
	h.count(askedAfter)
	h.delay()
	if h.fault(podsRefused, 8) {
		return nil, apierrors.NewInternalError(errors.New("the proxy refuses it"))
	}
	var pods []rollout.Pod
	if obj, err := h.server.Get(plural(w.Key.Kind), inShop(w.Key.Name)); err == nil {
		for _, pod := range h.pods.Of(obj) {
			if lives(pod) && w.MadeBy(pod) && h.blind != w.Key.Name {
				pods = append(pods, rollout.ReadPod(pod, names))
			}
		}
	}
	h.killHere(killedAskingPods, 20)
	return pods, nil
}

// Patch implements API.
func (p proxy) Patch(ctx context.Context, kind kinds.Kind, key workload.Key, patch kinds.Patch) (runtime.Object, error) {
	h := p.h
	resource, name := kind.Resource.Resource, inShop(key.Name)
	h.judgeWindow(key, patch.Body)
	h.judgeFreeze(key, patch.Body)
	h.judgeApproval(key, patch.Body)
	h.judgeAnswer(key, patch.Body)
	h.judgeMode(key, patch.Body)
	return h.send(&write{verb: "patch", resource: resource, name: name, body: patch.Body, do: func() (runtime.Object, error) {
		obj, err := p.memory.Patch(ctx, kind, key, patch)
		if err == nil {
			h.noteKeysRecorded(key.Name, obj.(simapi.Object))
		}
		return obj, err
	}})
}

// send applies the faults of a request.
func (h *history) send(w *write) (runtime.Object, error) {
	w.look = h.look()
	h.killHere(killedAfterDecide, 40)
	h.delay()
	switch {
	case h.fault(refused, 15):
		return nil, apierrors.NewInternalError(errors.New("the proxy refuses it"))
	case h.fault(throttled, 15):
		return nil, apierrors.NewTooManyRequests("the proxy wants a pause", 1)
	case h.fault(falseConflict, 25):
		return nil, apierrors.NewConflict(schema.GroupResource{Resource: w.resource}, w.name.Name, errors.New("the proxy says so"))
	case h.fault(timedOut, 20):
		return nil, apierrors.NewTimeoutError("the proxy drops it", 1)
	case h.fault(landsLate, 15):
		h.late = append(h.late, w)
		h.killHere(killedSending, 2)
		return nil, context.DeadlineExceeded
	}
	obj, err := h.land(w)
	h.killHere(killedApplied, 40)
	h.delay()
	if h.fault(lostAnswer, 15) {
		return nil, errors.New("the connection was closed")
	}
	return obj, err
}

// write is a request that was sent and has not arrived.
type write struct {
	look     *look
	verb     string
	resource string
	name     types.NamespacedName
	body     []byte
	do       func() (runtime.Object, error)
}

// land lets a request take effect.
func (h *history) land(w *write) (runtime.Object, error) {
	h.landing = w
	obj, err := w.do()
	h.landing = nil
	if err != nil {
		h.say("%s of %s refused: %v", w.verb, w.name.Name, err)
		return nil, err
	}
	if bytes.Contains(w.body, []byte(`"template"`)) {
		h.reloaded[obj.(simapi.Object).GetAnnotations()[annotations.Ledger]] = versionOf(obj.(simapi.Object))
	}
	return obj, nil
}

// landLate lets the oldest request take effect whose sender has given up.
func (h *history) landLate() {
	if len(h.late) == 0 {
		return
	}
	w := h.late[0]
	h.late = h.late[1:]
	if w.look.life != h.life {
		h.count(landsAfterKill)
	}
	h.say("late %s of %s lands", w.verb, w.name.Name)
	_, _ = h.land(w)
}

// fault draws whether a fault happens now, once in a number of times.
func (h *history) fault(name string, oneIn int) bool {
	if h.calm || h.rand.IntN(oneIn) != 0 {
		return false
	}
	h.count(name)
	h.say("fault: %s", name)
	return true
}

// killHere draws whether the controller is killed now.
func (h *history) killHere(point string, oneIn int) { h.killOften(point, 1, oneIn) }

// killOften is killHere with the given number of kills in as many draws.
func (h *history) killOften(point string, kills, draws int) {
	if h.calm || h.rand.IntN(draws) >= kills {
		return
	}
	h.count(point)
	h.say("kill: %s", point)
	panic(killed{})
}

// delay lets other events happen while a request is on its way: deliveries, other writes, passing
// time.
func (h *history) delay() {
	if h.calm || h.rand.IntN(4) != 0 || len(h.looks) > 2 {
		return
	}
	h.count(delayed)
	h.elapse(time.Duration(h.rand.IntN(1500)) * time.Millisecond)
	if h.rand.IntN(3) == 0 {
		h.userStep()
	}
	for range h.rand.IntN(6) {
		h.something()
	}
}
