package state

import (
	"testing"

	"github.com/reroll-dev/reroll/internal/reload"
)

// Without pages, nobody ever takes these changes.
func TestChangesAreRecordedOnlyIfSomebodyAsks(t *testing.T) {
	s := New(false)
	happen := func(version int) {
		s.PutWorkload(deployment("web", "cm", version, auto, "true"), live)
		src := configMap("cm", "one", version+1)
		s.PutSource(src, live)
		s.DeleteSource(src.Key, reload.Departure{Version: uint64(version) + 2})
		s.DeleteWorkload(webKey())
	}
	happen(1)
	if s.changed != nil || s.TakeChanges() != nil {
		t.Errorf("recorded are %v", s.changed)
	}
	s.TrackChanges()
	happen(4)
	if taken := s.TakeChanges(); len(taken) != 1 || taken[0] != webKey() {
		t.Errorf("taken are %v", taken)
	}
}
