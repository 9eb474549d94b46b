package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

func testArgoRollouts(t *testing.T, on *stage.Stage) {
	t.Parallel()
	t.Run("ComesAndGoes", func(t *testing.T) {
		settingOn(t, on, harness.ShippedForArgoRollouts, harness.ReadManifest).run(t, "argo-rollouts/come-and-go")
	})
	s := settingOn(t, on, harness.ShippedForArgoRollouts, harness.ReadManifest)
	if err := s.Cluster.StartArgoRollouts(t.Context(), os.Stderr); err != nil {
		t.Fatal(err)
	}
	if err := s.Harness.AwaitKind(t.Context(), "rollouts"); err != nil {
		t.Fatal(err)
	}
	s.Harness.ArgoRollouts = true
	s.run(t, "argo-rollouts")
	without := *s
	without.manifest = shared.manifest
	without.run(t, "argo-rollouts/without-permissions")
}

// crds makes the API server know Rollouts, or the kinds of a file, or forget them with all there
// are.
func crds(ctx context.Context, s *step) error {
	if err := errors.Join(s.wantArgs(1, 2), s.wantNoNegation()); err != nil {
		return err
	}
	s.decided = false
	if len(s.args) > 1 {
		return crdsOf(ctx, s, []byte(s.ts.ReadFile(s.args[1])))
	}
	switch s.args[0] {
	case "install":
		if err := s.setting.Cluster.InstallRolloutCRDs(ctx); err != nil {
			return err
		}
		return s.setting.Harness.AwaitKind(ctx, "rollouts")
	case "remove":
		return s.setting.Cluster.RemoveRolloutCRDs(ctx)
	default:
		return fmt.Errorf("%w: %q can be done to nothing", errUsage, s.args[0])
	}
}
