package argocd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/reroll-dev/reroll/test/harness"
)

// Record keeps every state that an Application was in.
type Record struct {
	of *Application

	mu    sync.Mutex
	seen  []*State
	blind error
}

// Record watches until the context ends, from now on.
func (a *Application) Record(ctx context.Context) (*Record, error) {
	now, err := a.Get(ctx)
	if err != nil {
		return nil, err
	}
	watching, err := a.resource.Watch(ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=" + a.Name, ResourceVersion: now.Metadata.ResourceVersion,
	})
	if err != nil {
		return nil, err
	}
	r := &Record{of: a, seen: []*State{now}}
	go r.follow(watching)
	return r, nil
}

func (r *Record) follow(watching watch.Interface) {
	defer watching.Stop()
	for event := range watching.ResultChan() {
		obj, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			r.keep(nil, fmt.Errorf("the watch of %s brought %v", r.of.Name, event.Object))
			continue
		}
		r.keep(readState(obj))
	}
	r.keep(nil, fmt.Errorf("the watch of %s has ended", r.of.Name))
}

func (r *Record) keep(seen *State, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.blind = errors.Join(r.blind, err)
		return
	}
	r.seen = append(r.seen, seen)
}

// UpTo returns all states up to one that was read.
func (r *Record) UpTo(ctx context.Context, last *State) ([]*State, error) {
	var states []*State
	err := harness.Await(ctx, "the record of "+r.of.Name, func(context.Context) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		i := slices.IndexFunc(r.seen, func(s *State) bool { return s.Metadata.ResourceVersion == last.Metadata.ResourceVersion })
		if i < 0 {
			return errors.Join(errors.New("it has not come so far"), r.blind)
		}
		states = r.seen[:i+1]
		return nil
	})
	return states, err
}
