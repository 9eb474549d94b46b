package state

import (
	"testing"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

// The Pods of a template that came back were asked. Then a late watch shows a change of a source from
// before that, which they may lack: the order of the versions shows nothing.
func TestPodsAreAskedAgainAboutAChangeThatArrivesLate(t *testing.T) {
	web := func(refersTo string, version int) workload.Workload {
		return deployment("web", refersTo, version, auto, "true")
	}
	ask := func(s *State) reload.Facts {
		f, _ := s.Facts(web("", 0).Key)
		f.Pods = &reload.Pods{}
		return f
	}
	asked := func(s *State) {
		f := ask(s)
		s.Compared(&f)
	}
	edit := func(version int) func(*State) {
		return func(s *State) { s.PutSource(configMap("cm", "two", version), live) }
	}
	for name, tc := range map[string]struct {
		steps []func(*State)
		want  bool
	}{
		"nothing arrives":                 {[]func(*State){asked}, false},
		"an edit of before":               {[]func(*State){asked, edit(4)}, true},
		"an edit of before, in a gap":     {[]func(*State){asked, func(s *State) { s.PutSource(configMap("cm", "two", 4), inASnap) }}, true},
		"a label of before":               {[]func(*State){asked, func(s *State) { s.PutSource(configMap("cm", "one", 4), live) }}, false},
		"an edit of later":                {[]func(*State){asked, edit(6)}, false},
		"an edit that they were asked of": {[]func(*State){edit(4), asked}, false},
		"an edit of before, asked again":  {[]func(*State){asked, edit(4), asked}, false},
		"an edit of before, after an event of the workload": {[]func(*State){asked, func(s *State) {
			s.PutWorkload(web("cm", 6), live)
		}, edit(4)}, true},
		"an edit of before, after another template": {[]func(*State){asked, func(s *State) {
			s.PutWorkload(web("third", 6), live)
		}, edit(4)}, false},
		"an edit while they are asked": {[]func(*State){func(s *State) {
			f := ask(s)
			edit(4)(s)
			s.Compared(&f)
		}}, true},
		"an edit of later while they are asked": {[]func(*State){func(s *State) {
			f := ask(s)
			edit(6)(s)
			s.Compared(&f)
		}}, false},
		"the template is replaced while they are asked, and comes back": {[]func(*State){func(s *State) {
			f := ask(s)
			s.PutWorkload(web("other", 6), live)
			s.PutWorkload(web("cm", 7), live)
			s.Compared(&f)
		}}, true},
		"a deletion of before": {[]func(*State){asked, func(s *State) {
			s.DeleteSource(configMap("cm", "", 0).Key, reload.Departure{Version: 4})
		}}, true},
		"a deletion of later": {[]func(*State){asked, func(s *State) {
			s.DeleteSource(configMap("cm", "", 0).Key, reload.Departure{Version: 6})
		}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			s.PutSource(configMap("cm", "one", 1), live)
			s.PutWorkload(web("cm", 2), live)
			s.PutWorkload(web("other", 3), live)
			s.PutWorkload(web("cm", 5), live)
			for _, step := range tc.steps {
				step(s)
			}
			if f, _ := s.Facts(web("", 0).Key); f.Seen.TemplateReverted != tc.want {
				t.Errorf("its Pods may be of before: %t, want %t", f.Seen.TemplateReverted, tc.want)
			}
		})
	}
}
