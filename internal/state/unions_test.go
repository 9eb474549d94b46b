package state

import (
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

const signer = "example.com/internal"

// bundleOf has the certificates that the letters of a text stand for.
func bundleOf(name, certificates, stage string, version int) source.Source {
	var text []byte
	for _, c := range certificates {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(string(c))})...)
	}
	src := source.FromTrustBundle(&metav1.ObjectMeta{
		Name: name, UID: types.UID(name), ResourceVersion: strconv.Itoa(version), Labels: map[string]string{"stage": stage},
	}, signer, string(text), annotations.DefaultNames())
	src.Untracked = false
	return src
}

// trusting is a Deployment in a namespace that projects bundles: one by its name, or those of a
// stage. Many makes it match all sources of its namespace.
func trusting(namespace, name, company, stage string, version int, many bool) workload.Workload {
	signed := signer
	projected := &corev1.ProjectedVolumeSource{}
	if company != "" {
		projected.Sources = append(projected.Sources, corev1.VolumeProjection{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{Name: &company}})
	}
	if stage != "" {
		projected.Sources = append(projected.Sources, corev1.VolumeProjection{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{
			SignerName: &signed, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"stage": stage}},
		}})
	}
	meta := &metav1.ObjectMeta{
		Namespace: namespace, Name: name, UID: types.UID(namespace + name), ResourceVersion: strconv.Itoa(version),
		Annotations: map[string]string{auto: "true"},
	}
	volumes := []corev1.Volume{{Name: "trust", VolumeSource: corev1.VolumeSource{Projected: projected}}}
	for i := range mostExact {
		if many {
			volumes = append(volumes, corev1.Volume{Name: fmt.Sprint(i), VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: fmt.Sprint(i)}}})
		}
	}
	return workload.New(workload.Kind{Name: "Deployment"}, meta, nil, &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "app", VolumeMounts: []corev1.VolumeMount{{Name: "trust"}}}},
		Volumes:    volumes,
	}}, annotations.DefaultNames())
}

func key(namespace, name string) workload.Key {
	return workload.Key{Kind: "Deployment", Namespace: namespace, Name: name}
}

// cluster is what exists, for the oracle, which knows nothing of an index.
type cluster struct {
	bundles   map[string]source.Source
	workloads map[workload.Key]workload.Workload
}

// wants are the sources of a workload with the certificates of each.
func (c *cluster) wants(w *workload.Workload) map[string]string {
	want := map[string]string{}
	for _, ref := range w.References {
		u, united := ref.Key.Union()
		var all []string
		for _, src := range c.bundles {
			if united && u.Has(&src) || !united && src.Key.Name == ref.Key.Name {
				for _, sum := range src.Bundle.Certificates {
					all = append(all, sum.String())
				}
			}
		}
		if slices.Sort(all); len(all) > 0 {
			want[ref.Key.Name] = fmt.Sprint(slices.Compact(all))
		}
	}
	return want
}

// A history draws bundles that come, go, and change, and workloads in two namespaces that begin and
// end to reference them. At each step, each workload has the sources that a look at everything finds,
// and an event returns each workload whose certificates differ, and no other one of them.
func TestUnionsAreWhatALookAtEverythingFinds(t *testing.T) {
	first := firstSeed(t)
	for seed := first; seed < first+300; seed++ {
		draw := rand.New(rand.NewPCG(seed, 7))
		pick := func(all ...string) string { return all[draw.IntN(len(all))] }
		s := New(false)
		now := cluster{map[string]source.Source{}, map[workload.Key]workload.Workload{}}
		digests := map[workload.Key]map[string]string{}
		texts := map[string]string{} // by the digest of a source
		if draw.IntN(4) > 0 {
			s.KeepSources(source.ClusterTrustBundle, "", nil, 0) // otherwise the snapshot comes later
		}
		united := s.united
		for step := range 40 {
			version := step + 10
			var concerned []workload.Key
			bundled := false
			switch draw.IntN(8) {
			case 0, 1, 2:
				src := bundleOf(pick("a", "b", "c"), pick("x", "y", "xy", "yx", "z"), pick("live", "next"), version)
				now.bundles[src.Key.Name] = src
				concerned, bundled = s.PutSource(src, united), united
			case 3:
				name := pick("a", "b", "c")
				delete(now.bundles, name)
				concerned, bundled = s.DeleteSource(source.Key{Kind: source.ClusterTrustBundle, Name: name}, reload.Departure{Version: uint64(version)}), united
			case 4: // a gap in the watch, in which one bundle may have gone and another one changed
				delete(now.bundles, pick("a", "b", "c", "none"))
				if name := pick("a", "b", "none"); name != "none" {
					now.bundles[name] = bundleOf(name, pick("x", "y", "z"), pick("live", "next"), version)
				}
				named := map[types.NamespacedName]struct{}{}
				for name, src := range now.bundles {
					named[types.NamespacedName{Name: name}] = struct{}{}
					s.PutSource(src, false)
				}
				s.KeepSources(source.ClusterTrustBundle, "", named, 0)
				united = true
			case 5:
				k := key(pick("shop", "bank"), pick("one", "two"))
				delete(now.workloads, k)
				s.DeleteWorkload(k)
			default:
				w := trusting(pick("shop", "bank"), pick("one", "two"), pick("", "a", "b"), pick("", "live", "next"), version, draw.IntN(3) == 0)
				now.workloads[w.Key] = w
				s.PutWorkload(w, true)
			}
			if !united {
				continue
			}
			for k, w := range now.workloads {
				want := now.wants(&w)
				got := map[string]string{}
				facts, _ := s.Facts(k)
				for i := range facts.Concerns {
					src := &facts.Concerns[i].Source
					got[src.Key.Name] = src.Digest.String()
				}
				if len(got) != len(want) {
					t.Fatalf("REROLL_BASE=%d, step %d: %s has %v, want %v", seed, step, k, got, want)
				}
				for name, sum := range got {
					if known, ok := texts[sum]; ok && known != want[name] {
						t.Fatalf("REROLL_BASE=%d, step %d: source %s of %s has the digest of %s, want that of %s", seed, step, name, k, known, want[name])
					}
					texts[sum] = want[name]
				}
				if before, known := digests[k]; bundled && known && fmt.Sprint(before) != fmt.Sprint(want) && !slices.Contains(concerned, k) {
					t.Fatalf("REROLL_BASE=%d, step %d: %s is not concerned although %v became %v", seed, step, k, before, want)
				}
				digests[k] = want
			}
			for k := range digests {
				if _, exists := now.workloads[k]; !exists {
					delete(digests, k)
				}
			}
			for _, k := range concerned {
				if w := now.workloads[k]; len(w.References) == 0 {
					t.Fatalf("REROLL_BASE=%d, step %d: %s is concerned, and references nothing", seed, step, k)
				}
			}
		}
		for k := range now.workloads {
			s.DeleteWorkload(k)
		}
		if len(s.index.unions) != 0 || len(s.index.trying) != 0 || len(s.index.bySource) != 0 {
			t.Fatalf("REROLL_BASE=%d: without workloads, the index still has %d unions", seed, len(s.index.unions))
		}
	}
}

func unionOf(t *testing.T, s *State) (source.LocalKey, reload.SourceSeen) {
	t.Helper()
	f, _ := s.Facts(key("shop", "web"))
	if len(f.Concerns) != 1 {
		t.Fatalf("%d sources concern it", len(f.Concerns))
	}
	return f.Concerns[0].Source.Key.Local(), f.Concerns[0].Seen
}

// A bundle that joins or leaves a union changes its data, in the version of that event. It is no
// creation or deletion.
func TestABundleThatJoinsOrLeavesChangesTheUnion(t *testing.T) {
	for about, tc := range map[string]struct {
		event func(*State)
		want  uint64
	}{
		"one joins": {func(s *State) { s.PutSource(bundleOf("b", "y", "live", 20), live) }, 20},
		"one gets the label": {func(s *State) {
			s.PutSource(bundleOf("b", "y", "next", 15), live)
			s.PutSource(bundleOf("b", "y", "live", 20), live)
		}, 20},
		"one is deleted": {func(s *State) {
			s.DeleteSource(source.Key{Kind: source.ClusterTrustBundle, Name: "old"}, reload.Departure{Version: 20})
		}, 20},
		"one that adds nothing": {func(s *State) { s.PutSource(bundleOf("b", "x", "live", 20), live) }, 0},
	} {
		s := New(false)
		s.PutSource(bundleOf("a", "x", "live", 1), inASnap)
		s.PutSource(bundleOf("old", "z", "live", 9), inASnap)
		s.KeepSources(source.ClusterTrustBundle, "", map[types.NamespacedName]struct{}{{Name: "a"}: {}, {Name: "old"}: {}}, 0)
		s.PutWorkload(trusting("shop", "web", "", "live", 10, false), live)
		tc.event(s)
		if _, seen := unionOf(t, s); seen.Content != tc.want {
			t.Errorf("%s: its data changed in version %d, want %d", about, seen.Content, tc.want)
		}
	}
}

// What arrives one by one in a snapshot is no change of the union, and neither is a later snapshot.
// The watch of bundles may be ahead of that of workloads.
func TestAUnionThatChangedBeforeItsWorkloadArrived(t *testing.T) {
	for name, tc := range map[string]struct {
		at        int // the version of the workload
		event     func(s *State)
		edited    bool
		inVersion uint64
	}{
		"a bundle was edited":       {3, func(s *State) { s.PutSource(bundleOf("a", "xy", "live", 4), live) }, true, 4},
		"a bundle came":             {3, func(s *State) { s.PutSource(bundleOf("b", "y", "live", 4), live) }, true, 4},
		"a bundle got the label":    {3, func(s *State) { s.PutSource(bundleOf("c", "z", "live", 4), live) }, true, 4},
		"a bundle lost the label":   {3, func(s *State) { s.PutSource(bundleOf("d", "w", "next", 4), live) }, true, 4},
		"another bundle was edited": {3, func(s *State) { s.PutSource(bundleOf("c", "zw", "next", 4), live) }, false, 0},
		"a bundle left, and later others changed": {3, func(s *State) {
			s.DeleteSource(bundleOf("d", "", "", 0).Key, reload.Departure{Version: 4})
			s.PutSource(bundleOf("c", "zw", "next", 5), live)
		}, true, 4},
		"a bundle left, and later others changed often": {3, func(s *State) {
			s.DeleteSource(bundleOf("d", "", "", 0).Key, reload.Departure{Version: 4})
			editOften(s, bundleOf("c", "", "next", 5))
		}, true, 5 + 2*maxBundleChanges - maxBundleChanges/2},
		"a bundle left":                      {3, func(s *State) { s.DeleteSource(bundleOf("d", "", "", 0).Key, reload.Departure{Version: 4}) }, true, 4},
		"a bundle was annotated":             {3, func(s *State) { s.PutSource(bundleOf("a", "x", "live", 4), live) }, false, 0},
		"a bundle was edited before":         {5, func(s *State) { s.PutSource(bundleOf("a", "xy", "live", 4), live) }, false, 0},
		"a snapshot shows that it is edited": {3, func(s *State) { s.PutSource(bundleOf("a", "xy", "live", 4), inASnap) }, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			named := map[types.NamespacedName]struct{}{}
			for _, src := range []source.Source{bundleOf("a", "x", "live", 1), bundleOf("c", "z", "next", 1), bundleOf("d", "w", "live", 1)} {
				s.PutSource(src, inASnap)
				named[types.NamespacedName{Name: src.Key.Name}] = struct{}{}
			}
			s.KeepBundles(named, 2)
			tc.event(s)
			s.PutWorkload(trusting("shop", "web", "", "live", tc.at, false), live)
			f, _ := s.Facts(key("shop", "web"))
			if len(f.Concerns) != 1 {
				t.Fatalf("%d sources concern it", len(f.Concerns))
			}
			if seen := f.Concerns[0].Seen; seen.Edited != tc.edited || seen.Content != tc.inVersion {
				t.Errorf("got %+v", seen)
			}
		})
	}
}

func TestAUnionWhoseLastBundleLeftBeforeItsWorkloadArrived(t *testing.T) {
	s := New(false)
	s.PutSource(bundleOf("a", "x", "live", 1), inASnap)
	s.KeepBundles(map[types.NamespacedName]struct{}{{Name: "a"}: {}}, 2)
	s.DeleteSource(bundleOf("a", "", "", 0).Key, reload.Departure{Version: 12})
	s.PutWorkload(trusting("shop", "web", "", "live", 10, false), live)
	s.PutSource(bundleOf("a", "y", "live", 20), live)
	f, _ := s.Facts(key("shop", "web"))
	if len(f.Concerns) != 1 || !f.Concerns[0].Seen.Edited || f.Concerns[0].Seen.Content != 20 {
		t.Errorf("got %+v", f.Concerns)
	}
}

func TestADeletedUnionStaysAsItWasWhenAnotherWorkloadArrives(t *testing.T) {
	s := New(false)
	s.PutSource(bundleOf("a", "x", "live", 1), inASnap)
	s.KeepBundles(map[types.NamespacedName]struct{}{{Name: "a"}: {}}, 2)
	s.PutWorkload(trusting("shop", "web", "", "live", 3, false), live)
	s.DeleteSource(bundleOf("a", "", "", 0).Key, reload.Departure{Version: 12})
	s.PutWorkload(trusting("bank", "app", "", "live", 10, false), live)
	f, _ := s.Facts(key("shop", "web"))
	for _, left := range f.Gone {
		if left.Version != 12 || left.Source.Digest.IsZero() {
			t.Errorf("gone is %+v", left)
		}
	}
	if len(f.Gone) != 1 {
		t.Errorf("%d are gone", len(f.Gone))
	}
}

func TestADeletedUnionIsForgottenWithTheLastWorkloadThatReferencesIt(t *testing.T) {
	s := New(false)
	s.PutSource(bundleOf("a", "x", "live", 1), inASnap)
	s.KeepBundles(map[types.NamespacedName]struct{}{{Name: "a"}: {}}, 2)
	s.PutWorkload(trusting("shop", "web", "", "live", 3, false), live)
	s.DeleteSource(bundleOf("a", "", "", 0).Key, reload.Departure{Version: 4})
	union := trusting("shop", "web", "", "live", 3, false).References[0].Key.In("")
	if _, ok := s.gone.get(union); !ok {
		t.Fatal("it is forgotten although a workload references it")
	}
	s.DeleteWorkload(key("shop", "web"))
	if _, ok := s.gone.get(union); ok {
		t.Error("it stays")
	}
}

func TestASnapshotUnitesOnce(t *testing.T) {
	s := New(false)
	snapshot := func() {
		s.PutSource(bundleOf("a", "x", "live", 1), inASnap)
		s.PutSource(bundleOf("b", "y", "live", 2), inASnap)
		s.KeepSources(source.ClusterTrustBundle, "", map[types.NamespacedName]struct{}{{Name: "a"}: {}, {Name: "b"}: {}}, 0)
	}
	s.PutWorkload(trusting("shop", "web", "", "live", 10, false), inASnap)
	snapshot()
	f, _ := s.Facts(key("shop", "web"))
	if len(f.Concerns) != 1 || f.Concerns[0].Away != (reload.Away{}) {
		t.Fatalf("%+v", f.Concerns)
	}
	s.PutSource(bundleOf("b", "z", "live", 20), live)
	s.PutSource(bundleOf("b", "y", "live", 30), live)
	s.PutSource(bundleOf("a", "x", "live", 1), inASnap)
	s.PutSource(bundleOf("b", "y", "live", 30), inASnap)
	s.KeepSources(source.ClusterTrustBundle, "", map[types.NamespacedName]struct{}{{Name: "a"}: {}, {Name: "b"}: {}}, 0)
	if _, seen := unionOf(t, s); seen.Content != 30 {
		t.Errorf("after a snapshot its data changed in version %d, want 30", seen.Content)
	}
}

func TestABundleThatIsRecreatedForAnotherSignerLeavesTheUnion(t *testing.T) {
	s := New(false)
	s.Unite()
	s.PutWorkload(trusting("shop", "web", "", "live", 1, false), live)
	s.PutSource(bundleOf("a", "x", "live", 1), live)
	s.PutSource(bundleOf("b", "y", "live", 2), live)
	before, _ := s.Facts(key("shop", "web"))
	other := bundleOf("b", "z", "live", 3)
	other.UID, other.Bundle.Signer = "another", "example.com/other"
	s.PutSource(other, live)
	s.PutSource(bundleOf("a", "w", "live", 4), live)
	after, _ := s.Facts(key("shop", "web"))
	if len(before.Concerns) != 1 || len(before.Concerns[0].Source.Keys) != 2 || len(after.Concerns) != 1 || len(after.Concerns[0].Source.Keys) != 1 {
		t.Errorf("the union has %v, before %v", after.Concerns, before.Concerns)
	}
}
