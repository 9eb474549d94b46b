package gitops

import (
	"slices"
	"testing"

	"github.com/reroll-dev/reroll/test/argocd"
)

// The judge of what Argo CD has said must be able to find fault.
func TestWhatCountsAsADrift(t *testing.T) {
	const commit = "abc"
	seen := func(revision string, workload, source string) *argocd.State {
		s := &argocd.State{}
		s.Status.Sync.Revision = revision
		for _, r := range []struct{ kind, name, status string }{{"Rollout", "web", workload}, {"ConfigMap", "settings", source}} {
			s.Status.Resources = append(s.Status.Resources, struct {
				Kind   string `json:"kind"`
				Name   string `json:"name"`
				Status string `json:"status"`
			}{r.kind, r.name, r.status})
		}
		return s
	}
	for about, tc := range map[string]struct {
		states []*argocd.State
		want   []drift
	}{
		"nothing differs":                       {[]*argocd.State{seen("old", "Synced", "Synced"), seen(commit, "Synced", "Synced")}, nil},
		"what was changed, until it is synced":  {[]*argocd.State{seen(commit, "Synced", "OutOfSync"), seen(commit, "Synced", "Synced")}, nil},
		"what was changed, after it was synced": {[]*argocd.State{seen(commit, "Synced", "Synced"), seen(commit, "Synced", "OutOfSync")}, []drift{{"configmap/settings", "after it had been synced"}}},
		"what was not changed":                  {[]*argocd.State{seen(commit, "OutOfSync", "Synced")}, []drift{{"rollout/web", "and the commit did not change it"}}},
		"before the commit":                     {[]*argocd.State{seen("old", "OutOfSync", "Synced")}, []drift{{"rollout/web", "before Argo CD had seen the commit"}}},
		"many times":                            {[]*argocd.State{seen(commit, "OutOfSync", "Synced"), seen(commit, "OutOfSync", "Synced")}, []drift{{"rollout/web", "and the commit did not change it"}}},
	} {
		t.Run(about, func(t *testing.T) {
			if got := drifts(tc.states, commit, "configmap/settings"); !slices.Equal(got, tc.want) {
				t.Errorf("found %v, want %v", got, tc.want)
			}
		})
	}
}

func TestWhichSyncsHaveBegun(t *testing.T) {
	at := func(started string) *argocd.State {
		s := &argocd.State{}
		s.Status.OperationState.StartedAt = started
		return s
	}
	if got := syncs([]*argocd.State{at("1"), at(""), at("2"), at("2"), at("3")}, at("1")); len(got) != 2 {
		t.Errorf("found %q, want two", got)
	}
}
