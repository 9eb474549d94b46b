package controller

import (
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/state"
)

// flapping is a stage with a workload that was reloaded as often as its limit of three reloads in
// half an hour allows.
func flapping(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.lead()
	s.opts().Churn = policy.Limit{Reloads: 3, Within: 30 * time.Minute}
	s.add("web", true, "")
	s.play(3 * time.Second)
	for i := range 3 {
		s.editAndPlay(strconv.Itoa(i + 2))
	}
	if s.marked != 3 {
		t.Fatalf("%d reloads, want 3", s.marked)
	}
	s.heard("as many reloads as the limit allows", "web Watching")
	return s
}

func (s *stage) editAndPlay(value string) {
	s.Helper()
	s.server.Advance(5 * time.Second)
	s.edit("web", value)
	s.play(5 * time.Second)
}

func (s *stage) holds(about string, want int) {
	s.Helper()
	if got := s.controller.HeldBy(gate.Churn); got != want {
		s.Errorf("%s: %d workloads are held, want %d", about, got, want)
	}
}

func TestAWorkloadThatIsReloadedTooOftenWaitsAndGetsTheNewestDataOnce(t *testing.T) {
	s := flapping(t)
	s.editAndPlay("5")
	s.heard("the first change too many", "web ReloadHeld: The next reload waits until 2026-03-01T12:10: & 3/30m (--churn) & ConfigMap 'web' changed in 3 of the last 3 reloads, last written by 'kubectl' & reroll.dev/churn")
	s.holds("the first change too many", 1)
	patched, asked := s.patched, s.asked
	for i := range 20 {
		s.editAndPlay(strconv.Itoa(i + 10))
	}
	s.heard("further changes")
	if s.marked != 3 || s.patched != patched || s.asked != asked {
		t.Errorf("%d reloads, %d further writes and %d lists of Pods while the gate was closed", s.marked, s.patched-patched, s.asked-asked)
	}
	s.play(10 * time.Minute)
	s.holds("the gate opened", 0)
	if s.marked != 4 {
		t.Errorf("%d reloads, want a fourth one when the gate opens", s.marked)
	}
	s.play(time.Hour)
	if s.marked != 4 {
		t.Errorf("%d reloads, though nothing changed any more", s.marked)
	}
}

// A Pod may start while the reload waits. It has data that is gone when the gate opens, and only
// the ledger shows that after a restart.
func TestWhatWaitsAndIsSetBackIsNotTakenForUnchanged(t *testing.T) {
	for about, restart := range map[string]bool{"the same controller": false, "another one": true} {
		t.Run(about, func(t *testing.T) {
			s := flapping(t)
			s.editAndPlay("5")
			s.holds("a change too many", 1)
			s.editAndPlay("4") // nearly all Pods have it
			if restart {
				s = s.restarted()
			}
			marked := s.marked
			s.play(time.Hour)
			s.holds("later", 0)
			if s.marked != marked+1 {
				t.Errorf("%d reloads when the gate opened, want 1", s.marked-marked)
			}
		})
	}
}

// The Pods are listed to decide that, and they are not up to date because they were listed.
func TestARevertedTemplateWhoseReloadWaitsIsRolledLater(t *testing.T) {
	s := newStage(t)
	s.lead()
	s.opts().Churn = policy.Limit{Reloads: 1, Within: 2 * time.Hour}
	s.oldPods = true
	s.add("web", true, "")
	s.play(3 * time.Second)
	var before corev1.PodTemplateSpec
	s.change(func(d *appsv1.Deployment) { before = *d.Spec.Template.DeepCopy() })
	s.editAndPlay("2")
	s.change(func(d *appsv1.Deployment) { d.Spec.Template = before })
	s.play(time.Hour)
	s.holds("the template was reverted", 1)
	if s.marked != 1 {
		t.Errorf("%d reloads before the gate opened, want 1", s.marked)
	}
	s.play(2 * time.Hour)
	s.holds("later", 0)
	if s.marked < 2 {
		t.Errorf("%d reloads, want another one when the gate opens", s.marked)
	}
}

func TestALedgerThatIsRemovedWhileAReloadWaitsIsWrittenBack(t *testing.T) {
	s := flapping(t)
	s.editAndPlay("5")
	s.holds("a change too many", 1)
	s.change(func(d *appsv1.Deployment) { delete(d.Annotations, annotations.Ledger) })
	s.play(5 * time.Second)
	s = s.restarted()
	s.play(5 * time.Second)
	s.holds("after a restart", 1)
	if s.marked != 0 {
		t.Errorf("%d reloads before the gate opened", s.marked)
	}
}

// Reloads of a workload that an earlier one has paused are part of one rollout.
func TestReloadsDuringAPauseCountOnce(t *testing.T) {
	s := newStage(t)
	s.lead()
	s.opts().Churn = policy.Limit{Reloads: 3, Within: 30 * time.Minute}
	s.add("web", true, "")
	s.change(func(d *appsv1.Deployment) { d.Annotations[annotations.DefaultNames().PausePeriod] = "2m" })
	s.play(5 * time.Second)
	for i := range 8 {
		s.editAndPlay(strconv.Itoa(i + 2))
	}
	s.holds("eight changes in a pause", 0)
	if s.marked != 8 {
		t.Errorf("%d reloads, want 8", s.marked)
	}
}

func TestALoopIsReportedOnceAnHour(t *testing.T) {
	s := flapping(t)
	s.says = nil
	reported := 0
	for i := range 3 * 60 {
		s.server.Advance(time.Minute)
		s.edit("web", strconv.Itoa(i+100))
		s.play(time.Minute)
	}
	for _, text := range s.says {
		if says("web ReloadHeld", text) {
			reported++
		}
	}
	if reported != 3 && reported != 4 {
		t.Errorf("reported %d times in three hours", reported)
	}
	if s.marked < 3+17 || s.marked > 3+19 {
		t.Errorf("%d reloads in three hours, want one every ten minutes", s.marked-3)
	}
}

// restarted is another controller in the same cluster, where Pods from before all changes run. It
// knows nothing else.
func (s *stage) restarted() *stage {
	s.Helper()
	next := newStage(s.T)
	next.server, *next.opts(), next.oldPods, next.events = s.server, *s.opts(), true, s.events
	next.controller.state = state.New(s.opts().AutoReloadAll)
	next.known().CountKeys(s.opts().Keys)
	next.clock.SetTime(s.clock.Now())
	next.lead()
	for _, put := range []struct {
		resource string
		to       *handler
	}{{"configmaps", next.configMaps()}, {"secrets", next.secrets()}, {"deployments", next.deployments()}} {
		obj, err := next.server.Get(put.resource, inShop("web"))
		if apierrors.IsNotFound(err) {
			continue // it has no source of that kind
		}
		if err != nil {
			s.Fatal(err)
		}
		put.to.isListed(obj)
	}
	return next
}

func TestARestartDoesNotOpenTheGate(t *testing.T) {
	s := flapping(t).restarted()
	s.editAndPlay("5")
	s.holds("a change too many after a restart", 1)
	s.heard("the reloads are not known any more", "web ReloadHeld: ConfigMap 'web' changed again, last written by 'kubectl'")
	if s.marked != 0 {
		t.Errorf("%d reloads", s.marked)
	}
}

func TestAnotherLimitCountsAtOnce(t *testing.T) {
	raised := func(s *stage) {
		s.change(func(d *appsv1.Deployment) { d.Annotations[annotations.Churn] = "60/1h" })
	}
	namespaceRaised := func(s *stage) {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Annotations: map[string]string{annotations.Churn: "off"}}}
		s.showsNamespace(ns, true)
	}
	for about, change := range map[string]func(*stage){"on the workload": raised, "on its namespace": namespaceRaised} {
		t.Run(about, func(t *testing.T) {
			s := flapping(t)
			s.editAndPlay("5")
			s.holds("a change too many", 1)
			change(s)
			s.play(5 * time.Second)
			s.holds("the limit was raised", 0)
			if s.marked != 4 {
				t.Errorf("%d reloads, want a fourth one at once", s.marked)
			}
		})
	}
}

func TestAWrongLimitOfANamespaceIsReportedOnceAndSetsNothing(t *testing.T) {
	s := flapping(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Annotations: map[string]string{annotations.Churn: "often"}}}
	s.showsNamespace(ns, true)
	s.showsNamespace(ns, true)
	s.heard("not a limit", `shop AnnotationIgnored: annotation reroll.dev/churn has "often": has no effect; write a number of reloads and a time`)
	s.editAndPlay("5")
	s.holds("the flag counts", 1)
}

// A Job that writes what it reads is recreated with each reload, under another UID each time.
func TestTheLimitCountsForAJobThatIsRecreatedEachTime(t *testing.T) {
	s := newJobStage(t)
	s.opts().Churn = policy.Limit{Reloads: 2, Within: 20 * time.Minute}
	s.run("load", unchanged)
	seen := map[types.UID]bool{s.jobNamed("load").UID: true}
	for i := range 10 {
		s.server.Advance(30 * time.Second)
		s.edit("load", strconv.Itoa(i+2))
		s.play(30 * time.Second)
		seen[s.jobNamed("load").UID] = true
	}
	s.holds("ten changes in five minutes", 1)
	if len(seen) != 3 {
		t.Errorf("the Job was recreated %d times, want 2", len(seen)-1)
	}
	s.server.Advance(10 * time.Minute)
	s.play(10 * time.Minute)
	s.holds("later", 0)
	if seen[s.jobNamed("load").UID] {
		t.Error("the newest data has caused no Job")
	}
}
