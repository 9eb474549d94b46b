package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// Argo Rollouts acts on a whole cluster, so what needs it has one of its own. It is not started for anybody else.
func TestArgoRollouts(t *testing.T) {
	t.Parallel()
	s := settingOf(t)
	if err := s.Cluster.StartArgoRollouts(t.Context(), os.Stderr); err != nil {
		t.Fatal(err)
	}
	if err := s.Harness.AwaitKind(t.Context(), "rollouts"); err != nil {
		t.Fatal(err)
	}
	s.Harness.ArgoRollouts = true
	testscript.Run(t, params(s, patience, testscript.Params{Dir: "argo-rollouts"}))
	without := *s
	without.manifest = shared.manifest
	testscript.Run(t, params(&without, patience, testscript.Params{Dir: "argo-rollouts/without-permissions"}))
}

// What the API server serves is the same for a whole cluster, too.
func TestArgoRolloutsComeAndGo(t *testing.T) {
	t.Parallel()
	testscript.Run(t, params(settingOf(t), patience, testscript.Params{Dir: "argo-rollouts/come-and-go"}))
}

// settingOf is the one of one test, whose controller has the permissions for Rollouts. Its scenarios are subtests.
func settingOf(t *testing.T) *setting {
	t.Helper()
	return ownSetting(t, harness.ShippedForArgoRollouts, harness.ReadManifest)
}

// ownSetting has a cluster of its own, with these flags for its API server.
func ownSetting(t *testing.T, path func() (string, error), read func(string) (*harness.Manifest, error), flags ...string) *setting {
	t.Helper()
	manifest, err := shippedManifest(path, read)
	if err != nil {
		t.Fatal(err)
	}
	s := &setting{stage.OfTest(t, shared.Binary, flags...), manifest, shared.permissions, shared.policies}
	t.Cleanup(func() {
		if err := s.notePermissions(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// crds makes the API server know Rollouts, or the kinds of a file, or forget them with all there are.
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
