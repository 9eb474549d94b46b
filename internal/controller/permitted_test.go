package controller

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/internal/state"
)

// begin has the controller know what there is under another setting, as after a restart.
func (s *jobStage) begin(all bool) {
	s.Helper()
	s.opts().AutoReloadAll, s.controller.state = all, state.New(all)
	source, err := s.server.Get("configmaps", inShop("load"))
	if err != nil {
		s.Fatal(err)
	}
	s.configMaps().isListed(source)
	for _, o := range s.server.List("jobs") {
		s.jobHandler().isListed(o)
	}
}

// Selection and policy are asked before anything is deleted. What is deleted already is made again
// all the same.
func TestAJobIsOnlyDeletedWhereItIsSelectedAndOptedIn(t *testing.T) {
	selector := labels.SelectorFromSet(labels.Set{"team": "a"})
	optOut := func(s *jobStage) { s.begin(false) }
	unselect := func(s *jobStage) { s.opts().NamespaceSelector = selector }
	terminate := func(s *jobStage) { s.known().PutNamespace(namespace, true) }
	for about, tc := range map[string]struct {
		writes int
		change func(*jobStage)
		want   string
	}{
		"not opted in any more, before the note":         {1, optOut, "delete copy, patch load"},
		"not opted in any more, before it is deleted":    {2, optOut, "delete copy, patch load"},
		"not opted in any more, when it is deleted":      {3, optOut, "create load, patch load, delete copy, patch load, patch load"},
		"not selected any more, before the note":         {1, unselect, ""},
		"not selected any more, before it is deleted":    {2, unselect, ""},
		"not selected any more, when it is deleted":      {3, unselect, "create load, patch load, delete copy, patch load"},
		"a namespace that goes, before the note":         {1, terminate, ""},
		"a namespace that goes, before it is deleted":    {2, terminate, ""},
		"a namespace that goes, when it is deleted":      {3, terminate, ""},
		"nothing has changed":                            {2, func(*jobStage) {}, "delete load, create load, patch load, delete copy, patch load"},
		"not selected any more, when it is to be let go": {6, unselect, "patch load"},
	} {
		t.Run(about, func(t *testing.T) {
			s := newJobStage(t)
			s.begin(true)
			s.run("load", func(o *batchv1.Job) { o.Annotations = nil })
			s.writes = nil
			s.leadsWhile(func() bool { return len(s.writes) < tc.writes })
			s.edit("load", "2")
			s.play(time.Minute)
			s.leadsWhile(nil)
			s.writes = nil
			tc.change(s)
			s.play(time.Minute)
			if got := s.written(); got != tc.want {
				t.Errorf("written: %s; want %s", got, tc.want)
			}
		})
	}
}

// As soon as the namespace is selected, what was begun there goes on.
func TestAJobIsStillRecreatedWhenItsNamespaceIsSelected(t *testing.T) {
	s := newJobStage(t)
	s.run("load", unchanged)
	s.writes = nil
	s.leadsWhile(func() bool { return len(s.writes) < 2 })
	s.edit("load", "2")
	s.play(time.Minute)
	s.leadsWhile(nil)
	s.opts().NamespaceSelector = labels.SelectorFromSet(labels.Set{"team": "a"})
	s.play(time.Minute)
	if len(s.writes) != 2 {
		t.Fatalf("written: %v", s.writes)
	}
	s.controller.selectNamespace(&metav1.ObjectMeta{Name: namespace, Labels: map[string]string{"team": "a"}}, true)
	s.play(time.Minute)
	s.heard("made again", "load reloaded")
}
