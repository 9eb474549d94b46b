package inspect

import (
	"context"
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

const (
	// awaitsPods is the detail of a workload whose answer depends on the age of its Pods.
	awaitsPods = "for the controller to compare the age of its Pods"
	// proofsStay is how long listed Pods count while their workload does not change.
	proofsStay = time.Minute
	// mostProofs is how many workloads have their Pods listed at a time.
	mostProofs = 5
)

// proofs are the Pods of workloads whose answers depend on the age of their Pods. The controller
// keeps no Pods. It lists them itself when it decides, and what it then waits for, such as an
// approval, is recorded nowhere.
type proofs struct {
	of map[workload.Key]proof
	// due are the workloads whose Pods have to be listed.
	due []workload.Key
}

type proof struct {
	pods []Pod
	// err is why they could not be listed.
	err error
	// version is that of the workload before its Pods were listed.
	version string
	at      time.Time
}

// prove returns the summary of a workload with its Pods, if they are known.
func (p *proofs) prove(from *origin, podless *Summary, now time.Time) *Summary {
	key := podless.Key
	if podless.Detail != awaitsPods {
		delete(p.of, key)
		return podless
	}
	known, listed := p.of[key]
	w, there := from.objects.workload(key)
	if !listed || !there || known.version != w.ResourceVersion {
		p.due = append(p.due, key)
		return podless
	}
	if now.Sub(known.at) >= proofsStay {
		p.due = append(p.due, key)
	}
	if known.err != nil {
		return podless
	}
	proven := from.objects.Evaluate(func(string) ([]Pod, error) { return known.pods, nil }, now).summarize(key, false)
	if proven == nil {
		return podless
	}
	return proven
}

// fetch lists the Pods of some workloads that are due, and returns those workloads.
func (p *proofs) fetch(ctx context.Context, v *View, from *origin, now time.Time) (listed []workload.Key) {
	due := p.due[:min(len(p.due), mostProofs)]
	p.due = nil
	for _, key := range due {
		from.locked.RLock()
		w, there := from.objects.workload(key)
		from.locked.RUnlock()
		pods, err := v.podsOf(ctx, key)
		if there {
			p.of[key] = proof{pods, err, w.ResourceVersion, now}
			listed = append(listed, key)
		}
	}
	return listed
}
