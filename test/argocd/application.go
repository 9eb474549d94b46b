package argocd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
)

// user is the field manager of what is done here: what people do goes through Argo CD's server.
const user = "argocd-server"

// Application is one that was made.
type Application struct {
	Name string

	resource dynamic.ResourceInterface
}

// Create makes an Application of a manifest.
func Create(ctx context.Context, config *rest.Config, manifest *unstructured.Unstructured) (*Application, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	kind := schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}
	a := &Application{Name: manifest.GetName(), resource: client.Resource(kind).Namespace(cluster.ArgoCDNamespace)}
	if _, err := a.resource.Create(ctx, manifest, metav1.CreateOptions{FieldManager: user}); err != nil {
		return nil, fmt.Errorf("create Application %s: %w", a.Name, err)
	}
	return a, nil
}

// Get reads it.
func (a *Application) Get(ctx context.Context) (*State, error) {
	obj, err := a.resource.Get(ctx, a.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return readState(obj)
}

// Patch changes it by a merge patch.
func (a *Application) Patch(ctx context.Context, change map[string]any) error {
	body, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = a.resource.Patch(ctx, a.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: user})
	return err
}

// SetAutomated is spec.syncPolicy.automated from now on; nil turns it off.
func (a *Application) SetAutomated(ctx context.Context, automated map[string]any) error {
	var to any
	if automated != nil {
		to = automated
	}
	return a.Patch(ctx, map[string]any{"spec": map[string]any{"syncPolicy": map[string]any{"automated": to}}})
}

// Refresh returns when Argo CD has rendered and compared everything anew.
func (a *Application) Refresh(ctx context.Context) (*State, error) {
	// It takes the annotation away with the outcome.
	const annotation = "argocd.argoproj.io/refresh"
	if err := a.Patch(ctx, map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotation: "hard"}}}); err != nil {
		return nil, err
	}
	return a.Await(ctx, "compared anew", func(s *State) error {
		if _, asked := s.Metadata.Annotations[annotation]; asked {
			return errors.New("it has not been yet")
		}
		return nil
	})
}

// Await returns when it is as wanted.
func (a *Application) Await(ctx context.Context, wanted string, is func(*State) error) (*State, error) {
	var seen *State
	err := harness.Await(ctx, fmt.Sprintf("Application %s to be %s", a.Name, wanted), func(ctx context.Context) error {
		var err error
		if seen, err = a.Get(ctx); err != nil {
			return err
		}
		return is(seen)
	})
	return seen, err
}

// AwaitSynced returns when a revision was synced and is what is compared with, and all is the same
// as in Git.
func (a *Application) AwaitSynced(ctx context.Context, revision string) error {
	_, err := a.Await(ctx, "synced to "+revision, func(s *State) error { return s.synced(revision) })
	return err
}

// AwaitHealthy is AwaitSynced, and what was synced is healthy.
func (a *Application) AwaitHealthy(ctx context.Context, revision string) error {
	_, err := a.Await(ctx, "synced to "+revision+" and healthy", func(s *State) error {
		if s.Status.Health.Status != "Healthy" {
			return fmt.Errorf("it is %s: %+v", s.Is(), s.Status)
		}
		return s.synced(revision)
	})
	return err
}

// Sync does what its button does, pruning included, and returns when that is done.
func (a *Application) Sync(ctx context.Context, revision string, options ...any) error {
	if _, err := a.Refresh(ctx); err != nil {
		return err
	}
	sync := map[string]any{"revision": revision, "prune": true}
	if len(options) > 0 {
		sync["syncOptions"] = options
	}
	return a.operate(ctx, revision, sync)
}

// Rollback does what argocd app rollback does with the last deployment of a revision, which has to
// differ from the present one, and returns when that is done.
func (a *Application) Rollback(ctx context.Context, revision string) error {
	now, err := a.Get(ctx)
	if err != nil {
		return err
	}
	for _, past := range now.Status.History {
		if past.Revision == revision {
			return a.operate(ctx, revision, map[string]any{
				"revision": revision, "source": past.Source, "syncStrategy": map[string]any{"apply": map[string]any{}},
			})
		}
	}
	return fmt.Errorf("the history of %s has no %s: %+v", a.Name, revision, now.Status.History)
}

func (a *Application) operate(ctx context.Context, revision string, sync map[string]any) error {
	before, err := a.Get(ctx)
	if err != nil {
		return err
	}
	if err := a.Patch(ctx, map[string]any{"operation": map[string]any{
		"initiatedBy": map[string]any{"username": "user"}, "sync": sync,
		// A replace fails when somebody has written the status at the same time.
		"retry": map[string]any{"limit": 10, "backoff": map[string]any{"duration": "1s", "factor": 1}},
	}}); err != nil {
		return err
	}
	_, err = a.Await(ctx, "synced by hand", func(s *State) error {
		if s.Metadata.ResourceVersion == before.Metadata.ResourceVersion {
			return errors.New("nothing has begun")
		}
		return s.has(revision)
	})
	return err
}

// Delete deletes it and returns when it is gone, with all that its finalizer takes along.
func (a *Application) Delete(ctx context.Context) error {
	if err := a.resource.Delete(ctx, a.Name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return harness.Await(ctx, "the end of Application "+a.Name, func(ctx context.Context) error {
		switch _, err := a.resource.Get(ctx, a.Name, metav1.GetOptions{}); {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return errors.New("it is still there")
	})
}
