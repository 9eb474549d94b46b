package scenarios

import (
	"testing"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// Only an API server with flags for it serves ClusterTrustBundles, and keeps the volumes that project
// them. The controller watches all namespaces, because they are in none. So it is alone there.
func TestTrustBundles(t *testing.T) {
	t.Parallel()
	flags, err := cluster.WithTrustBundles()
	if err != nil {
		t.Fatal(err)
	}
	if len(flags) == 0 {
		t.Skip("this Kubernetes has no ClusterTrustBundles in a version that Reroll reads")
	}
	s := settingOn(t, stage.OfTest(t, shared.Binary, flags...), harness.ShippedForTrustBundles, harness.ReadRendered)
	if err := s.Harness.AwaitKind(t.Context(), "clustertrustbundles"); err != nil {
		t.Fatal(err)
	}
	s.run(t, "trust")
}
