package state

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
)

func configMapIn(namespace, name string, version int) source.Source {
	src := configMap(name, "one", version)
	src.Key.Namespace = namespace
	return src
}

func (s *State) comeAndGo(src source.Source) {
	s.PutSource(src, live)
	s.DeleteSource(src.Key, reload.Departure{Version: VersionOf(src.ResourceVersion) + 1})
}

// The watch of sources may be ahead of that of workloads.
func TestADeletedSourceIsKnownToAWorkloadThatArrivesLater(t *testing.T) {
	s := New(false)
	s.comeAndGo(configMap("cm", "one", 2))
	s.PutWorkload(deployment("web", "cm", 1, auto, "true"), live)
	f, _ := s.Facts(webKey())
	if left := f.Gone[source.LocalKey{Kind: source.ConfigMap, Name: "cm"}]; left.Version != 3 {
		t.Errorf("gone are %v", f.Gone)
	}
	s.PutSource(configMap("cm", "two", 4), live)
	f, _ = s.Facts(webKey())
	if seen := f.Concerns[0].Seen; !seen.Edited || seen.Created != 4 || seen.Departed != 3 {
		t.Errorf("after it was created again, %+v", seen)
	}
}

// Somebody may create and delete sources of ever other names for years, or large ones.
func TestDeletedSourcesAreBounded(t *testing.T) {
	s := New(false)
	s.comeAndGo(configMapIn("bank", "cm", 2))
	last := 0
	for n := range 3 * mostGone {
		last = 2*n + 4
		s.comeAndGo(configMapIn("shop", fmt.Sprintf("app-%d", n), last))
		if s.gone.weight > mostGone {
			t.Fatalf("they weigh %d after %d", s.gone.weight, n+1)
		}
	}
	if n := len(s.gone.in["shop"]); n < mostGone/2-1 {
		t.Errorf("%d are left, want the latest %d at least", n, mostGone/2-1)
	}
	for key, gone := range s.gone.in["shop"] {
		if gone.departure.Version+uint64(2*mostGone) < uint64(last) {
			t.Fatalf("%v is kept, which went long before the others", key)
		}
	}
	if len(s.gone.in["bank"]) != 1 {
		t.Error("one namespace has pushed out what another one needs")
	}
	for n := range 100 {
		large := configMapIn("shop", fmt.Sprintf("large-%d", n), last+2*n+2)
		large.Keys = make([]digest.KeyDigest, mostGone)
		s.comeAndGo(large)
		keys := 0
		for _, gone := range s.gone.in["shop"] {
			keys += len(gone.Keys)
		}
		if keys > 16*mostGone {
			t.Fatalf("they have %d keys after %d large ones", keys, n+1)
		}
	}
	if len(s.gone.in["bank"]) != 1 {
		t.Error("large sources have pushed out what another namespace needs")
	}
}

// What labels and annotations said earlier is kept beside a source.
func TestDeletedSourcesThatSaidMuchAreFewer(t *testing.T) {
	s := New(false)
	for n := range mostGone {
		for change := range 4 {
			src := configMapIn("shop", fmt.Sprintf("app-%d", n), 10*n+change+1)
			src.Annotations.Labels = source.LabelsOf(map[string]string{"n": fmt.Sprint(change)})
			s.PutSource(src, live)
		}
		s.DeleteSource(configMapIn("shop", fmt.Sprintf("app-%d", n), 0).Key, reload.Departure{Version: uint64(10*n) + 9})
	}
	if n := len(s.gone.in["shop"]); n > mostGone/16 {
		t.Errorf("%d are kept", n)
	}
}

func TestALargeDeletedSourceIsKeptAlone(t *testing.T) {
	s := New(false)
	large := configMapIn("shop", "large", 2)
	large.Keys = make([]digest.KeyDigest, 17*mostGone)
	s.comeAndGo(large)
	if len(s.gone.in["shop"]) != 1 {
		t.Error("it is forgotten")
	}
	s.PutSource(configMapIn("shop", "large", 4), live)
	if s.gone.weight != 0 || len(s.gone.in) != 0 {
		t.Errorf("after it was created again, %v is left, which weighs %d", s.gone.in, s.gone.weight)
	}
}

// A source that a watch shows for the first time did not exist when the snapshot before was taken, unless
// its deletion since was forgotten.
func TestASourceThatTheLatestSnapshotLacks(t *testing.T) {
	listed := func(s *State, named map[types.NamespacedName]struct{}) {
		s.KeepSources(source.ConfigMap, "bank", nil, 4)
		s.KeepSources(source.ConfigMap, "shop", named, 6)
		s.KeepSources(source.Secret, "shop", nil, 5)
	}
	for name, tc := range map[string]struct {
		puts func(s *State)
		want uint64
	}{
		"that of its namespace": {func(s *State) { listed(s, nil) }, 6},
		"that of all":           {func(s *State) { s.KeepSources(source.ConfigMap, "", nil, 6) }, 6},
		"of an unknown version": {func(s *State) { listed(s, nil); s.KeepSources(source.ConfigMap, "shop", nil, 0) }, 0},
		"it is deleted since": {func(s *State) {
			listed(s, nil)
			s.comeAndGo(configMap("cm", "one", 7))
		}, 0},
		"deletions were forgotten": {func(s *State) {
			listed(s, nil)
			for n := range mostGone + 1 {
				s.comeAndGo(configMapIn("shop", fmt.Sprintf("app-%d", n), 7))
			}
		}, 0},
		"another one of its name is known": {func(s *State) {
			s.PutSource(configMap("cm", "one", 5), inASnap)
			listed(s, map[types.NamespacedName]struct{}{{Namespace: "shop", Name: "cm"}: {}})
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			s.PutWorkload(deployment("web", "cm", 1, auto, "true"), inASnap)
			tc.puts(s)
			src := configMap("cm", "two", 20000)
			src.UID = "another"
			s.PutSource(src, live)
			src.ResourceVersion = "20001"
			s.PutSource(src, live)
			if f, _ := s.Facts(webKey()); f.Concerns[0].Seen.Absent != tc.want {
				t.Errorf("it did not exist in %d, want %d", f.Concerns[0].Seen.Absent, tc.want)
			}
		})
	}
}
