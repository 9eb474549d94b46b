package gitops

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/reroll-dev/reroll/internal/report"
	"github.com/reroll-dev/reroll/test/argocd"
)

// application is one of Argo CD, which brings a repository into the namespace of the test.
type application struct {
	*place
	*argocd.Application
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
	return p.create(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": map[string]any{"name": p.ns.Name},
		"spec": map[string]any{
			"project":     "default",
			"source":      map[string]any{"repoURL": r.URL(), "path": ".", "targetRevision": "main"},
			"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": p.ns.Name},
			"syncPolicy":  map[string]any(how),
		},
	}})
}

func (p *place) create(manifest *unstructured.Unstructured) *application {
	p.Helper()
	app, err := argocd.Create(p.ctx, p.Cluster.Config(), manifest)
	p.must(err)
	p.Cleanup(func() {
		// Its objects stay: it has no finalizer. Argo CD has one less to look after.
		if err := app.Delete(context.WithoutCancel(p.ctx)); err != nil && !apierrors.IsNotFound(err) {
			p.Error(err)
		}
	})
	return &application{place: p, Application: app}
}

// ignore makes it leave alone the annotations of the controller on objects of these groups and
// kinds.
func (a *application) ignore(kinds ...string) {
	a.Helper()
	var rules, expressions []any
	for _, expression := range report.IgnoredByArgoCD() {
		expressions = append(expressions, expression)
	}
	for _, k := range kinds {
		group, kind, _ := strings.Cut(k, "/")
		rules = append(rules, map[string]any{"group": group, "kind": kind, "jqPathExpressions": expressions})
	}
	a.must(a.Patch(a.ctx, map[string]any{"spec": map[string]any{"ignoreDifferences": rules}}))
}

// refresh returns when Argo CD has compared everything anew.
func (a *application) refresh() *argocd.State {
	a.Helper()
	state, err := a.Refresh(a.ctx)
	a.must(err)
	return state
}

// sync does what the button does, and returns when that is done.
func (a *application) sync(revision string, options ...any) {
	a.Helper()
	a.must(a.Sync(a.ctx, revision, options...))
}

// awaitSynced returns when Argo CD says that a revision is in the cluster.
func (a *application) awaitSynced(revision string) {
	a.Helper()
	a.must(a.AwaitSynced(a.ctx, revision))
}

// record keeps every state that it is in until the test ends.
func (a *application) record() *argocd.Record {
	a.Helper()
	r, err := a.Record(a.ctx)
	a.must(err)
	return r
}
