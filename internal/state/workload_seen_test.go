package state

import (
	"maps"
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// All Pods are of a template without a reference at first. Then templates change within one rollout.
func TestSinceWhenPodsMayReferenceASource(t *testing.T) {
	cm, other := source.LocalKey{Kind: source.ConfigMap, Name: "cm"}, source.LocalKey{Kind: source.ConfigMap, Name: "other"}
	for name, tc := range map[string]struct {
		first     string
		templates []string
		rests     int // after how many of these the rollout is complete, 0 for none
		want      map[source.LocalKey]uint64
	}{
		"a new reference":                           {"", []string{"cm"}, 0, map[source.LocalKey]uint64{cm: 11}},
		"it is undone and redone":                   {"", []string{"cm", "", "cm"}, 0, map[source.LocalKey]uint64{cm: 11}},
		"another one comes between":                 {"", []string{"cm", "other", "cm"}, 0, map[source.LocalKey]uint64{cm: 11, other: 12}},
		"it was there before":                       {"cm", []string{"", "cm"}, 0, map[source.LocalKey]uint64{cm: 0}},
		"it is redone after the rollout without it": {"cm", []string{"", "cm"}, 1, map[source.LocalKey]uint64{cm: 12}},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			put := func(refersTo string, version int, rests, live bool) {
				w := deployment("web", refersTo, version, auto, "true")
				w.RolledOut = rests
				s.PutWorkload(w, live)
			}
			put(tc.first, 10, true, inASnap)
			for i, refersTo := range tc.templates {
				put(refersTo, 11+i, i+1 == tc.rests, live)
			}
			f, _ := s.Facts(workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"})
			if !maps.Equal(f.Seen.Referenced, tc.want) {
				t.Errorf("got %v, want %v", f.Seen.Referenced, tc.want)
			}
		})
	}
}

func TestPodsThatLoseAnObjectReportWhen(t *testing.T) {
	class := func(letters string, version int) source.Source {
		src := written(letters, version, 7) // within one second
		src.Key.Kind = source.SecretProviderClass
		return src
	}
	s := New(false)
	s.PutWorkload(deployment("web", "", 1, annotations.DefaultNames().SecretProviderClass, "cm"), inASnap)
	s.PutSource(class("ab", 7), live)
	s.PutSource(class("a", 8), live)
	f, _ := s.Facts(workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"})
	if len(f.Concerns) != 1 || f.Concerns[0].Seen.Timeless {
		t.Errorf("its reports have a time, got %+v", f.Concerns)
	}
}

// annotatedIn is a source whose annotations are on another object, written in a version.
func annotatedIn(version uint64, src source.Source) source.Source {
	src.AnnotatedIn = version
	return src
}
