package inspect

import (
	"context"
	"time"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Refresh computes the answers again that may have changed.
func (v *View) Refresh(ctx context.Context) {
	v.refreshing.Lock()
	defer v.refreshing.Unlock()
	v.mu.Lock()
	from := v.from
	v.mu.Unlock()
	if from == nil || from.complete != nil && !from.complete() {
		return
	}
	now := v.clock.Now()
	due := v.due(from)
	changed := map[workload.Key]*Summary{}
	v.compute(from, due, now, changed)
	// A workload whose answer depends on Pods is computed again with them.
	if from.pods != nil && from.cluster != nil && from.pods.fetch(ctx, from.cluster, now) {
		v.compute(from, due, now, changed)
	}
	if from.pods == nil && from.cluster != nil {
		v.compute(from, v.proofs.fetch(ctx, v, from, now), now, changed)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(changed) == 0 && v.board.Ready {
		return
	}
	next := v.board.with(changed)
	next.Ready = true
	v.announce(next)
}

// compute computes the answers about some workloads, and adds those that differ.
func (v *View) compute(from *origin, due []workload.Key, now time.Time, changed map[workload.Key]*Summary) {
	if from.settings != nil {
		from.locked.Lock()
		from.settings(from.objects.settings)
		from.locked.Unlock()
	}
	from.locked.RLock()
	defer from.locked.RUnlock()
	e := from.objects.Evaluate(from.summaryPods(), now)
	for _, key := range due {
		before := v.summaries[key]
		podless := from.pods == nil && from.given == nil
		after := e.summarize(key, podless)
		if podless && after != nil {
			after = v.proofs.prove(from, after, now)
		}
		if after != nil {
			after.dated(before, now)
		}
		switch {
		case after == nil && before == nil:
		case after == nil:
			delete(v.summaries, key)
			delete(v.proofs.of, key)
			changed[key] = nil
		case before == nil || !before.equal(after):
			v.summaries[key] = after
			changed[key] = after
		}
	}
}

// summarize returns the summary of a workload, or nil if the answer about another one covers it.
func (e *Evaluation) summarize(key workload.Key, podless bool) *Summary {
	w, ok := e.state.Workload(key)
	if !ok {
		if user, is := e.objects.workload(key); is {
			if a, alone := e.orphan(user); alone {
				return a.summary()
			}
		}
		return nil
	}
	if _, owned := e.objects.parentOf(key); owned || w.Deleting && !w.Policy.OptedIn(e.objects.settings.Rules.AutoReloadAll) {
		return nil
	}
	a := e.Of(key)
	if podless && a.Decision.Action == reload.ListPods && a.State == Unknown {
		a.State, a.Detail = Waiting, awaitsPods
	}
	return a.summary()
}

// summaryPods returns the Pods that summaries are made with.
func (from *origin) summaryPods() Pods {
	switch {
	case from.given != nil:
		return func(string) ([]Pod, error) { return from.given, nil }
	case from.pods == nil:
		return func(string) ([]Pod, error) { return nil, errPodsOnPage }
	default:
		return from.pods.get
	}
}

// errPodsOnPage means that no Pods are listed for a summary: the controller lists them itself if a
// decision needs that.
const errPodsOnPage = unusable("the page of the workload lists its Pods")
