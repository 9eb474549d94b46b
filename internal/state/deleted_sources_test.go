package state

import (
	"fmt"
	"testing"

	"github.com/reroll-dev/reroll/internal/reload"
)

func (s *State) comeAndGo(name string, version int) {
	src := configMap(name, "one", version)
	s.PutSource(src, live)
	s.DeleteSource(src.Key, reload.Departure{Version: uint64(version) + 1})
}

func TestAnUnusedDeletedSourceIsForgotten(t *testing.T) {
	s := New(false)
	s.PutWorkload(deployment("web", "", 1, byName, "app-.*"), live)
	s.comeAndGo("build-1", 2)
	if len(s.gone) != 0 {
		t.Error("it is kept, and the expression of the only workload does not fit it")
	}
	s.comeAndGo("app-1", 4)
	if len(s.gone) != 1 {
		t.Error("one that fits is not kept")
	}
	s.PutWorkload(deployment("web", "", 6, byName, "build-.*"), live)
	if len(s.gone) != 0 {
		t.Error("it stays in memory when the expression is another one")
	}
}

// Somebody may make and delete sources of ever other names for years.
func TestDeletedSourcesMatchingAnExpressionAreBounded(t *testing.T) {
	s := New(false)
	s.PutWorkload(deployment("web", "", 1, byName, "app-.*"), live)
	last := 0
	for n := range 3 * mostGone {
		last = 2*n + 2
		s.comeAndGo(fmt.Sprintf("app-%d", n), last)
		if len(s.gone) > mostGone {
			t.Fatalf("%d are kept after %d", len(s.gone), n+1)
		}
	}
	if len(s.gone) < mostGone/2 {
		t.Errorf("%d are left, want the latest %d at least", len(s.gone), mostGone/2)
	}
	for key, gone := range s.gone {
		if gone.departure.Version+uint64(2*mostGone) < uint64(last) {
			t.Fatalf("%s is kept, which went long before the others", key)
		}
	}
}
