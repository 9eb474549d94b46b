package controller

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/test/simapi"
)

func TestAJobIsRecreatedInSevenWrites(t *testing.T) {
	s := newJobStage(t)
	s.run("load", unchanged)
	s.writes = nil
	s.edit("load", "2")
	s.play(time.Minute)
	if want := "create copy, patch copy, delete load, create load, patch load, delete copy, patch load"; s.written() != want {
		t.Errorf("written: %s", s.written())
	}
	s.heard("made again", "load reloaded")
}

// Another instance may have the lease between any two steps.
func TestWhoLosesTheLeaseStopsBetweenTwoSteps(t *testing.T) {
	s := newJobStage(t)
	s.run("load", unchanged)
	s.writes = nil
	s.leadsWhile(func() bool { return len(s.writes) < 3 })
	s.edit("load", "2")
	s.play(time.Minute)
	if len(s.writes) != 3 || len(s.failures) != 0 {
		t.Errorf("without the lease it wrote on: %s; %v", strings.Join(s.writes, ", "), s.failures)
	}
	s.leadsWhile(nil)
	s.play(time.Minute)
	if len(s.writes) != 7 || !slices.Equal(s.jobNames(), []string{"load"}) {
		t.Errorf("with it again: %s", strings.Join(s.writes, ", "))
	}
}

// Such a snapshot does not show yet when the Pods of the Job started.
func TestASnapshotOfARecreatedJobFromBeforeItRanIsStale(t *testing.T) {
	s := newJobStage(t)
	s.run("load", unchanged)
	s.writes = nil
	s.leadsWhile(func() bool { return len(s.writes) < 6 })
	s.edit("load", "2")
	s.play(time.Minute)
	before, err := s.server.Get("jobs", inShop("load"))
	if err != nil {
		t.Fatal(err)
	}
	s.leadsWhile(nil)
	s.play(time.Minute)
	s.jobHandler().isListed(before)
	if w, known := s.known().Workload(jobKey(namespace, "load")); len(s.writes) != 7 || !known || !s.controller.isStale(&w) {
		t.Errorf("known %t, and current, after %s", known, s.written())
	}
}

func TestACopyWithAForeignFinalizerIsAnError(t *testing.T) {
	s := newJobStage(t)
	s.run("load", unchanged)
	s.writes = nil
	s.leadsWhile(func() bool { return len(s.writes) < 1 })
	s.edit("load", "2")
	s.play(time.Minute)
	kept, err := s.server.Edit("jobs", inShop(s.jobNames()[1]), "kubectl", func(o simapi.Object) {
		now := metav1.NewTime(s.server.Now())
		o.SetDeletionTimestamp(&now)
		o.SetFinalizers([]string{"example.com/billing"})
	})
	if err != nil {
		t.Fatal(err)
	}
	s.jobHandler().arrives(kept)
	s.leadsWhile(nil)
	s.play(time.Minute)
	if len(s.failures) < 3 || len(s.failures) > 12 || !strings.Contains(s.failures[0], "an earlier Job of that name is being deleted, and waits for its finalizers: example.com/billing") {
		t.Errorf("%d failures in a minute: %v", len(s.failures), s.failures)
	}
	if err := s.server.Delete("jobs", inShop(kept.GetName())); err != nil {
		t.Fatal(err)
	}
	s.jobHandler().departs(inShop(kept.GetName()), "")
	s.play(5 * time.Minute)
	s.heard("when it has gone", "load reloaded")
}

// It was created by a write that came late, when another one had run, or its copy was removed.
// Nothing shows which.
func TestAJobThatStaysSuspendedIsReportedOnce(t *testing.T) {
	// Opted in: a ledger that is written for it alone would let it go.
	held := map[string]string{"reroll.dev/held": "true", "reroll.dev/ledger": `{"v":1,"uid":"another"}`, "reloader.stakater.com/auto": "true"}
	yes := true
	s := newJobStage(t)
	held["reroll.dev/signed"] = s.installation().Key.Sign("held", namespace, "late", "", held["reroll.dev/ledger"])
	s.run("late", func(o *batchv1.Job) { o.Annotations, o.Spec.Suspend = held, &yes })
	s.heard("one that is held", "late StaysHeld: may have run already")
	late, err := s.server.Edit("jobs", inShop("late"), "kubectl", func(o simapi.Object) { o.SetLabels(map[string]string{"more": "x"}) })
	if err != nil {
		t.Fatal(err)
	}
	s.jobHandler().arrives(late)
	s.jobHandler().hasOnly(map[types.NamespacedName]struct{}{inShop("late"): {}})
	s.edit("load", "2")
	s.play(time.Minute)
	s.heard("once more")
	if len(s.writes) != 0 {
		t.Errorf("written: %s", strings.Join(s.writes, ", "))
	}
	delete(held, "reloader.stakater.com/auto")
	s.run("runs", func(o *batchv1.Job) { o.Annotations = held })
	s.run("goes", func(o *batchv1.Job) {
		now := metav1.NewTime(s.server.Now())
		o.Annotations, o.Spec.Suspend, o.DeletionTimestamp = held, &yes, &now
	})
	s.heard("one that runs, and one that goes")
	begun, err := s.server.Edit("jobs", inShop("late"), "kubectl", func(o simapi.Object) {
		delete(o.GetAnnotations(), "reroll.dev/held")
		o.(*batchv1.Job).Spec.Suspend = nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s.jobHandler().arrives(begun)
	s.play(time.Minute)
	if len(s.writes) == 0 {
		t.Error("it is not decided on when its user has let it run")
	}
	if s.kept() != (kept{}) {
		t.Errorf("%+v are kept", s.kept())
	}
}

func TestAnUnreadableCopyIsNoWorkloadAndReportedOnce(t *testing.T) {
	s := newJobStage(t)
	s.opts().AutoReloadAll = true
	s.leadsWhile(func() bool { return false })
	broken := func(o *batchv1.Job) { o.Annotations["reroll.dev/replaces"] = "{" }
	s.run("copy", broken)
	s.heard("who does not lead says nothing")
	s.leadsWhile(nil)
	s.play(time.Minute)
	s.heard("a broken one", "copy UnreadableCopy: unexpected end of JSON input")
	again := func(text string) {
		t.Helper()
		o, err := s.server.Edit("jobs", inShop("copy"), "kubectl", func(o simapi.Object) {
			o.SetAnnotations(map[string]string{"reloader.stakater.com/auto": "true", "more": s.clock.Now().String()})
			if text != "" {
				o.GetAnnotations()["reroll.dev/replaces"] = text
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		s.jobHandler().arrives(o)
		s.play(time.Minute)
	}
	again("{")
	s.edit("load", "2")
	s.play(time.Minute)
	s.heard("once more")
	if len(s.writes) != 0 {
		t.Errorf("written: %s", strings.Join(s.writes, ", "))
	}
	if _, ok := s.known().Workload(jobKey(namespace, "copy")); ok {
		t.Error("it is a workload")
	}
	again("") // then it is one of its user's
	if _, ok := s.known().Workload(jobKey(namespace, "copy")); !ok || len(s.controller.jobs.stuck) != 0 {
		t.Errorf("it is no workload, or odd: %v", s.controller.jobs.stuck)
	}
	again("[]")
	if _, ok := s.known().Workload(jobKey(namespace, "copy")); ok {
		t.Error("it is a workload still")
	}
	s.jobHandler().hasOnly(nil)
	if s.kept() != (kept{}) {
		t.Errorf("%+v are kept", s.kept())
	}
}
