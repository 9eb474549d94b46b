package controller

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/ledger"
)

// The ledger of a reload records the marks of the template in the same write. Otherwise each reload
// would look like one whose marks another client has removed.
func TestTheLedgerOfAReloadHasItsMarks(t *testing.T) {
	s := newStage(t)
	s.add("web", true, "")
	s.play(time.Minute)
	s.edit("web", "2")
	s.play(time.Minute)
	w, _ := s.known().Workload(named("web"))
	known, err := ledger.Parse(w.LedgerText)
	if err != nil || known.Counter != 1 || known.Marks.IsZero() || known.Marks != w.Marks.DigestAfter(known.Step) {
		t.Errorf("the ledger is %+v, %v; want the marks %s", known, err, w.Marks.DigestAfter(known.Step))
	}
}
