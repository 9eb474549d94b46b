package state

import (
	"maps"
	"testing"
	"time"

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

// The annotation for the keys of web was written at 100, and again at 200.
func TestSinceWhenKeysCount(t *testing.T) {
	for name, tc := range map[string]struct {
		before, after string
		live          bool
		want          int64 // 0 for no time
	}{
		"it says the same in other words":          {"none=a", "all", live, 100},
		"other keys count":                         {"used", "all", live, 200},
		"a gap may hide other keys":                {"none=a", "all", inASnap, 200},
		"it was removed, and other keys count":     {"used", "", live, 0},
		"there was none, and it now says the same": {"", "all", live, 200},
	} {
		t.Run(name, func(t *testing.T) {
			put := func(s *State, keys string, version int, second int64, live bool) {
				ann := []string{auto, "true"}
				if keys != "" {
					ann = append(ann, annotations.Keys, keys)
				}
				w := deployment("web", "cm", version, ann...)
				if keys != "" {
					w.KeysAt = time.Unix(second, 0)
				}
				s.PutWorkload(w, live)
			}
			s := New(false)
			put(s, tc.before, 10, 100, inASnap)
			put(s, tc.after, 11, 200, tc.live)
			w, _ := s.Workload(workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"})
			if tc.want == 0 && !w.KeysAt.IsZero() || tc.want != 0 && w.KeysAt.Unix() != tc.want {
				t.Errorf("since %s, want %d", w.KeysAt, tc.want)
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
