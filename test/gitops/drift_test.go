package gitops

import (
	"fmt"
	"slices"
	"strings"

	"github.com/reroll-dev/reroll/test/argocd"
)

// drift is an object that Argo CD found to differ from Git when it should not.
type drift struct {
	object, why string
}

// drifts judges what was seen since a commit: an object differs from Git only if the commit changed
// it, and only until it is first seen to be the same.
func drifts(seen []*argocd.State, revision string, changed ...string) []drift {
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
func syncs(seen []*argocd.State, before *argocd.State) []string {
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
