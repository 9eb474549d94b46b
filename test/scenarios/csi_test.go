package scenarios

import (
	"context"
	"errors"
	"testing"

	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// No node runs here that could mount anything: what the Secrets Store CSI driver writes, the
// harness writes.
func testCSI(t *testing.T, on *stage.Stage) {
	t.Parallel()
	s := settingOn(t, on, harness.ShippedForCSI, harness.ReadManifest)
	if err := installCSI(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	s.run(t, "csi")
}

func installCSI(ctx context.Context, s *setting) error {
	return errors.Join(s.Cluster.InstallCSICRDs(ctx), s.Harness.AwaitKind(ctx, "secretproviderclasspodstatuses"))
}

// csi installs the driver or removes it, says what is in a store, and has pods told of it.
func csi(ctx context.Context, s *step) error {
	if err := errors.Join(s.wantArgs(1, 20), s.wantNoNegation()); err != nil {
		return err
	}
	s.decided = false
	switch what := s.args[0]; {
	case what == "install" && len(s.args) == 1:
		return installCSI(ctx, s.setting)
	case what == "remove" && len(s.args) == 1:
		return s.setting.Cluster.RemoveCSICRDs(ctx)
	case what == "store" && len(s.args) > 1:
		if s.csi == nil {
			driver, err := s.ns.CSIDriver(s.life)
			if err != nil {
				return err
			}
			s.csi = driver
		}
		return s.csi.Store(s.args[1], s.args[2:]...)
	case what == "rotate" && (len(s.args) == 3 || len(s.args) == 4) && s.csi != nil:
		ref, err := harness.ParseRef(s.args[2])
		if err != nil {
			return err
		}
		most := 0
		if len(s.args) == 4 {
			if most, err = s.number(3); err != nil {
				return err
			}
		}
		return s.csi.Rotate(ctx, s.args[1], ref, most)
	default:
		return errUsage
	}
}
