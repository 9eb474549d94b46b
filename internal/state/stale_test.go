package state

import (
	"testing"

	"github.com/reroll-dev/reroll/internal/workload"
)

func TestASnapshotOlderThanOurLatestWrite(t *testing.T) {
	web := func(version int) workload.Workload { return deployment("web", "cm", version, auto, "true") }
	for about, tc := range map[string]struct {
		puts func(s *State)
		want bool
	}{
		"nothing came since":          {func(*State) {}, false},
		"it came":                     {func(s *State) { s.PutWorkload(web(6), inASnap) }, true},
		"the watch went on from it":   {func(s *State) { s.PutWorkload(web(6), inASnap); s.PutWorkload(web(7), live) }, false},
		"it is behind a later change": {func(s *State) { s.PutWorkload(web(8), live); s.PutWorkload(web(6), inASnap) }, true},
		"but not behind our write":    {func(s *State) { s.PutWorkload(web(9), live); s.PutWorkload(web(8), inASnap) }, false},
		"the API server was set back": {func(s *State) { s.PutWorkload(web(6), inASnap); s.ResetStale(web(0).Key) }, false},
		"it was set back before our next": {func(s *State) {
			s.PutWorkload(web(3), inASnap)
			s.ResetStale(web(0).Key)
			s.PutAnswer(web(4))
			s.PutWorkload(web(3), inASnap)
		}, true},
		"it was made again":                {func(s *State) { again := web(6); again.UID = "another"; s.PutWorkload(again, inASnap) }, false},
		"a write without its other fields": {func(s *State) { s.Answered(web(0).Key, web(0).UID, "9"); s.PutWorkload(web(8), live) }, true},
		"that write came":                  {func(s *State) { s.Answered(web(0).Key, web(0).UID, "9"); s.PutWorkload(web(9), live) }, false},
		"it was of an earlier object":      {func(s *State) { s.Answered(web(0).Key, "another", "9"); s.PutWorkload(web(8), live) }, false},
		"it was before that answer":        {func(s *State) { s.Answered(web(0).Key, web(0).UID, "5"); s.PutWorkload(web(6), inASnap) }, true},
		"it is gone":                       {func(s *State) { s.DeleteWorkload(web(0).Key); s.PutWorkload(web(6), inASnap) }, false},
	} {
		t.Run(about, func(t *testing.T) {
			s := New(false)
			s.PutWorkload(web(6), live)
			s.PutAnswer(web(7))
			tc.puts(s)
			if w, _ := s.Workload(web(0).Key); s.IsStale(&w) != tc.want {
				t.Errorf("version %s is behind: %t", w.ResourceVersion, !tc.want)
			}
		})
	}
}
