package controller

import (
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workqueue"
	"github.com/reroll-dev/reroll/test/simapi"
)

const staleMark = "0123456789abcdef01230123456789abcdef0123"

func TestThePodsOfAWorkloadThatWaitsToBeAdoptedAreListedOnce(t *testing.T) {
	s := newStage(t)
	const workloads = 300
	for i := range workloads {
		s.add(fmt.Sprintf("old-%d", i), false, staleMark)
	}
	s.play(time.Minute)
	if s.asked != workloads || s.patched != workloads {
		t.Errorf("%d times asked and %d times written for %d workloads", s.asked, s.patched, workloads)
	}
}

func TestAdoptionDelaysNoLiveChange(t *testing.T) {
	s := newStage(t)
	s.takes = 50 * time.Millisecond // as with --kube-api-qps=20
	s.add("web", true, "")
	s.play(3 * time.Second)
	for i := range 300 {
		s.add(fmt.Sprintf("old-%d", i), false, staleMark)
	}
	s.play(3 * time.Second)
	edited := s.clock.Now()
	s.edit("web", "2")
	s.play(5 * time.Second)
	if took := s.lastPatched["web"].Sub(edited); took < 0 || took > 2*time.Second {
		t.Errorf("the live change was written after %s, while %d waited to be adopted", took, s.controller.toBeAdopted())
	}
}

func TestARepeatedlyRevertedLedgerIsRestoredRarely(t *testing.T) {
	s := newStage(t)
	s.add("web", true, "")
	s.play(3 * time.Second)
	obj, err := s.server.Get("deployments", inShop("web"))
	if err != nil {
		t.Fatal(err)
	}
	kept := obj.GetAnnotations()[annotations.Ledger]
	// It comes to use a second source, which is noted and rolls nothing, so that the count of
	// reloads stays.
	s.add("two", true, "")
	s.change(func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].EnvFrom = append(d.Spec.Template.Spec.Containers[0].EnvFrom, corev1.EnvFromSource{
			ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "two"}},
		})
	})
	s.play(3 * time.Second)
	before := s.patched
	setBack := func(times int, every time.Duration) {
		for range times {
			s.change(func(d *appsv1.Deployment) { d.Annotations[annotations.Ledger] = kept })
			s.play(every)
		}
	}
	setBack(600, time.Second)
	if wrote := s.patched - before; wrote > 1 {
		t.Errorf("%d writes in ten minutes against somebody who sets the ledger back", wrote)
	}
	setBack(170, time.Minute)
	if wrote := s.patched - before; wrote < 3 || wrote > 4 {
		t.Errorf("%d writes in three hours: one in each is wanted", wrote)
	}
}

func TestARepeatedConflictIsRetriedAndReported(t *testing.T) {
	resource := schema.GroupResource{Resource: "deployments"}
	for about, refusal := range map[string]error{
		"as a conflict":      apierrors.NewConflict(resource, "web", errors.New("denied by a webhook")),
		"as if it were gone": apierrors.NewNotFound(resource, "web"),
	} {
		t.Run(about, func(t *testing.T) {
			s := newStage(t)
			s.add("web", true, "")
			s.play(3 * time.Second)
			s.refuses = refusal
			s.edit("web", "2")
			s.play(time.Hour)
			if s.failed == 0 || s.controller.Depth() != 1 {
				t.Fatalf("after an hour %d failures were told, and %d wait", s.failed, s.controller.Depth())
			}
			s.refuses = nil
			tried := s.patched
			s.play(workqueue.LastRetry)
			if s.patched != tried+1 || s.controller.Depth() != 0 {
				t.Errorf("when it is allowed: %d tries more, %d wait", s.patched-tried, s.controller.Depth())
			}
		})
	}
}

// afterAConflict returns a stage in which the reload of a Deployment has just met a conflict.
func afterAConflict(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.add("web", true, "")
	s.play(3 * time.Second)
	s.refuses = apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, "web", errors.New("another version"))
	s.edit("web", "2")
	s.play(1200 * time.Millisecond)
	s.refuses = nil
	return s
}

// After the write has succeeded, an event must not reconcile at once: changes since then wait for
// the settle period.
func TestAConflictDoesNotShortenTheSettlePeriod(t *testing.T) {
	s := afterAConflict(t)
	s.play(time.Second)
	tried := s.patched
	if s.marked != 2 {
		t.Fatalf("%d writes of the template were tried: a conflict and one more are wanted", s.marked)
	}
	s.edit("web", "3")
	written, err := s.server.Get("deployments", inShop("web"))
	if err != nil {
		t.Fatal(err)
	}
	s.deployments().arrives(written)
	s.play(900 * time.Millisecond)
	if s.patched != tried {
		t.Error("it was written before the quiet period was over")
	}
	s.play(200 * time.Millisecond)
	if s.patched != tried+1 {
		t.Errorf("%d writes after it, must be 1", s.patched-tried)
	}
}

// The watch shows the other write, so nothing has to wait until the next retry.
func TestAWorkloadIsReconciledWhenTheOtherWriteOfAConflictIsSeen(t *testing.T) {
	for of, answered := range map[string]bool{"another client": false, "ours, whose response is stored already": true} {
		t.Run(of, func(t *testing.T) {
			s := afterAConflict(t)
			tried := s.patched
			s.play(time.Nanosecond)
			if s.marked == 0 || s.patched != tried || s.controller.Depth() != 1 {
				t.Fatalf("%d writes of the template and %d further ones, and %d wait: a retry has to wait", s.marked, s.patched-tried, s.controller.Depth())
			}
			changed, err := s.server.Edit("deployments", inShop("web"), "argocd", func(obj simapi.Object) { obj.GetAnnotations()["team"] = "shop" })
			if err != nil {
				t.Fatal(err)
			}
			if answered {
				w, err := s.opts().Read(s.controller.kinds["Deployment"], changed)
				if err != nil {
					t.Fatal(err)
				}
				s.known().PutAnswer(w)
			}
			s.deployments().arrives(changed)
			s.play(time.Nanosecond)
			if s.patched != tried+1 {
				t.Errorf("%d writes when the event of the other write arrived, must be 1", s.patched-tried)
			}
		})
	}
}

func TestDeletedWorkloadsAreForgotten(t *testing.T) {
	s := newStage(t)
	s.opts().DryRun = true
	for i := range 100 {
		name := fmt.Sprintf("app-%d", i)
		s.add(name, true, "")
		s.play(2 * time.Second)
		s.edit(name, "2")
		s.play(2 * time.Second)
		s.deployments().departs(inShop(name), "")
		s.configMaps().departs(inShop(name), "")
	}
	s.isForgotten(100)
}

// Once put back, a ledger is left alone for an hour. A try that failed has put nothing back.
func TestALedgerThatCouldNotBePutBackIsTriedAgainSoon(t *testing.T) {
	s := newStage(t)
	s.add("web", true, "")
	s.play(time.Minute)
	take := func() {
		taken, err := s.server.Edit("deployments", inShop("web"), "kubectl", func(obj simapi.Object) {
			obj.SetAnnotations(map[string]string{annotations.DefaultNames().Auto: "true"})
		})
		if err != nil {
			t.Fatal(err)
		}
		s.deployments().arrives(taken)
	}
	standing := func() bool {
		obj, err := s.server.Get("deployments", inShop("web"))
		if err != nil {
			t.Fatal(err)
		}
		return obj.GetAnnotations()[annotations.Ledger] != ""
	}
	if !standing() {
		t.Fatal("it has no ledger to take away")
	}
	s.refuses = apierrors.NewInternalError(errors.New("not now"))
	take()
	s.play(10 * time.Second)
	if s.failed == 0 || standing() {
		t.Fatalf("%d tries have failed, a ledger stands there: %t", s.failed, standing())
	}
	s.refuses = nil
	if s.play(time.Minute); !standing() {
		t.Error("it is not put back a minute after that is possible")
	}
	take()
	if s.play(time.Minute); standing() {
		t.Error("it is put back twice within minutes")
	}
}
