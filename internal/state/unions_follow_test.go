package state

import (
	"testing"

	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// A workload references a union that never had a bundle. Another bundle of the signer changes, and an
// earlier event of a workload arrives after that. So nothing of the union can have left.
func TestAUnionThatAWorkloadReferencesAlreadyHasNoUnknownPast(t *testing.T) {
	for name, later := range map[string]workload.Workload{
		"another workload references it, too":      trusting("bank", "app", "", "live", 10, false),
		"the workload references another one, too": trusting("shop", "web", "company", "live", 10, false),
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			s.KeepSources(source.ClusterTrustBundle, "", nil)
			s.PutWorkload(trusting("shop", "web", "", "live", 3, false), live)
			s.PutSource(bundleOf("c", "x", "next", 12), live)
			s.PutWorkload(later, live)
			s.PutSource(bundleOf("a", "y", "live", 20), live)
			f, _ := s.Facts(key("shop", "web"))
			if len(f.Concerns) != 1 || f.Concerns[0].Seen.Edited || f.Concerns[0].Seen.Departed != 0 {
				t.Errorf("got %+v", f.Concerns)
			}
		})
	}
}
