package state

import (
	"slices"
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// labeled is a ConfigMap with one label.
func labeled(content string, version int, plugins string) source.Source {
	src := configMap("cm", content, version)
	src.Annotations.Labels = source.LabelsOf(map[string]string{"plugins": plugins})
	return src
}

func webKey() workload.Key { return deployment("web", "", 0).Key }

func TestASourceReachesWorkloadsThatSelectItByItsLabels(t *testing.T) {
	s := New(false)
	s.PutWorkload(deployment("web", "", 1, annotations.Sources, "plugins=grafana"), live)
	s.PutWorkload(deployment("auto", "cm", 1, auto, "true"), live)
	if got := s.PutSource(labeled("one", 2, "grafana"), live); len(got) != 2 {
		t.Errorf("a new source reaches %v", got)
	}
	if got := concerned(s, "web"); len(got) != 1 {
		t.Errorf("it concerns %v", got)
	}
	if got := s.PutSource(labeled("one", 3, "grafana"), live); len(got) != 0 {
		t.Errorf("an event without a change reaches %v", got)
	}
	if got := s.PutSource(labeled("one", 4, "loki"), live); len(got) != 1 || got[0] != webKey() {
		t.Errorf("another label reaches %v, and must reach only the workload with the selector", got)
	}
	if got := concerned(s, "web"); len(got) != 0 {
		t.Errorf("without the label it concerns %v", got)
	}
	if got := s.PutSource(labeled("two", 5, "loki"), live); len(got) != 2 {
		t.Errorf("other data reaches %v", got)
	}
}

func TestALabelReachesNobodyWhereNoWorkloadSelectsByLabels(t *testing.T) {
	s := New(false)
	s.PutWorkload(deployment("web", "cm", 1, auto, "true"), live)
	s.PutWorkload(deployment("pattern", "", 1, byName, "c.*"), live)
	s.PutSource(labeled("one", 2, "grafana"), live)
	if got := s.PutSource(labeled("one", 3, "loki"), live); len(got) != 0 {
		t.Errorf("it reaches %v", got)
	}
}

func TestWhenASourceLostTheLabelsOfAWorkload(t *testing.T) {
	for name, tc := range map[string]struct {
		puts func(s *State)
		want uint64
	}{
		"a watch has shown it": {func(s *State) {
			s.PutSource(labeled("one", 3, "loki"), live)
			s.PutSource(labeled("one", 4, "tempo"), live)
		}, 3},
		"twice": {func(s *State) {
			s.PutSource(labeled("one", 3, "loki"), live)
			s.PutSource(labeled("one", 4, "grafana"), live)
			s.PutSource(labeled("one", 5, "loki"), live)
		}, 5},
		"a snapshot has shown it": {func(s *State) { s.PutSource(labeled("one", 3, "loki"), inASnap) }, 0},
		"before more changes than are kept": {func(s *State) {
			for i := range 10 {
				s.PutSource(labeled("one", 3+i, []string{"loki", "tempo"}[i%2]), live)
			}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			s.PutWorkload(deployment("web", "", 1, annotations.Sources, "plugins=grafana"), live)
			s.PutSource(labeled("one", 2, "grafana"), live)
			tc.puts(s)
			f, _ := s.Facts(webKey())
			want := []reload.Left{{Key: source.LocalKey{Kind: source.ConfigMap, Name: "cm"}, Version: tc.want}}
			if !slices.Equal(f.Left, want) || len(f.Spared) != 1 {
				t.Errorf("got %+v and %v, want %+v", f.Left, f.Spared, want)
			}
		})
	}
}
