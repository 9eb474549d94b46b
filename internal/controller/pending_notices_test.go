package controller

import (
	"maps"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workload"
)

// begins has the stage act, as Run does when the lease is held.
func (s *stage) begins() {
	s.lead()
	s.controller.pending.emitAll()
}

// A user who applies a workload while the controller waits for the lease gets the same notices.
func TestMistakesWrittenBeforeLeadershipAreReportedByTheLeader(t *testing.T) {
	misspelt := map[string]string{"reloader.stakater.com/mach": "true"}
	change := func(s *stage, annotations map[string]string) {
		s.change(func(d *appsv1.Deployment) { maps.Copy(d.Annotations, annotations) })
	}
	for about, tc := range map[string]struct {
		before func(s *stage)
		want   []string
	}{
		"a workload is opted in":    {func(s *stage) { s.add("web", true, "") }, []string{"web Watching"}},
		"it was there at the start": {func(s *stage) { s.add("web", false, "") }, nil},
		"it is opted in, and wrong": {func(s *stage) {
			s.add("web", true, "")
			change(s, map[string]string{"reloader.stakater.com/aut": "true"})
		}, []string{"web AnnotationIgnored: reloader.stakater.com/aut", "web Watching"}},
		"what was there is edited twice": {func(s *stage) {
			s.add("web", false, "")
			change(s, map[string]string{"reloader.stakater.com/aut": "true"})
			change(s, map[string]string{"more": "x"})
		}, []string{"web AnnotationIgnored: reloader.stakater.com/aut"}},
		"it is put right": {func(s *stage) {
			s.add("web", false, "")
			change(s, map[string]string{"reloader.stakater.com/aut": "true"})
			s.change(func(d *appsv1.Deployment) { delete(d.Annotations, "reloader.stakater.com/aut") })
		}, nil},
		"a source is annotated": {func(s *stage) {
			s.add("web", false, "")
			s.annotateSource(true, misspelt)
			s.annotateSource(true, misspelt)
		}, []string{"web AnnotationIgnored: reloader.stakater.com/mach"}},
		"they are gone": {func(s *stage) {
			s.add("web", true, "")
			change(s, map[string]string{"reloader.stakater.com/aut": "true"})
			s.annotateSource(true, misspelt)
			s.deployments().departs(inShop("web"), "")
			s.configMaps().departs(inShop("web"), "")
		}, nil},
		"they went while the watch was broken": {func(s *stage) {
			s.add("web", true, "")
			change(s, map[string]string{"reloader.stakater.com/aut": "true"})
			s.annotateSource(true, misspelt)
			s.deployments().hasOnly(map[types.NamespacedName]struct{}{})
			s.configMaps().hasOnly(map[types.NamespacedName]struct{}{})
		}, nil},
		"another instance acts, and has told it": {func(s *stage) {
			s.add("web", true, "")
			change(s, map[string]string{"reloader.stakater.com/aut": "true"})
			s.annotateSource(true, misspelt)
			s.clock.Step(s.opts().Settle)
			s.loses()
		}, nil},
		"another instance acts, and does not look at it yet": {func(s *stage) {
			s.add("web", true, "")
			s.clock.Step(s.opts().Settle - 1)
			s.loses()
		}, []string{"web Watching"}},
		"another instance has acted before": {func(s *stage) {
			s.add("web", false, "")
			s.loses()
			s.annotateSource(true, misspelt)
		}, []string{"web AnnotationIgnored: reloader.stakater.com/mach"}},
	} {
		t.Run(about, func(t *testing.T) {
			s := newStage(t)
			tc.before(s)
			s.heard("before")
			s.begins()
			s.play(time.Minute)
			s.heard("when it acts", tc.want...)
			s.controller.pending.emitAll()
			s.loses() // which is over
			s.play(time.Minute)
			s.heard("later")
			if len(s.controller.pending.of)+s.controller.newcomers() != 0 {
				t.Errorf("%d and %d are kept", len(s.controller.pending.of), s.controller.newcomers())
			}
		})
	}
}

// A workload that gets spec.workloadRef is forgotten as a workload, and its mistakes are still
// reported.
func TestNoticesSurviveForgettingTheWorkload(t *testing.T) {
	s := newStage(t)
	key := workload.Key{Kind: "Deployment", Namespace: namespace, Name: "web"}
	s.controller.notifyMistakes(subject{workload: key}, "u", []annotations.Mistake{{Annotation: "a"}}, nil, func([]annotations.Mistake) { s.says = append(s.says, "told") })
	s.controller.forget(key)
	s.begins()
	s.heard("when it acts", "told")
}
