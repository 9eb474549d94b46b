package controller

import (
	"context"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
	"github.com/reroll-dev/reroll/test/simapi"
)

// look is one reconciliation of a workload: the knowledge of the controller when it began.
type look struct {
	life int
	// keys counts the digest keys so far. The last one is that of the ledger that it writes. The one before
	// was lost at keyLostAt.
	keys      int
	keyLostAt uint64
	key       workload.Key
	// at is the version of the server when it began.
	at uint64
	// known has, by source, the version of the object that was delivered.
	known map[simapi.Source]uint64
	// shownDates has, by source, the newest time of data that was delivered.
	shownDates map[simapi.Source]time.Time
	// live has, by resource, the version since which no event was missed.
	live map[string]uint64
	// gone has, by source, the version up to which it is known not to exist.
	gone map[simapi.Source]uint64
	// departed has, by source, the version in which its deletion was seen, and departedAt the time.
	departed   map[simapi.Source]uint64
	departedAt map[simapi.Source]time.Time
	onDelete   bool

	asked bool
	pods  reload.Pods
	classLook
	// blind reports whether no Pods were found although the status counts some.
	blind bool
	wrote bool
}

// older reports whether the controller was shown a Pod that may have started before the data was
// written, or could not be shown any of the Pods.
func (l *look) older(date time.Time) bool {
	return l.blind || l.asked && l.pods.Count > 0 && !l.pods.Oldest.After(date.Add(startLag))
}

// lookAtAll reconciles the workloads that are due, like many workers at once.
func (h *history) lookAtAll() bool {
	if !h.synced() {
		return false
	}
	c := h.c
	due := due(c.queue)
	h.rand.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
	for _, key := range due {
		r := h.lookAt(key)
		c.queue.Finish(key, r)
	}
	after, resumed := h.lookAfterAll(), h.resumeAll()
	return h.askAll() || after || resumed || len(due) > 0
}

// resumeAll resumes paused workloads that are due.
func (h *history) resumeAll() bool {
	c := h.c
	return duty{queue: c.pauses, do: func(ctx context.Context, key workload.Key) workqueue.Result {
		h.looks = append(h.looks, h.oracle.look(key))
		r := c.endPause(ctx, key)
		h.killOften(killedResumed, 3, 4) // few histories get here
		h.looks = h.looks[:len(h.looks)-1]
		return r
	}}.all(context.Background())
}

// lookAfterAll checks and reports tracked reloads that are due.
func (h *history) lookAfterAll() bool {
	return duty{queue: h.c.rollouts, do: h.c.trackRollout}.all(context.Background())
}

func (h *history) lookAt(key workload.Key) workqueue.Result {
	l := h.oracle.look(key)
	l.classLook = h.oracle.classesLook()
	h.looks = append(h.looks, l)
	h.say("look at %s", key)
	h.killHere(killedBeforeDecide, 120)
	r := h.c.reconcileKey(context.Background(), key)
	if l.wrote {
		h.killHere(killedAnswered, 25)
	}
	h.looks = h.looks[:len(h.looks)-1]
	return r
}

// look returns the reconciliation that makes the current request.
func (h *history) look() *look { return h.looks[len(h.looks)-1] }

// rest lets all rollouts complete without further faults, and then asks the oracle.
func (h *history) rest() {
	h.say("— coming to rest")
	h.calm = true
	h.endNotifyOnly()
	for range 20_000 {
		if !h.restless() {
			h.calm = false
			h.count("rests")
			h.nothingFollowedInVain()
			h.oracle.atRest()
			return
		}
	}
	h.oracle.fail("it never comes to rest")
}

// nothingFollowedInVain checks that no completed rollout counts as in progress. A rollout that
// waits for a source is not complete.
func (h *history) nothingFollowedInVain() {
	for key, f := range h.c.underWay() {
		if now, ok := h.c.state.Workload(key); !ok || now.RolledOut && !h.hides(&now) || !f.MarksInPlace(&now) {
			h.oracle.fail("the rollout of %s is followed, and it has ended", key)
		}
	}
}

// restless does one thing, and returns false if nothing is left to do.
func (h *history) restless() bool {
	if h.c == nil {
		h.start()
		return true
	}
	if len(h.late) > 0 {
		h.landLate()
		return true
	}
	if slices.ContainsFunc(h.feeds, h.deliver) {
		return true
	}
	if h.lookAtAll() || h.pods.Clean() || h.users.cleanUp() {
		return true
	}
	if slices.ContainsFunc(h.workloads(), h.pods.Step) || h.driver != nil && h.stepAllDriver() || slices.ContainsFunc(h.jobs(), h.pods.StepJob) || h.stepCronJobs() {
		h.elapse(100 * time.Millisecond)
		return true
	}
	if h.approvePending() {
		return true
	}
	key, wait, ok := h.c.queue.Pop()
	if ok {
		h.oracle.fail("%s is due, and was not looked at", key)
		return false
	}
	if _, later, _ := h.c.pauses.Pop(); wait == 0 || later > 0 && later < wait {
		wait = later
	}
	if _, later, _ := h.c.questions.Pop(); wait == 0 || later > 0 && later < wait {
		wait = later
	}
	if wait == 0 && (h.followsWhatRests() || h.c.HeldBy(gate.Waves) > 0) {
		// Its list of Pods was rejected, and it tries again, or others wait until its deadline.
		_, wait, _ = h.c.rollouts.Pop()
	}
	h.elapse(wait)
	return wait > 0
}

// followsWhatRests reports whether the controller still tracks a rollout that is complete by its
// status.
func (h *history) followsWhatRests() bool {
	for key := range h.c.underWay() {
		if now, ok := h.c.state.Workload(key); ok && now.RolledOut && !h.hides(&now) {
			return true
		}
	}
	return false
}

// hides reports whether the status of a workload counts Pods that no list returns. Then nothing in
// the API shows whether an older Pod is left, so the controller tracks the reload until the Pods
// are found.
func (h *history) hides(w *workload.Workload) bool {
	return h.blind == w.Key.Name && w.Progress.Total > 0
}

// tellsRest reads a status as the documentation of its kind says.
func tellsRest(obj simapi.Object) bool {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return o.Status.ObservedGeneration == o.Generation && o.Status.UpdatedReplicas == o.Status.Replicas
	case *appsv1.StatefulSet:
		return o.Status.ObservedGeneration == o.Generation && o.Status.UpdatedReplicas == o.Status.Replicas
	case *appsv1.DaemonSet:
		return o.Status.ObservedGeneration == o.Generation && o.Status.UpdatedNumberScheduled == o.Status.CurrentNumberScheduled
	default:
		return false
	}
}

// mayHaveReplicas reports whether the status of a workload counts Pods, or some are wanted, which the
// status may not count yet.
func mayHaveReplicas(obj simapi.Object) bool {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return o.Status.Replicas > 0 || *o.Spec.Replicas > 0
	case *appsv1.StatefulSet:
		return o.Status.Replicas > 0 || *o.Spec.Replicas > 0
	case *appsv1.DaemonSet:
		return o.Status.CurrentNumberScheduled > 0 || o.Status.DesiredNumberScheduled > 0
	default:
		return false
	}
}

// countsReady reports whether the current status of a workload counts Pods that are Ready.
func countsReady(obj simapi.Object) bool {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return o.Status.ObservedGeneration == o.Generation && o.Status.ReadyReplicas > 0
	case *appsv1.StatefulSet:
		return o.Status.ObservedGeneration == o.Generation && o.Status.ReadyReplicas > 0
	case *appsv1.DaemonSet:
		return o.Status.ObservedGeneration == o.Generation && o.Status.NumberReady > 0
	default:
		return false
	}
}

// startLag is the minimum age difference between data and a Pod that certainly has it.
const startLag = 5 * time.Second
