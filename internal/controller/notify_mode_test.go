package controller

import (
	"errors"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/policy"
)

func notifying(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.lead()
	s.oldPods = true
	s.opts().Mode = policy.ModeNotify
	s.add("web", true, "")
	s.play(3 * time.Second)
	s.heard("adopted", "web Watching")
	return s
}

// outOfDate checks how many reloads there were, and how many workloads have Pods that are out of
// date.
func (s *stage) outOfDate(about string, reloads, workloads int) {
	s.Helper()
	if got := s.controller.HeldBy(gate.Notify); s.marked != reloads || got != workloads {
		s.Errorf("%s: %d reloads and %d out of date, want %d and %d", about, s.marked, got, reloads, workloads)
	}
}

const outOfDateText = "web OutOfDate: Pods of this Deployment use previous data of ConfigMap 'web', and Reroll only notifies (--mode). To replace the Pods: kubectl rollout restart deployment web --namespace shop. See"

func (s *stage) restartByUser() {
	s.Helper()
	s.server.Advance(time.Minute)
	s.change(func(d *appsv1.Deployment) {
		d.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": s.server.Now().String()}
	})
	s.oldPods = false
	s.play(5 * time.Minute) // after a restart, the controller waits for the rollout before it lists the Pods
}

func TestEachChangeIsNotifiedOnceUntilAUserRollsTheWorkload(t *testing.T) {
	s := notifying(t)
	s.editAndPlay("2")
	s.outOfDate("a change", 0, 1)
	s.heard("a change", outOfDateText)
	s.play(3 * time.Hour)
	s.heard("the same change")
	s = s.restarted()
	s.play(time.Hour)
	s.outOfDate("after a restart", 0, 1)
	s.heard("after a restart")
	s.editAndPlay("3")
	s.outOfDate("another change", 0, 1)
	s.heard("another change", outOfDateText)
	writes := s.patched
	s.restartByUser()
	s.outOfDate("the user has rolled it", 0, 0)
	if s.patched != writes+1 {
		s.Errorf("%d writes, want one that records the data", s.patched-writes)
	}
	s.opts().Mode = policy.ModeReload
	s = s.restarted()
	s.oldPods = false
	s.play(time.Hour)
	s.outOfDate("nothing is due any more", 0, 0)
	s.editAndPlay("4")
	s.outOfDate("a change in the other mode", 1, 0)
}

// A program writes the source every five seconds. A user is notified of the newest data, and the
// last change is not left out.
func TestASourceThatIsWrittenInALoopIsNotifiedOncePerMinute(t *testing.T) {
	s := notifying(t)
	writes := s.patched
	for i := range 60 {
		s.editAndPlay(strconv.Itoa(i + 2))
	}
	if n := len(s.says); n < 4 || n > 6 || s.alerts != n || s.patched-writes != n {
		t.Errorf("%d events, %d alerts and %d writes in five minutes", n, s.alerts, s.patched-writes)
	}
	s.says = nil
	s.play(notifyAgain)
	s.heard("after the last change", outOfDateText)
	s.play(time.Hour)
	s.heard("nothing changes any more")
	s.outOfDate("nothing changes any more", 0, 1)
	s.restartByUser()
	s.outOfDate("the user has rolled it", 0, 0)
}

func TestTheRolloutOfAUserEndsIt(t *testing.T) {
	s := notifying(t)
	s.editAndPlay("2")
	s.outOfDate("a change", 0, 1)
	s.restartByUser()
	s.outOfDate("the user has rolled it", 0, 0)
	if w, _ := s.known().Workload(named("web")); strings.Contains(w.LedgerText, "noted") {
		t.Errorf("the ledger has the note: %s", w.LedgerText)
	}
}

// The response to the write of the note is lost: the user is notified nevertheless, once.
func TestALostResponseLosesNoNotification(t *testing.T) {
	s := notifying(t)
	api := &lossy{stage: s, loses: true}
	s.sends(api)
	s.editAndPlay("2")
	s.heard("the response is lost")
	api.loses = false
	landed, err := s.server.Get("deployments", inShop("web"))
	if err != nil {
		t.Fatal(err)
	}
	s.deployments().arrives(landed)
	s.play(time.Hour)
	s.heard("the watch shows the note", outOfDateText)
	s.outOfDate("the watch shows the note", 0, 1)
}

func TestARefusedNoteIsWrittenLater(t *testing.T) {
	s := notifying(t)
	s.refuses = errors.New("not now")
	s.editAndPlay("2")
	s.heard("it is refused")
	s.refuses = nil
	s.play(time.Hour)
	s.heard("it is accepted", outOfDateText)
}

func TestTheMostSpecificModeCounts(t *testing.T) {
	notify, reload := map[string]string{annotations.Mode: "notify"}, map[string]string{annotations.Mode: "reload"}
	for about, tc := range map[string]struct {
		flag                          policy.Mode
		namespace, workload, template map[string]string
		by                            string
	}{
		"the flag":                             {flag: policy.ModeNotify, by: "--mode"},
		"the namespace":                        {namespace: notify, by: "reroll.dev/mode on the namespace"},
		"the namespace beats the flag":         {flag: policy.ModeNotify, namespace: reload},
		"the template":                         {template: notify, by: "reroll.dev/mode on the pod template"},
		"the template beats the namespace":     {namespace: notify, template: reload},
		"the workload":                         {workload: notify, by: "reroll.dev/mode on the workload"},
		"the workload beats all":               {flag: policy.ModeNotify, namespace: notify, template: notify, workload: reload},
		"an empty value counts as unset":       {namespace: notify, workload: map[string]string{annotations.Mode: ""}, by: "reroll.dev/mode on the namespace"},
		"an unknown value reloads nothing":     {workload: map[string]string{annotations.Mode: "Notify"}, by: "reroll.dev/mode on the workload cannot be read, so Reroll only notifies"},
		"an unknown value beats the namespace": {namespace: reload, workload: map[string]string{annotations.Mode: "x"}, by: "reroll.dev/mode on the workload cannot be read"},
	} {
		t.Run(about, func(t *testing.T) {
			s := newStage(t)
			s.lead()
			s.opts().Mode = tc.flag
			s.add("web", true, "")
			s.setNamespace(tc.namespace, true)
			s.change(func(d *appsv1.Deployment) {
				maps.Copy(d.Annotations, tc.workload)
				d.Spec.Template.Annotations = tc.template
			})
			s.play(3 * time.Second)
			s.says = nil
			s.editAndPlay("2")
			if tc.by == "" {
				s.outOfDate("a change", 1, 0)
				return
			}
			s.outOfDate("a change", 0, 1)
			if len(s.says) != 1 || !strings.Contains(s.says[0], tc.by) {
				t.Errorf("notified: %q, want %q", s.says, tc.by)
			}
		})
	}
}

// A change that was only notified stays due.
func TestAnotherModeReloadsWhatIsOutOfDate(t *testing.T) {
	s := notifying(t)
	s.editAndPlay("2")
	s.outOfDate("a change", 0, 1)
	s.setNamespace(map[string]string{annotations.Mode: "reload"}, true)
	s.play(5 * time.Second)
	s.outOfDate("the namespace has another mode", 1, 0)
	s.heard("the namespace has another mode", outOfDateText)
}

// The mode changes while the Pods are listed.
func TestAModeThatChangesMeanwhileCounts(t *testing.T) {
	s, revert := revertible(t, "")
	reloads := s.marked
	s.asking = func() { s.setNamespace(map[string]string{annotations.Mode: "notify"}, true) }
	revert()
	s.play(20 * time.Minute)
	s.outOfDate("the Pods were listed", reloads, 1)
}

// No other workload waits for one that only its user rolls.
func TestALaterWaveDoesNotWaitForAUser(t *testing.T) {
	s := newStage(t)
	s.lead()
	s.add("web", true, "")
	s.change(func(d *appsv1.Deployment) {
		d.Annotations[annotations.Wave], d.Annotations[annotations.Mode] = "-1", "notify"
	})
	d := webDeployment()
	d.Name = "later"
	made, err := s.server.Create(d, "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	s.deployments().arrives(made)
	s.play(5 * time.Second)
	s.editAndPlay("2")
	s.outOfDate("a change", 1, 1)
}
