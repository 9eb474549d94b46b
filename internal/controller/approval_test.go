package controller

import (
	"regexp"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/test/simapi"
)

func withApproval(t *testing.T, all bool) *stage {
	t.Helper()
	s := newStage(t)
	s.lead()
	s.opts().Approval = all
	s.add("web", true, "")
	s.play(3 * time.Second)
	s.heard("adopted", "web Watching")
	return s
}

// unapproved checks how many reloads there were, and how many workloads wait for approval.
func (s *stage) unapproved(about string, reloads, wait int) {
	s.Helper()
	if got := s.controller.HeldBy(gate.Approval); s.marked != reloads || got != wait {
		s.Errorf("%s: %d reloads and %d that wait, want %d and %d", about, s.marked, got, reloads, wait)
	}
}

// request returns what the latest request names, and its digest.
func (s *stage) request() (ref, digest string) {
	s.Helper()
	if len(s.says) == 0 {
		s.Fatal("nothing is requested")
	}
	found := regexp.MustCompile(`^web ApprovalRequested: The reload waits for approval of .*\. To approve it: reroll approve -n shop (\S+) --digest=([0-9a-f]{32})\. See `).FindStringSubmatch(s.says[len(s.says)-1])
	if found == nil {
		s.Fatalf("said is %q", s.says)
	}
	s.says = nil
	return found[1], found[2]
}

// approve writes a consent on the ConfigMap, and what the ConfigMap requires.
func (s *stage) approve(values map[string]string) {
	s.Helper()
	changed, err := s.server.Edit("configmaps", inShop("web"), "reroll-approve", func(obj simapi.Object) {
		obj.(*corev1.ConfigMap).Annotations = values
	})
	if err != nil {
		s.Fatal(err)
	}
	s.configMaps().arrives(changed)
	s.play(5 * time.Second)
}

func TestNothingIsRolledUntilAUserApprovesIt(t *testing.T) {
	s := withApproval(t, true)
	s.editAndPlay("2")
	s.unapproved("a change", 0, 1)
	ref, digest := s.request()
	if ref != "configmap/web" {
		t.Errorf("the request is about %s", ref)
	}
	patched := s.patched
	s.play(24 * time.Hour)
	s.unapproved("a day later", 0, 1)
	s.heard("a day later")
	if s.alerts != 1 {
		t.Errorf("%d alerts", s.alerts)
	}
	if s.patched != patched {
		t.Errorf("%d writes while it waits", s.patched-patched)
	}
	s.approve(map[string]string{annotations.Approved: strings.Repeat("0", 32)})
	s.unapproved("another digest", 0, 1)
	s.heard("another digest")
	s.approve(map[string]string{annotations.Approved: digest})
	s.unapproved("its digest", 1, 0)

	s.says = nil
	s.editAndPlay("3")
	s.unapproved("other data", 1, 1)
	_, other := s.request()
	if other == digest {
		t.Error("the request has the digest of the former data")
	}
	s.approve(map[string]string{annotations.Approved: other})
	s.unapproved("approved", 2, 0)
}

// A user who rejects the data restarts the workload without it, or with it.
func TestTheRolloutOfAUserEndsARequest(t *testing.T) {
	s := withApproval(t, true)
	s.editAndPlay("2")
	s.unapproved("a change", 0, 1)
	s.restartByUser()
	s.unapproved("the user has rolled it", 0, 0)
}

func TestConsentToDataThatHasChangedSinceStartsNothing(t *testing.T) {
	s := withApproval(t, true)
	s.editAndPlay("2")
	_, digest := s.request()
	s.editAndPlay("3")
	s.heard("another change within a minute")
	s.approve(map[string]string{annotations.Approved: digest})
	s.unapproved("consent to the former data", 0, 1)
	s.play(time.Minute)
	_, digest = s.request()
	s.play(50 * time.Minute)
	s.heard("within an hour")
	s.approve(map[string]string{annotations.Approved: digest})
	s.unapproved("consent to the present data", 1, 0)
}

func TestConsentOnAWorkloadIsForThatWorkloadAlone(t *testing.T) {
	s := withApproval(t, false)
	s.change(func(d *appsv1.Deployment) { d.Annotations[annotations.Approval] = annotations.Required })
	s.play(3 * time.Second)
	s.editAndPlay("2")
	ref, digest := s.request()
	if ref != "deployment/web" {
		t.Errorf("the request is about %s", ref)
	}
	s.change(func(d *appsv1.Deployment) { d.Annotations[annotations.Approved] = digest })
	s.play(5 * time.Second)
	s.unapproved("approved", 1, 0)
	s.says = nil
	s.editAndPlay("3")
	s.unapproved("other data", 1, 1)
	s.request()
}

func TestWhatNoLongerRequiresApprovalStarts(t *testing.T) {
	for about, set := range map[string]func(s *stage, text string){
		"on the workload": func(s *stage, text string) {
			s.change(func(d *appsv1.Deployment) { d.Annotations[annotations.Approval] = text })
		},
		"on its namespace": func(s *stage, text string) { s.annotateNamespace(map[string]string{annotations.Approval: text}) },
		"on the source":    func(s *stage, text string) { s.annotateWeb(annotations.Approval, text) },
	} {
		t.Run(about, func(t *testing.T) {
			s := withApproval(t, false)
			set(s, annotations.Required)
			s.play(5 * time.Second)
			s.unapproved("switched on", 0, 0)
			s.editAndPlay("2")
			s.unapproved("a change", 0, 1)
			s.request()
			set(s, "")
			s.play(5 * time.Second)
			s.unapproved("switched off", 1, 0)
		})
	}
}

func TestAnInvalidApprovalIsReportedAndClosed(t *testing.T) {
	s := withApproval(t, false)
	s.annotateWeb(annotations.Approval, "yes")
	if len(s.says) != 1 || !strings.Contains(s.says[0], `AnnotationIgnored: annotation reroll.dev/approval has "yes": counts as "required"; write "required", or remove the annotation`) {
		t.Errorf("said is %q", s.says)
	}
	s.says = nil
	s.editAndPlay("2")
	s.unapproved("a change", 0, 1)
	s.request()
}

// A restart neither starts a reload nor repeats a request whose event exists.
func TestARestartDoesNotApproveAndDoesNotAskAgain(t *testing.T) {
	s := withApproval(t, true)
	s.editAndPlay("2")
	_, digest := s.request()
	s = s.restarted()
	s.play(time.Hour)
	s.unapproved("after a restart", 0, 1)
	s.heard("after a restart")
	s = s.restarted()
	s.play(time.Minute)
	if _, again := s.request(); again != digest || s.alerts != 1 {
		t.Errorf("a restart after the event has expired: the digest is %s, was %s, and %d alerts", again, digest, s.alerts)
	}
	s.approve(map[string]string{annotations.Approved: digest})
	s.unapproved("approved", 1, 0)
	s = s.restarted()
	s.play(time.Hour)
	s.unapproved("after another restart", 0, 0)
}

func TestAnApprovedReloadWaitsForItsWindow(t *testing.T) {
	s := withApproval(t, true)
	s.opts().Window = evening
	s.editAndPlay("2")
	s.unapproved("a change at noon", 0, 1)
	_, digest := s.request()
	s.approve(map[string]string{annotations.Approved: digest})
	s.rolled("approved", 0, 1)
	s.play(10 * time.Hour)
	s.rolled("it opened", 1, 0)
}

// What a namespace requires is read again before a reload starts, because listing Pods may take
// long.
func TestAnApprovalThatIsRequiredWhilePodsAreListedCounts(t *testing.T) {
	s, revert := revertible(t, "")
	s.asking = func() { s.annotateNamespace(map[string]string{annotations.Approval: annotations.Required}) }
	revert()
	s.play(20 * time.Minute)
	s.unapproved("the Pods were listed", 1, 1)
}
