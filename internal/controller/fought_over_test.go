package controller

import (
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// Somebody takes away what the controller writes, within seconds and for hours, and its pods never
// get younger. One change is one write for each way to mark, and a ledger is put back once an hour.
func TestMarksThatAreRemovedForHours(t *testing.T) {
	const (
		hours   = 12
		takes   = 10 * time.Second
		changes = 4
	)
	for about, what := range map[string]taken{
		"the marks": {marks: true}, "the ledger": {ledger: true}, "the marks and the ledger": {marks: true, ledger: true},
	} {
		t.Run(about, func(t *testing.T) {
			s := newStage(t)
			s.oldPods = true
			s.add("web", true, "")
			s.play(time.Minute)
			for change := range changes {
				marked, patched := s.marked, s.patched
				s.server.Advance(time.Minute)
				s.edit("web", strconv.Itoa(change+2))
				for hour := range hours / changes {
					before := s.patched - s.marked
					for range int(time.Hour / takes) {
						s.play(takes)
						s.server.Advance(takes)
						s.takeAway(what)
					}
					if ledgers := s.patched - s.marked - before; ledgers > 2 {
						t.Errorf("in hour %d of change %d there were %d writes beside marks, two an hour are the most", hour+1, change+1, ledgers)
					}
				}
				// The first change finds out which mark does not stay.
				want := 1
				if change == 0 && what.marks {
					want = 2
				}
				marks, all := s.marked-marked, s.patched-patched
				if marks != want {
					t.Errorf("change %d was marked %d times, want %d", change+1, marks, want)
				}
				if !what.ledger && all != marks || !what.marks && all == marks {
					t.Errorf("in the %d hours of change %d there were %d writes beside %d marks", hours/changes, change+1, all-marks, marks)
				}
			}
		})
	}
}

// A ledger was put back within the hour, so it is not put back now. What changes while that is
// decided does not wait for it.
func TestAChangeDoesNotWaitForALedgerToBePutBack(t *testing.T) {
	s := newStage(t)
	s.add("web", true, "")
	s.play(time.Minute)
	s.takeAway(taken{ledger: true})
	s.play(time.Minute)
	patched := s.patched
	s.takeAway(taken{ledger: true})
	s.edit("web", "2")
	s.edit("web", "1") // whether pods have the other one, they are asked
	s.asking = func() { s.edit("web", "3") }
	s.play(settleTime + settleTime/2)
	if s.asking != nil || s.patched != patched {
		t.Fatalf("the pods were not asked, or %d writes were made: this shows nothing", s.patched-patched)
	}
	s.play(settleTime)
	if s.marked != 1 {
		t.Errorf("marked %d times after the quiet period, want once", s.marked)
	}
}

// taken is what somebody takes away.
type taken struct{ marks, ledger bool }

// takeAway does it if there is anything.
func (s *stage) takeAway(what taken) {
	s.Helper()
	obj, err := s.server.Get("deployments", inShop("web"))
	if err != nil {
		s.Fatal(err)
	}
	template := &obj.(*appsv1.Deployment).Spec.Template
	marked := len(template.Spec.Containers[0].Env) > 0 || len(template.Annotations) > 0
	noted := obj.GetAnnotations()[annotations.Ledger] != ""
	if there := what.marks && marked || what.ledger && noted; !there {
		return
	}
	s.change(func(d *appsv1.Deployment) {
		if what.marks {
			d.Spec.Template.Spec.Containers[0].Env, d.Spec.Template.Annotations = nil, nil
		}
		if what.ledger {
			delete(d.Annotations, annotations.Ledger)
		}
	})
}
