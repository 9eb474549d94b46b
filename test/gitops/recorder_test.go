package gitops

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
)

// recorder keeps every state that an Application was in.
type recorder struct {
	app *application

	mu    sync.Mutex
	seen  []*seenApplication
	blind error
}

// record watches an Application until the test ends.
func (a *application) record() *recorder {
	a.Helper()
	now, err := a.get(a.ctx)
	a.must(err)
	watching, err := a.applications().Watch(a.ctx, metav1.ListOptions{
		FieldSelector: "metadata.name=" + a.name, ResourceVersion: now.Metadata.ResourceVersion,
	})
	a.must(err)
	a.Cleanup(watching.Stop)
	r := &recorder{app: a}
	go r.follow(watching)
	return r
}

func (r *recorder) follow(watching watch.Interface) {
	for event := range watching.ResultChan() {
		obj, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			r.keep(nil, fmt.Errorf("the watch of %s brought %v", r.app.name, event.Object))
			continue
		}
		r.keep(readApplication(obj))
	}
	r.keep(nil, fmt.Errorf("the watch of %s has ended", r.app.name))
}

func (r *recorder) keep(seen *seenApplication, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, seen)
	r.blind = errors.Join(r.blind, err)
}

// upTo returns all states up to one that was read.
func (r *recorder) upTo(last *seenApplication) ([]*seenApplication, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	is := func(s *seenApplication) bool {
		return s != nil && s.Metadata.ResourceVersion == last.Metadata.ResourceVersion
	}
	i := slices.IndexFunc(r.seen, is)
	if i < 0 {
		return nil, errors.Join(errors.New("it is not recorded yet"), r.blind)
	}
	return r.seen[:i+1], nil
}

// drift is an object that Argo CD found to differ from Git when it should not.
type drift struct {
	object, why string
}

// drifts judges what was seen since a commit: an object differs from Git only if the commit changed it, and only until it is
// first seen to be the same.
func drifts(seen []*seenApplication, revision string, changed ...string) []drift {
	var found []drift
	note := func(d drift) {
		if !slices.Contains(found, d) {
			found = append(found, d)
		}
	}
	synced := map[string]bool{}
	for _, s := range seen {
		since := s.Status.Sync.Revision == revision
		for _, r := range s.Status.Resources {
			object := strings.ToLower(r.Kind) + "/" + r.Name
			differs := r.Status == "OutOfSync"
			switch {
			case differs && !since:
				note(drift{object, "before Argo CD had seen the commit"})
			case differs && !slices.Contains(changed, object):
				note(drift{object, "and the commit did not change it"})
			case differs && synced[object]:
				note(drift{object, "after it had been synced"})
			case since && r.Status == "Synced":
				synced[object] = true
			}
		}
	}
	return found
}

// syncs are the operations that were begun since a state, as Argo CD tells of each.
func syncs(seen []*seenApplication, before *seenApplication) []string {
	var found []string
	last := before.Status.OperationState.StartedAt
	for _, s := range seen {
		state := s.Status.OperationState
		if state.StartedAt == "" || state.StartedAt == last { // there is none while one is asked for
			continue
		}
		last = state.StartedAt
		found = append(found, fmt.Sprintf("%s of %s, %s: %s", state.StartedAt, state.SyncResult.Revision, state.Phase, state.Message))
	}
	return found
}
