package scenarios

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// customKinds is how the controller is installed for the kinds that these scenarios have.
func customKinds() (string, error) { return "testdata/custom-kinds.yaml", nil }

// No controller of these kinds runs here, so a mark is all that comes of a change.
func testCustomKinds(t *testing.T, on *stage.Stage) {
	t.Parallel()
	t.Run("ComesAndGoes", func(t *testing.T) {
		settingOn(t, on, customKinds, harness.ReadManifest).run(t, "custom-kinds/come-and-go")
	})
	s := settingOn(t, on, customKinds, harness.ReadManifest)
	crds, err := os.ReadFile("testdata/custom-kinds-crds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.installCRDs(t.Context(), crds); err != nil {
		t.Fatal(err)
	}
	s.run(t, "custom-kinds")
	t.Cleanup(func() { s.nothingRefused(t) })
	without := *s
	without.manifest = shared.manifest
	without.run(t, "custom-kinds/without-permissions")
}

// nothingRefused fails if a custom kind was asked for without a permission to it: nobody has asked
// the controllers to do that.
func (s *setting) nothingRefused(t *testing.T) {
	t.Helper()
	asked, err := s.Harness.AllRequests(s.manifest, s.Cluster.AuditLog())
	if err != nil {
		t.Error(err)
	}
	for _, r := range asked {
		if r.Status.Code == http.StatusForbidden && strings.Contains(r.ObjectRef.APIGroup, ".") && !strings.HasSuffix(r.ObjectRef.APIGroup, ".k8s.io") {
			t.Errorf("%s was refused", r.RequestURI)
		}
	}
}

// crdsOf installs or removes those of a file.
func crdsOf(ctx context.Context, s *step, text []byte) error {
	switch s.args[0] {
	case "install":
		return s.setting.installCRDs(ctx, text)
	case "remove":
		return s.setting.Cluster.RemoveCRDs(ctx, text)
	default:
		return fmt.Errorf("%w: %q can be done to nothing", errUsage, s.args[0])
	}
}

func (s *setting) installCRDs(ctx context.Context, text []byte) error {
	names, err := s.Cluster.InstallCRDs(ctx, text)
	for _, name := range names {
		if err == nil {
			err = s.Harness.AwaitKind(ctx, name)
		}
	}
	return err
}
