package node_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/reroll-dev/reroll/test/argocd"
	"github.com/reroll-dev/reroll/test/harness"
)

// examples/argo-rollouts: a Rollout that Argo CD deploys from Git and heals by itself. A commit
// that changes only the ConfigMap reaches the processes, and Argo CD takes nothing back.
func TestARolloutOfArgoCDShowsTheNewValueInItsProcesses(t *testing.T) {
	t.Parallel()
	h := startArgo(t)
	p := newPlaceOn(t, h)
	manifest, err := harness.ShippedForArgoRollouts()
	p.must(err)
	p.startControllerOf(manifest)

	repo, err := argocd.NewRepository(p.ctx, t.TempDir())
	p.must(err)
	text, err := os.ReadFile(filepath.Join("..", "..", "examples", "argo-rollouts", "rollout.yaml"))
	p.must(err)
	commit := func(content string) string {
		p.must(os.WriteFile(repo.Path("rollout.yaml"), []byte(content), 0o600))
		revision, err := repo.Commit(p.ctx, "the Rollout and its ConfigMap")
		p.must(err)
		return revision
	}
	first := commit(string(text))
	app, err := argocd.Create(p.ctx, shared.cluster.Config(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": map[string]any{"name": p.Name},
		"spec": map[string]any{
			"project":     "default",
			"source":      map[string]any{"repoURL": repo.URL(), "path": ".", "targetRevision": "main"},
			"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": p.Name},
			"syncPolicy":  map[string]any{"automated": map[string]any{"prune": true, "selfHeal": true}},
		},
	}})
	p.must(err)
	t.Cleanup(func() {
		// It would heal a namespace that is being deleted.
		if err := app.Delete(context.Background()); err != nil {
			t.Error(err)
		}
	})
	web := harness.Ref{Kind: "rollout", Name: "web"}
	p.must(app.AwaitHealthy(p.ctx, first))
	p.must(p.AwaitReady(p.ctx, web))
	p.kubectl("wait", "rollout/web", `--for=jsonpath={.metadata.annotations.reroll\.dev/ledger}`, "--timeout=8m")
	p.allPrinted("web", "env GREETING=hello")

	second := commit(strings.Replace(string(text), "text: hello", "text: good morning", 1))
	p.must(app.AwaitSynced(p.ctx, second))
	p.must(p.AwaitRolls(p.ctx, web, 1))
	p.allPrinted("web", "env GREETING=good morning")
	p.must(app.AwaitHealthy(p.ctx, second))
	if _, err := app.Refresh(p.ctx); err != nil {
		t.Fatal(err)
	}
	p.must(app.AwaitHealthy(p.ctx, second))
	p.must(p.AwaitRolls(p.ctx, web, 1))
	p.allPrinted("web", "env GREETING=good morning")
}

// startArgo starts both on the shared cluster, where they live longer than the test.
func startArgo(t *testing.T) *harness.Harness {
	t.Helper()
	ctx := context.Background()
	h, err := harness.New(shared.cluster)
	if err := errors.Join(err, shared.cluster.StartArgoRollouts(ctx, os.Stderr), shared.cluster.StartArgoCD(ctx, os.Stderr)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(h.AwaitKind(ctx, "rollouts"), h.AwaitKind(ctx, "applications")); err != nil {
		t.Fatal(err)
	}
	h.ArgoRollouts = true
	return h
}
