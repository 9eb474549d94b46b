package scenarios

import (
	"testing"

	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// Only an API server with flags for it serves ClusterTrustBundles, and keeps the volumes that project
// them. The controller watches all namespaces, because they are in none.
func testTrustBundles(t *testing.T, on *stage.Stage) {
	s := settingOn(t, on, harness.ShippedForTrustBundles, harness.ReadRendered)
	if err := s.Harness.AwaitKind(t.Context(), "clustertrustbundles"); err != nil {
		t.Fatal(err)
	}
	s.run(t, "trust")
}
