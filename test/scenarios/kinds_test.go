package scenarios

import (
	"errors"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// What an API server serves concerns all that use it. So the scenarios about kinds that only some
// clusters have run on two clusters of their own, one of which streams no lists.

// TestKinds has the controller of Argo Rollouts too, which acts on a whole cluster. For Rollouts and
// custom kinds, the scenarios in which they come and go run first, and all others have them from the
// start.
func TestKinds(t *testing.T) {
	t.Parallel()
	on := stage.OfTest(t, shared.Binary)
	t.Run("ArgoRollouts", func(t *testing.T) { testArgoRollouts(t, on) })
	t.Run("CSI", func(t *testing.T) { testCSI(t, on) })
	t.Run("CustomKinds", func(t *testing.T) { testCustomKinds(t, on) })
}

// The API server has to be asked for lists here. The controllers of all scenarios but the last watch
// all namespaces, so they run one after the other. The first sees nothing of the others.
func TestWithoutStreamedLists(t *testing.T) {
	t.Parallel()
	flags, err := cluster.WithoutStreamedLists()
	forBundles, errOfBundles := cluster.WithTrustBundles()
	if err := errors.Join(err, errOfBundles); err != nil {
		t.Fatal(err)
	}
	if len(forBundles) > 0 {
		flags = forBundles
	}
	on := stage.OfTest(t, shared.Binary, flags...)
	t.Run("TrustBundles", func(t *testing.T) {
		if len(forBundles) == 0 {
			t.Skip("this Kubernetes has no ClusterTrustBundles in a version that Reroll reads")
		}
		testTrustBundles(t, on)
	})
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
