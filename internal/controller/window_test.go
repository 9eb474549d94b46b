package controller

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/test/simapi"
)

// A stage begins on Sunday, 2026-03-01, at 12:00 UTC.
const evening = "allow 22:00-23:00 Europe/Berlin"

func withWindow(t *testing.T, text string) *stage {
	t.Helper()
	s := newStage(t)
	s.lead()
	s.opts().Window = text
	s.add("web", true, "")
	s.play(3 * time.Second)
	s.heard("adopted", "web Watching")
	return s
}

// rolled checks how many reloads there were, and how many workloads wait for their window.
func (s *stage) rolled(about string, reloads, wait int) {
	s.Helper()
	if got := s.controller.HeldBy(gate.Window); s.marked != reloads || got != wait {
		s.Errorf("%s: %d reloads and %d that wait, want %d and %d", about, s.marked, got, reloads, wait)
	}
}

func (s *stage) annotateWeb(key, value string) {
	s.Helper()
	changed, err := s.server.Edit("configmaps", inShop("web"), "kubectl", func(obj simapi.Object) {
		obj.(*corev1.ConfigMap).Annotations = map[string]string{key: value}
	})
	if err != nil {
		s.Fatal(err)
	}
	s.configMaps().arrives(changed)
}

func (s *stage) annotateNamespace(values map[string]string) {
	s.showsNamespace(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Annotations: values}}, true)
}

func TestWhatWaitsStartsWhenItsWindowOpensAndNothingStartsWhenItCloses(t *testing.T) {
	s := withWindow(t, evening)
	s.editAndPlay("2")
	s.rolled("a change at noon", 0, 1)
	s.heard("a change at noon", "web ReloadHeld: The reload for ConfigMap 'web' waits until 2026-03-01T22:00:00+01:00 (Europe/Berlin), here 2026-03-01T21:00:00Z, because its window is closed: allow 22:00-23:00 Europe/Berlin (--window). The newest data is rolled then. See")
	patched, asked := s.patched, s.asked
	for _, value := range []string{"3", "4", "5"} {
		s.editAndPlay(value)
	}
	s.heard("further changes")
	s.play(time.Date(2026, 3, 1, 20, 59, 50, 0, time.UTC).Sub(s.clock.Now()))
	s.rolled("ten seconds before", 0, 1)
	if s.patched != patched || s.asked != asked {
		t.Errorf("%d writes and %d lists of Pods while the window was closed", s.patched-patched, s.asked-asked)
	}
	s.play(15 * time.Second)
	s.rolled("it opened", 1, 0)
	s.editAndPlay("6")
	s.rolled("a change while it is open", 2, 0)
	s.play(time.Hour)
	s.editAndPlay("7")
	s.rolled("a change after it closed", 2, 1)
	s.play(24 * time.Hour)
	s.rolled("the next day", 3, 0)
}

func TestWhatWaitsStartsWhenADeniedTimeEnds(t *testing.T) {
	s := withWindow(t, "deny 2026-02-20/2026-03-03 UTC")
	s.editAndPlay("2")
	s.play(time.Date(2026, 3, 3, 23, 59, 50, 0, time.UTC).Sub(s.clock.Now()))
	s.rolled("ten seconds before", 0, 1)
	s.play(15 * time.Second)
	s.rolled("the first day that is not denied", 1, 0)
}

func TestARestartDoesNotOpenAWindow(t *testing.T) {
	s := withWindow(t, evening)
	s.editAndPlay("2")
	s.rolled("a change at noon", 0, 1)
	s.editAndPlay("1") // nearly all Pods have it
	s = s.restarted()
	s.play(time.Hour)
	s.rolled("after a restart", 0, 1)
	s.play(9 * time.Hour)
	s.rolled("it opened", 1, 0)
}

func TestAnotherWindowCountsAtOnce(t *testing.T) {
	const always = "allow 00:00-24:00 UTC"
	for about, change := range map[string]func(s *stage, text string){
		"on the workload": func(s *stage, text string) {
			s.change(func(d *appsv1.Deployment) { d.Annotations[annotations.Window] = text })
		},
		"on its namespace": func(s *stage, text string) { s.annotateNamespace(map[string]string{annotations.Window: text}) },
		"on the source":    func(s *stage, text string) { s.annotateWeb(annotations.Window, text) },
	} {
		t.Run(about, func(t *testing.T) {
			s := withWindow(t, "")
			change(s, evening)
			s.play(5 * time.Second)
			s.editAndPlay("2")
			s.rolled("closed", 0, 1)
			change(s, always)
			s.play(5 * time.Second)
			s.rolled("opened", 1, 0)
		})
	}
}

func TestAnUrgentSourcePassesAWindow(t *testing.T) {
	s := withWindow(t, evening)
	s.editAndPlay("2")
	s.rolled("a change at noon", 0, 1)
	s.annotateWeb(annotations.Urgent, "true")
	s.play(5 * time.Second)
	s.rolled("it is urgent", 1, 0)
}

func TestABadWindowIsReportedAndHoldsOneWorkload(t *testing.T) {
	s := newStage(t)
	s.lead()
	s.add("web", true, "")
	s.add("other", true, "")
	s.play(3 * time.Second)
	s.says = nil
	s.change(func(d *appsv1.Deployment) { d.Annotations[annotations.Window] = "allow 22:00-04:00" })
	s.play(5 * time.Second)
	s.heard("a bad window", `web AnnotationIgnored: annotation reroll.dev/window has "allow 22:00-04:00": cannot be read, so no reload starts: & the time zone is missing`)
	s.edit("other", "2")
	s.editAndPlay("2")
	s.rolled("both changed", 1, 1)
	s.heard("the reload waits", "web ReloadHeld: The reload for ConfigMap 'web' waits, because reroll.dev/window on the workload cannot be read")
	s.change(func(d *appsv1.Deployment) { delete(d.Annotations, annotations.Window) })
	s.play(5 * time.Second)
	s.rolled("removed", 2, 0)
}

// An opening that is too far away is not known, and comes nevertheless.
func TestAWindowInYearsIsReached(t *testing.T) {
	s := withWindow(t, "allow 2028-03-01 UTC")
	s.editAndPlay("2")
	s.rolled("two years before", 0, 1)
	s.clock.SetTime(time.Date(2028, 2, 29, 23, 30, 0, 0, time.UTC))
	s.play(29 * time.Minute)
	s.rolled("a minute before", 0, 1)
	s.play(2 * time.Minute)
	s.rolled("it opened", 1, 0)
}

// A window delays a workload, and with it those of later waves, unless it cannot be read.
func TestALaterWaveWaitsForAWorkloadWhoseWindowIsClosed(t *testing.T) {
	for about, tc := range map[string]struct {
		window string
		want   int
	}{"closed": {evening, 0}, "bad": {"evening", 1}} {
		t.Run(about, func(t *testing.T) {
			s := newStage(t)
			s.lead()
			s.add("web", true, "")
			s.change(func(d *appsv1.Deployment) {
				d.Annotations[annotations.Wave], d.Annotations[annotations.Window] = "-1", tc.window
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
			if s.marked != tc.want {
				t.Errorf("%d reloads, want %d: %s", s.marked, tc.want, strings.Join(s.says, "\n"))
			}
		})
	}
}

// Listing the Pods takes a while, and the window closes meanwhile.
func TestAWindowThatClosesWhilePodsAreListedIsClosed(t *testing.T) {
	s, revert := revertible(t, "allow 12:00-12:30 UTC")
	s.asking = func() { s.clock.SetTime(time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC)) }
	revert()
	s.play(20 * time.Minute)
	s.rolled("the Pods were listed", 1, 1)
}

// A window may be shorter than the time for which Reroll waits for a rollout that may bring the
// data.
func TestAReloadHasAwaitedItsRolloutWhenAShortWindowOpens(t *testing.T) {
	s, revert := revertible(t, `allow "*/3 * * * *" 1m UTC`)
	reloads := s.marked
	revert()
	s.change(func(d *appsv1.Deployment) { d.Status.UpdatedReplicas = 0 })
	s.play(time.Hour)
	if s.marked == reloads {
		t.Error("it is never reloaded")
	}
}

// revertible is a stage with a workload that was reloaded once, and whose Pods are old. The
// function reverts its template.
func revertible(t *testing.T, text string) (*stage, func()) {
	t.Helper()
	s := withWindow(t, text)
	s.oldPods = true
	var before corev1.PodTemplateSpec
	s.change(func(d *appsv1.Deployment) { before = *d.Spec.Template.DeepCopy() })
	s.editAndPlay("2")
	s.rolled("a change", 1, 0)
	return s, func() { s.change(func(d *appsv1.Deployment) { d.Spec.Template = before }) }
}
