package inspect

import (
	"context"
	"sync"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// podsStay is how long listed Pods are used for summaries.
const podsStay = 10 * time.Second

// keptPods are the Pods of the namespaces in which summaries needed them. They are listed between
// two computations, so that nobody waits for the API server.
type keptPods struct {
	names annotations.Names

	mu     sync.Mutex
	of     map[string]podList
	wanted map[string]struct{}
}

type podList struct {
	pods []Pod
	err  error
	at   time.Time
}

func newKeptPods(names annotations.Names) *keptPods {
	return &keptPods{names: names, of: map[string]podList{}, wanted: map[string]struct{}{}}
}

// errPodsPending means that the Pods are listed next.
const errPodsPending = unusable("the Pods are being listed")

// get returns the Pods of a namespace, and remembers that they are needed.
func (k *keptPods) get(ns string) ([]Pod, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wanted[ns] = struct{}{}
	list, ok := k.of[ns]
	if !ok {
		return nil, errPodsPending
	}
	return list.pods, list.err
}

// fetch lists the Pods that were needed and are not known or not current, and reports whether there
// were any.
func (k *keptPods) fetch(ctx context.Context, c *Cluster, now time.Time) bool {
	k.mu.Lock()
	var due []string
	for ns := range k.wanted {
		if list, ok := k.of[ns]; !ok || now.Sub(list.at) >= podsStay {
			due = append(due, ns)
		}
	}
	for ns := range k.of {
		if _, still := k.wanted[ns]; !still {
			delete(k.of, ns)
		}
	}
	k.wanted = map[string]struct{}{}
	k.mu.Unlock()
	for _, ns := range due {
		pods, err := c.pods(ctx, k.names, ns)
		k.mu.Lock()
		k.of[ns] = podList{pods, err, now}
		k.mu.Unlock()
	}
	return len(due) > 0
}
