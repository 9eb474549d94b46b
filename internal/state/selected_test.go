package state

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

func TestSelectingANamespaceReturnsItsWorkloadsOnce(t *testing.T) {
	s := New(false)
	w := workload.Workload{Key: workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"}, UID: "1"}
	s.PutWorkload(w, true)
	if s.Selected("shop") {
		t.Error("one that was never put is selected")
	}
	if got := s.SelectNamespace("elsewhere", 5, time.Unix(50, 0)); len(got) != 0 {
		t.Errorf("of another: %v", got)
	}
	s.DeselectNamespace("shop")
	if s.Selected("shop") {
		t.Error("not selected, and it counts as selected")
	}
	if got := s.SelectNamespace("shop", 7, time.Unix(70, 0)); len(got) != 1 || got[0] != w.Key || !s.Selected("shop") {
		t.Errorf("selected: %v", got)
	}
	if got := s.SelectNamespace("shop", 9, time.Unix(90, 0)); len(got) != 0 {
		t.Errorf("selected as before: %v", got)
	}
	if f, _ := s.Facts(w.Key); f.SelectedIn != 7 || f.Adopts() != 7 || !f.SelectedAt.Equal(time.Unix(70, 0)) {
		t.Errorf("its workloads ask for something since version %d and %v, want 7 and the time of then", f.SelectedIn, f.SelectedAt)
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

func TestAnUnselectedSourceConcernsNoWorkloadAndIsKept(t *testing.T) {
	unselected := func(content string, version int) source.Source {
		src := configMap("cm", content, version)
		src.Annotations.Unselected = true
		return src
	}
	s := New(false)
	s.PutWorkload(deployment("web", "cm", 1, auto, "true"), live)
	s.PutSource(configMap("cm", "one", 2), live)
	compare := func() {
		f, _ := s.Facts(workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"})
		s.Compared(&f)
	}
	compare()
	if got := s.PutSource(unselected("one", 3), live); len(got) != 1 {
		t.Errorf("the label that went names %v", got)
	}
	s.PutSource(unselected("two", 4), live)
	if got := concerned(s, "web"); len(got) != 0 {
		t.Errorf("it concerns somebody: %v", got)
	}
	if f, _ := s.Facts(workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"}); len(f.Unselected) != 1 {
		t.Errorf("that it exists is not known: %+v", f)
	}
	// The workload is compared meanwhile, with its other sources, and pods may be started with the
	// second content.
	compare()
	s.PutSource(unselected("one", 5), live)
	if got := s.PutSource(configMap("cm", "one", 6), live); len(got) != 1 {
		t.Errorf("the label that came back names %v", got)
	}
	f, _ := s.Facts(workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"})
	if len(f.Unselected) != 0 || len(f.Concerns) != 1 || f.Concerns[0].Away.Version != 4 {
		t.Errorf("when it left the content of the pods is not known: %+v", f.Concerns)
	}
}
