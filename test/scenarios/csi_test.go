package scenarios

import (
	"context"
	"errors"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reroll-dev/reroll/test/harness"
)

// The Secrets Store CSI driver is installed for a whole cluster, so what needs it has one of its own. No node runs here
// that could mount anything: what the driver writes, the harness writes.
func TestCSI(t *testing.T) {
	t.Parallel()
	s := ownSetting(t, harness.ShippedForCSI, harness.ReadManifest)
	if err := installCSI(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, params(s, patience, testscript.Params{Dir: "csi"}))
}

// Here the API server does not stream what there is, so that classes and what pods have of them are listed, too.
func TestCSIComesAndGoes(t *testing.T) {
	t.Parallel()
	s := ownSetting(t, harness.ShippedForCSI, harness.ReadManifest, withoutStreamedLists(t)...)
	testscript.Run(t, params(s, patience, testscript.Params{Dir: "csi/come-and-go"}))
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
