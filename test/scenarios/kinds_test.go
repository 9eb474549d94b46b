package scenarios

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// A CustomResourceDefinition belongs to the whole cluster. The scenarios that need one run on three
// clusters: one has the kinds from the start, on one they come and go, and on one they do so while
// the API server streams no lists.

// TestInstalled has the controller of Argo Rollouts too, which acts on a whole cluster.
func TestInstalled(t *testing.T) {
	t.Parallel()
	on := stage.OfTest(t, shared.Binary)
	t.Run("ArgoRollouts", func(t *testing.T) { testArgoRollouts(t, on) })
	t.Run("CSI", func(t *testing.T) { testCSI(t, on) })
	t.Run("CustomKinds", func(t *testing.T) { testCustomKinds(t, on) })
}

func TestComesAndGoes(t *testing.T) {
	t.Parallel()
	on := stage.OfTest(t, shared.Binary)
	t.Run("ArgoRollouts", func(t *testing.T) {
		settingOn(t, on, harness.ShippedForArgoRollouts, harness.ReadManifest).run(t, "argo-rollouts/come-and-go")
	})
	t.Run("CustomKinds", func(t *testing.T) {
		settingOn(t, on, customKinds, harness.ReadManifest).run(t, "custom-kinds/come-and-go")
	})
}

// The API server has to be asked for lists here. The controllers of the first scenarios watch all
// namespaces, so the others start later.
func TestWithoutStreamedLists(t *testing.T) {
	t.Parallel()
	flags, err := cluster.WithoutStreamedLists()
	if err != nil {
		t.Fatal(err)
	}
	on := stage.OfTest(t, shared.Binary, flags...)
	t.Run("AllNamespaces", func(t *testing.T) { testAllNamespaces(t, on) })
	t.Run("ReferenceGrants", func(t *testing.T) {
		settingOn(t, on, harness.ShippedForReferenceGrants, harness.ReadRendered).run(t, "grants")
	})
	t.Run("CSIComesAndGoes", func(t *testing.T) {
		settingOn(t, on, harness.ShippedForCSI, harness.ReadManifest).run(t, "csi/come-and-go")
	})
}

// settingOn is one for some tests on a cluster: how the controller is installed there, and a
// harness that knows its kinds.
func settingOn(t *testing.T, on *stage.Stage, path func() (string, error), read func(string) (*harness.Manifest, error)) *setting {
	t.Helper()
	manifest, err := shippedManifest(path, read)
	if err != nil {
		t.Fatal(err)
	}
	own := *on
	if own.Harness, err = harness.New(on.Cluster); err != nil {
		t.Fatal(err)
	}
	s := &setting{&own, manifest, shared.permissions, shared.policies}
	t.Cleanup(func() {
		if err := s.notePermissions(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// run runs the scenarios of a folder.
func (s *setting) run(t *testing.T, folder string) {
	t.Helper()
	testscript.Run(t, params(s, patience, testscript.Params{Dir: folder}))
}
