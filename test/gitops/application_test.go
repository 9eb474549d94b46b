package gitops

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
)

// application is one of Argo CD, which brings a repository into the namespace of the test.
type application struct {
	*place
	name string
}

// seenApplication is what matters here of its status.
type seenApplication struct {
	Metadata struct {
		ResourceVersion string            `json:"resourceVersion"`
		Annotations     map[string]string `json:"annotations"`
	} `json:"metadata"`
	Operation map[string]any `json:"operation"`
	Status    struct {
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
		OperationState struct {
			Phase      string `json:"phase"`
			Message    string `json:"message"`
			StartedAt  string `json:"startedAt"`
			SyncResult struct {
				Revision string `json:"revision"`
			} `json:"syncResult"`
		} `json:"operationState"`
	} `json:"status"`
}

func (s *site) applications() dynamic.ResourceInterface {
	kind := schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "applications"}
	return s.objects.Resource(kind).Namespace(cluster.ArgoCDNamespace)
}

// policy is spec.syncPolicy of an Application.
type policy map[string]any

func automated(selfHeal bool) policy {
	return policy{"automated": map[string]any{"prune": true, "selfHeal": selfHeal}}
}

func byHand(options ...any) policy { return policy{"syncOptions": options} }

// deploy makes an Application of a repository.
func (p *place) deploy(r *repository, how policy) *application {
	p.Helper()
	app := &application{place: p, name: p.ns.Name}
	_, err := p.applications().Create(p.ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": map[string]any{"name": app.name},
		"spec": map[string]any{
			"project":     "default",
			"source":      map[string]any{"repoURL": r.url(), "path": ".", "targetRevision": "main"},
			"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": p.ns.Name},
			"syncPolicy":  map[string]any(how),
		},
	}}, metav1.CreateOptions{})
	p.must(err)
	p.Cleanup(func() {
		// Its objects stay: it has no finalizer. Argo CD has one less to look after.
		if err := p.applications().Delete(context.WithoutCancel(p.ctx), app.name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			p.Error(err)
		}
	})
	return app
}

func (a *application) get(ctx context.Context) (*seenApplication, error) {
	obj, err := a.applications().Get(ctx, a.name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return readApplication(obj)
}

func readApplication(obj *unstructured.Unstructured) (*seenApplication, error) {
	seen := &seenApplication{}
	return seen, runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, seen)
}

func (a *application) patch(change map[string]any) {
	a.Helper()
	body, err := json.Marshal(change)
	a.must(err)
	_, err = a.applications().Patch(a.ctx, a.name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: "argocd-server"})
	a.must(err)
}

// ignore makes it leave alone the annotations of the controller on objects of these groups and kinds.
func (a *application) ignore(kinds ...string) {
	a.Helper()
	var rules []any
	for _, k := range kinds {
		group, kind, _ := strings.Cut(k, "/")
		rules = append(rules, map[string]any{"group": group, "kind": kind, "jsonPointers": []any{
			"/spec/template/metadata/annotations/reloader.stakater.com~1last-reloaded-from",
			"/spec/template/metadata/annotations/reroll.dev~1rolled",
			"/metadata/annotations/reroll.dev~1ledger",
		}})
	}
	a.patch(map[string]any{"spec": map[string]any{"ignoreDifferences": rules}})
}

// refresh returns when Argo CD has compared everything anew. It takes the annotation away with the outcome.
func (a *application) refresh() *seenApplication {
	a.Helper()
	const annotation = "argocd.argoproj.io/refresh"
	a.patch(map[string]any{"metadata": map[string]any{"annotations": map[string]any{annotation: "hard"}}})
	var seen *seenApplication
	a.must(harness.Await(a.ctx, "Argo CD to compare "+a.name, func(ctx context.Context) error {
		var err error
		if seen, err = a.get(ctx); err != nil {
			return err
		}
		if _, asked := seen.Metadata.Annotations[annotation]; asked {
			return errors.New("it has not done that yet")
		}
		return nil
	}))
	return seen
}

// sync does what the button does, and returns when that is done.
func (a *application) sync(revision string, options ...any) {
	a.Helper()
	a.refresh()
	sync := map[string]any{"revision": revision, "prune": true}
	if len(options) > 0 {
		sync["syncOptions"] = options
	}
	a.patch(map[string]any{"operation": map[string]any{
		"initiatedBy": map[string]any{"username": "user"}, "sync": sync,
		// A replace fails when somebody has written the status at the same time.
		"retry": map[string]any{"limit": 10, "backoff": map[string]any{"duration": "1s", "factor": 1}},
	}})
	a.must(harness.Await(a.ctx, a.name+" to be synced by hand", func(ctx context.Context) error {
		seen, err := a.get(ctx)
		if err != nil {
			return err
		}
		if len(seen.Operation) > 0 { // it is taken away with the outcome
			return errors.New("it is under way")
		}
		return seen.succeeded(revision)
	}))
}

// awaitSynced returns when Argo CD says that a revision is in the cluster.
func (a *application) awaitSynced(revision string) {
	a.Helper()
	a.must(harness.Await(a.ctx, a.name+" to be synced to "+revision, func(ctx context.Context) error {
		seen, err := a.get(ctx)
		if err != nil {
			return err
		}
		if seen.Status.Sync.Status != "Synced" || seen.Status.Sync.Revision != revision {
			return fmt.Errorf("it is %s, compared with %q: %+v", seen.Status.Sync.Status, seen.Status.Sync.Revision, seen.Status)
		}
		return seen.succeeded(revision)
	}))
}

func (s *seenApplication) succeeded(revision string) error {
	state := s.Status.OperationState
	if state.Phase != "Succeeded" || state.SyncResult.Revision != revision {
		return fmt.Errorf("its last operation, of revision %q, is %s: %s; %+v", state.SyncResult.Revision, state.Phase, state.Message, s.Status.Conditions)
	}
	return nil
}
