package state

import (
	"testing"

	"github.com/reroll-dev/reroll/internal/reload"
)

func TestWorkloadsOfANamespaceThatIsSelectedAreNamedOnce(t *testing.T) {
	s := New(false)
	w := reload.Workload{Key: reload.WorkloadKey{Kind: "Deployment", Namespace: "shop", Name: "web"}, UID: "1"}
	s.PutWorkload(w, true)
	if s.Selected("shop") {
		t.Error("one that was never put is selected")
	}
	if got := s.SelectNamespace("elsewhere", true); len(got) != 0 {
		t.Errorf("of another: %v", got)
	}
	if got := s.SelectNamespace("shop", false); len(got) != 0 || s.Selected("shop") {
		t.Errorf("not selected: %v", got)
	}
	if got := s.SelectNamespace("shop", true); len(got) != 1 || got[0] != w.Key || !s.Selected("shop") {
		t.Errorf("selected: %v", got)
	}
	if got := s.SelectNamespace("shop", true); len(got) != 0 {
		t.Errorf("selected as before: %v", got)
	}
	if n, _ := s.Counts(true); n != 1 {
		t.Errorf("%d workloads counted", n)
	}
	s.KeepNamespaces(func(string) bool { return false })
	if s.Selected("shop") {
		t.Error("one that does not exist any more is selected")
	}
	if n, _ := s.Counts(true); n != 0 {
		t.Errorf("%d workloads counted where none is selected", n)
	}
	if n, _ := s.Counts(false); n != 1 {
		t.Errorf("%d of all workloads counted", n)
	}
}
