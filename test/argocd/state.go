package argocd

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// State is what matters here of an Application.
type State struct {
	Metadata struct {
		ResourceVersion string            `json:"resourceVersion"`
		Annotations     map[string]string `json:"annotations"`
	} `json:"metadata"`
	Operation map[string]any `json:"operation"`
	Status    Status         `json:"status"`
}

// Status is what Argo CD says of it.
type Status struct {
	Sync struct {
		Status   string `json:"status"`
		Revision string `json:"revision"`
	} `json:"sync"`
	Health struct {
		Status string `json:"status"`
	} `json:"health"`
	Resources []struct {
		Kind   string `json:"kind"`
		Name   string `json:"name"`
		Status string `json:"status"`
	} `json:"resources"`
	Conditions []struct {
		Type    string `json:"type"`
		Message string `json:"message"`
	} `json:"conditions"`
	History []struct {
		ID       int64          `json:"id"`
		Revision string         `json:"revision"`
		Source   map[string]any `json:"source"`
	} `json:"history"`
	OperationState struct {
		Phase      string `json:"phase"`
		Message    string `json:"message"`
		StartedAt  string `json:"startedAt"`
		SyncResult struct {
			Revision  string `json:"revision"`
			Resources []struct {
				Kind      string `json:"kind"`
				Name      string `json:"name"`
				HookPhase string `json:"hookPhase"`
				Message   string `json:"message"`
			} `json:"resources"`
		} `json:"syncResult"`
	} `json:"operationState"`
}

func readState(obj *unstructured.Unstructured) (*State, error) {
	seen := &State{}
	return seen, runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, seen)
}

// Is says how it stands: "Synced, Healthy".
func (s *State) Is() string { return s.Status.Sync.Status + ", " + s.Status.Health.Status }

// OutOfSync are the objects that differ from Git, as "deployment/web".
func (s *State) OutOfSync() []string {
	var found []string
	for _, r := range s.Status.Resources {
		if r.Status == "OutOfSync" {
			found = append(found, strings.ToLower(r.Kind)+"/"+r.Name)
		}
	}
	return found
}

// synced reports whether a revision was synced, and nothing differs since.
func (s *State) synced(revision string) error {
	if s.Status.Sync.Status != "Synced" || s.Status.Sync.Revision != revision {
		return fmt.Errorf("it is %s, compared with %q: %+v", s.Is(), s.Status.Sync.Revision, s.Status)
	}
	return s.has(revision)
}

// has reports whether a revision was synced, and nothing is under way.
func (s *State) has(revision string) error {
	state := s.Status.OperationState
	if len(s.Operation) > 0 || state.Phase != "Succeeded" || state.SyncResult.Revision != revision {
		return fmt.Errorf("its last operation, of revision %q, is %s: %s; %+v", state.SyncResult.Revision, state.Phase, state.Message, s.Status.Conditions)
	}
	return nil
}
