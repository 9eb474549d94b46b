package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reroll-dev/reroll/test/harness"
)

// Argo Rollouts acts on a whole cluster, so what needs it has one of its own. It is not started for anybody else.
func TestArgoRollouts(t *testing.T) {
	t.Parallel()
	s := stageOf(t)
	if err := s.cluster.StartArgoRollouts(t.Context(), os.Stderr); err != nil {
		t.Fatal(err)
	}
	if err := s.harness.AwaitKind(t.Context(), "rollouts"); err != nil {
		t.Fatal(err)
	}
	s.harness.ArgoRollouts = true
	testscript.Run(t, params(s, patience, testscript.Params{Dir: "argo-rollouts"}))
	without := *s
	without.manifest = harness.ShippedManifest
	testscript.Run(t, params(&without, patience, testscript.Params{Dir: "argo-rollouts/without-rights"}))
}

// What the API server serves is the same for a whole cluster, too.
func TestArgoRolloutsComeAndGo(t *testing.T) {
	t.Parallel()
	testscript.Run(t, params(stageOf(t), patience, testscript.Params{Dir: "argo-rollouts/come-and-go"}))
}

// stageOf is the stage of one test, whose controller has the rights for Rollouts.
func stageOf(t *testing.T) *stage {
	t.Helper()
	s, err := newStage(t.Context(), shared.binary)
	if err != nil {
		t.Fatal(err)
	}
	s.manifest = harness.ShippedForArgoRollouts
	// After the scenarios, which are subtests and run in parallel.
	t.Cleanup(func() {
		if err := s.cluster.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// crds makes the API server know Rollouts, or forget them with all there are.
func crds(ctx context.Context, s *step) error {
	if err := errors.Join(s.wantArgs(1, 1), s.wantNoNegation()); err != nil {
		return err
	}
	s.decided = false
	switch s.args[0] {
	case "install":
		if err := s.stage.cluster.InstallRolloutCRDs(ctx); err != nil {
			return err
		}
		return s.stage.harness.AwaitKind(ctx, "rollouts")
	case "remove":
		return s.stage.cluster.RemoveRolloutCRDs(ctx)
	default:
		return fmt.Errorf("%w: %q can be done to nothing", errUsage, s.args[0])
	}
}
