package controller

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/metainfo"
	"github.com/reroll-dev/reroll/internal/workload"
)

// elsewhere is the ConfigMap of another installation.
func elsewhere(instance string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "platform", Name: metainfo.Name, Labels: map[string]string{"reloader.stakater.com/meta-info": "reloader"},
		Annotations: map[string]string{"reroll.dev/instance": instance, annotations.DefaultNames().Ignore: "true"},
	}}
}

// adoptedElsewhere gives the ledger of web another key.
func (s *stage) adoptedElsewhere(instance string) {
	s.Helper()
	s.change(func(d *appsv1.Deployment) {
		w, _ := s.known().Workload(named("web"))
		known, err := workload.ReadLedger(d.Annotations[annotations.Ledger], &w)
		if err != nil {
			s.Fatal(err)
		}
		known.Instance, known.Writes = instance, known.Writes+1
		d.Annotations[annotations.Ledger] = known.String()
	})
}

func TestAnotherInstallation(t *testing.T) {
	for about, tc := range map[string]struct {
		happens func(*stage)
		waits   bool
	}{
		"watches the same namespace": {func(s *stage) { s.configMaps().arrives(elsewhere("key-0")) }, true},
		"was uninstalled with its ConfigMap": {func(s *stage) {
			s.configMaps().arrives(elsewhere("key-0"))
			s.configMaps().departs(types.NamespacedName{Namespace: "platform", Name: metainfo.Name}, "9999")
		}, false},
		"was uninstalled while the watch was broken": {func(s *stage) {
			s.configMaps().arrives(elsewhere("key-0"))
			s.configMaps().hasOnly(map[types.NamespacedName]struct{}{inShop("web"): {}})
		}, false},
		"is not known":                                  {func(*stage) {}, false},
		"has a ConfigMap without its key":               {func(s *stage) { s.configMaps().arrives(elsewhere("")) }, false},
		"is what somebody calls this one":               {func(s *stage) { s.configMaps().arrives(elsewhere(s.controller.Instance())) }, false},
		"is this one as it was before its key was lost": {func(s *stage) { s.opts().Namespace = "platform"; s.configMaps().arrives(elsewhere("key-0")) }, false},
	} {
		t.Run(about, func(t *testing.T) {
			s := newStage(t)
			s.add("web", true, "")
			s.play(time.Minute)
			s.adoptedElsewhere("key-0")
			tc.happens(s)
			s.play(time.Minute)
			s.edit("web", "2")
			s.play(rolloutMayTake - time.Second)
			want := 1
			if tc.waits {
				want = 0
			}
			if s.marked != want {
				t.Errorf("after nearly %s it was marked %d times, want %d", rolloutMayTake, s.marked, want)
			}
			s.play(time.Minute)
			if s.marked != 1 {
				t.Errorf("in the end it was marked %d times, want once", s.marked)
			}
			patched := s.patched
			s.edit("web", "3")
			s.play(2 * settleTime)
			if s.marked != 2 || s.patched != patched+1 {
				t.Errorf("a change after it took the workload over was marked %d times with %d writes", s.marked-1, s.patched-patched)
			}
		})
	}
}

// What another installation rolls, this one does not roll again, and it does not fight for the
// ledger.
func TestTheOtherInstallationReloads(t *testing.T) {
	s := newStage(t)
	s.add("web", true, "")
	s.play(time.Minute)
	s.configMaps().arrives(elsewhere("key-0"))
	s.adoptedElsewhere("key-0")
	s.play(time.Minute)
	patched := s.patched
	s.edit("web", "2")
	s.play(10 * time.Second)
	s.change(func(d *appsv1.Deployment) {
		w, _ := s.known().Workload(named("web"))
		facts, _ := s.known().Facts(named("web"))
		known, err := workload.ReadLedger(d.Annotations[annotations.Ledger], &w)
		if err != nil {
			t.Fatal(err)
		}
		known.Counter++
		for _, c := range facts.Concerns {
			known.Entries[c.Source.Key.Local()] = c.Source.Digest
		}
		d.Annotations[annotations.Ledger] = known.String()
		d.Spec.Template.Annotations = map[string]string{"reroll.dev/rolled": "by the other"}
	})
	s.play(time.Hour)
	if s.patched != patched {
		t.Errorf("it wrote %d times", s.patched-patched)
	}
	if got := s.looks[len(s.looks)-1].Skipped; got != SkippedOther {
		t.Errorf("its latest reconciliation counts as %q", got)
	}
}

// Neither watches the namespace of the other, so both roll the workload. Each says so once.
func TestAnUnknownInstallationIsReportedOnTheWorkload(t *testing.T) {
	s := newStage(t)
	s.lead()
	s.add("web", true, "")
	s.play(time.Minute)
	s.says = nil
	for range 2 {
		s.adoptedElsewhere("key-0")
		s.play(2 * time.Hour)
	}
	s.heard("the ledger was taken over twice", "web OtherController: Another installation of Reroll & two-installations")
	if got := s.marked; got != 0 {
		t.Errorf("it was marked %d times", got)
	}
}
