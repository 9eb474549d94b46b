package controller

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Reconciled implements Report.
func (r stageReport) Reconciled(l Reconciliation) { r.stage.looks = append(r.stage.looks, l) }

// Queued implements Report.
func (r stageReport) Queued() { r.stage.queued++ }

// Waited implements Report.
func (r stageReport) Waited(late time.Duration) { r.stage.late = append(r.stage.late, late) }

// told are the reconciliations since the last call, in short.
func (s *stage) told() []string {
	var texts []string
	for _, l := range s.looks {
		texts = append(texts, fmt.Sprintf("%s %s scanned=%t matched=%t skipped=%q %s", l.Kind, l.Result, l.Scanned, l.Matched, l.Skipped, l.Took))
	}
	s.looks = nil
	return texts
}

func TestEachReconciliationIsCounted(t *testing.T) {
	s := newStage(t)
	s.lead()
	s.takes = 20 * time.Millisecond
	says := func(about string, want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, s.told()); diff != "" {
			t.Errorf("%s: %s", about, diff)
		}
	}
	s.add("web", true, "")
	s.play(3 * time.Second)
	says("adopted, which is one write", `Deployment success scanned=true matched=false skipped="unchanged" 20ms`)
	s.edit("web", "2")
	s.play(3 * time.Second)
	says("rolled", `Deployment success scanned=true matched=true skipped="" 20ms`)

	s.opts().DryRun = true
	s.edit("web", "3")
	s.play(3 * time.Second)
	says("a dry run", `Deployment success scanned=true matched=true skipped="dry_run" 0s`)
	s.opts().DryRun = false

	s.refuses = errors.New("no")
	s.edit("web", "4")
	s.play(1200 * time.Millisecond)
	says("refused", `Deployment error scanned=true matched=true skipped="" 20ms`)
	s.refuses = apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, "web", errors.New("newer"))
	s.play(500 * time.Millisecond)
	says("somebody was first", `Deployment requeued scanned=true matched=true skipped="" 20ms`)

	s.deployments().departs(inShop("web"), "")
	s.play(time.Minute)
	says("gone while it waited", `Deployment success scanned=false matched=false skipped="gone" 0s`)
}

func TestWhatWaitsIsCountedOnceAndHandedOutWhenItIsDue(t *testing.T) {
	s := newStage(t)
	s.takes = 3 * time.Second
	for i := range 4 {
		s.add(fmt.Sprintf("app-%d", i), true, "")
	}
	s.play(time.Minute)
	s.queued, s.late = 0, nil
	for i := range 4 {
		for n := range 5 {
			s.edit(fmt.Sprintf("app-%d", i), fmt.Sprint("more ", n))
		}
	}
	s.play(time.Minute)
	// One is written after the other here, for three seconds each.
	if diff := cmp.Diff([]time.Duration{0, s.takes, 2 * s.takes, 3 * s.takes}, s.late); diff != "" || s.queued != 4 {
		t.Errorf("%d came to wait, want 4; how late they were looked at: %s", s.queued, diff)
	}
}
