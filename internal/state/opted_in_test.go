package state

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

func TestAWorkloadAsksSinceItWasFirstSeenToAsk(t *testing.T) {
	// The owner of its annotations has written another field, which moves the one time of all its
	// fields.
	s := New(false)
	asks := func(version int, second int64, entries string) workload.Workload {
		w := deployment("web", "cm", version, byName, entries)
		w.OptedInAt = time.Unix(second, 0)
		return w
	}
	s.PutWorkload(asks(5, 50, "cm"), live)
	s.PutWorkload(asks(6, 60, "cm"), live)
	if f, _ := s.Facts(asks(0, 0, "cm").Key); !f.Workload.OptedInAt.Equal(time.Unix(50, 0)) {
		t.Errorf("it has asked since %s, want %s", f.Workload.OptedInAt, time.Unix(50, 0))
	}
	s.PutWorkload(asks(7, 70, "cm,other"), live)
	f, _ := s.Facts(asks(0, 0, "cm").Key)
	if !f.Workload.OptedInAt.Equal(time.Unix(70, 0)) {
		t.Errorf("it has asked for more since %s, want %s", f.Workload.OptedInAt, time.Unix(70, 0))
	}
	if steps := f.Seen.Widened; len(steps) != 1 || !steps[0].OptedInAt.Equal(time.Unix(50, 0)) {
		t.Errorf("it asked for more once, and for the rest since %s, got %+v", time.Unix(50, 0), steps)
	}
}
