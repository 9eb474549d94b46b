package state

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// A workload references a union that never had a bundle. Another bundle of the signer changes so often
// that earlier changes are forgotten, and an earlier event of a workload arrives after that. So nothing
// of the union can have left.
func TestAUnionThatAWorkloadReferencesAlreadyHasNoUnknownPast(t *testing.T) {
	for name, later := range map[string]workload.Workload{
		"another workload references it, too":      trusting("bank", "app", "", "live", 10, false),
		"the workload references another one, too": trusting("shop", "web", "company", "live", 10, false),
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			s.KeepSources(source.ClusterTrustBundle, "", nil, 0)
			s.PutWorkload(trusting("shop", "web", "", "live", 3, false), live)
			editOften(s, bundleOf("c", "x", "next", 12))
			s.PutWorkload(later, live)
			s.PutSource(bundleOf("a", "y", "live", 200), live)
			f, _ := s.Facts(key("shop", "web"))
			if len(f.Concerns) != 1 || f.Concerns[0].Seen.Edited || f.Concerns[0].Seen.Departed != 0 {
				t.Errorf("got %+v", f.Concerns)
			}
		})
	}
}

// A bundle that never belonged to the union changes before the event of its first workload arrives. The
// union has no bundle, so it lost none, and its first one rolls nothing.
func TestAUnionWithoutBundlesWhileAnotherBundleChangesBeforeItsWorkloadArrived(t *testing.T) {
	s := New(false)
	s.PutSource(bundleOf("c", "x", "next", 1), inASnap)
	s.KeepBundles(map[types.NamespacedName]struct{}{{Name: "c"}: {}}, 2)
	s.PutSource(bundleOf("c", "y", "next", 12), live)
	s.PutWorkload(trusting("shop", "web", "", "live", 10, false), live)
	s.PutSource(bundleOf("a", "y", "live", 20), live)
	f, _ := s.Facts(key("shop", "web"))
	if len(f.Concerns) != 1 || f.Concerns[0].Seen.Edited || f.Concerns[0].Seen.Departed != 0 {
		t.Errorf("got %+v", f.Concerns)
	}
}

// Events of bundles that never belonged to the union arrive before that of its first workload. So the
// data is older than the template, whose Pods have it.
func TestAUnionIsNoNewerThanTheEventsOfItsBundles(t *testing.T) {
	for name, tc := range map[string]struct {
		listed uint64
		event  source.Source
		later  bool
	}{
		"a bundle of another stage":           {2, bundleOf("c", "y", "next", 12), false},
		"a bundle of another signer":          {2, ofAnotherSigner(bundleOf("d", "y", "live", 12)), false},
		"it was only annotated":               {2, bundleOf("a", "x", "live", 12), false},
		"a bundle of it":                      {2, bundleOf("a", "y", "live", 12), true},
		"nothing shows when the list is from": {0, bundleOf("c", "y", "next", 12), true},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			s.PutSource(bundleOf("a", "x", "live", 1), inASnap)
			s.PutSource(bundleOf("c", "x", "next", 2), inASnap)
			s.KeepBundles(map[types.NamespacedName]struct{}{{Name: "a"}: {}, {Name: "c"}: {}}, tc.listed)
			s.PutSource(tc.event, live)
			s.PutWorkload(trusting("shop", "web", "", "live", 10, false), live)
			f, _ := s.Facts(key("shop", "web"))
			if len(f.Concerns) != 1 || f.Concerns[0].Seen.LaterThan(10) != tc.later {
				t.Errorf("got %+v", f.Concerns)
			}
		})
	}
}

func ofAnotherSigner(bundle source.Source) source.Source {
	bundle.Bundle.Signer = "example.com/other"
	return bundle
}

// editOften changes a bundle so often that the first changes are forgotten. Each edit is kept twice,
// with the labels before and after it.
func editOften(s *State, bundle source.Source) {
	first := VersionOf(bundle.ResourceVersion)
	for i := range uint64(2 * maxBundleChanges) {
		s.PutSource(bundleOf(bundle.Key.Name, string(rune('A'+i)), bundle.Bundle.Labels["stage"], int(first+i)), live)
	}
}

// A snapshot of bundles may be newer than the template that arrives before its end.
func TestAUnionOfASnapshotThatIsNotComplete(t *testing.T) {
	s := New(false)
	all := map[types.NamespacedName]struct{}{{Name: "a"}: {}}
	s.PutSource(bundleOf("a", "x", "live", 1), inASnap)
	s.KeepBundles(all, 2)
	s.PutSource(bundleOf("a", "y", "live", 50), inASnap)
	s.PutWorkload(trusting("shop", "web", "", "live", 20, false), live)
	s.KeepBundles(all, 60)
	f, _ := s.Facts(key("shop", "web"))
	if len(f.Concerns) != 1 || !f.Concerns[0].Seen.LaterThan(20) {
		t.Errorf("the data is newer than the template, and counts as older: %+v", f.Concerns)
	}
}
