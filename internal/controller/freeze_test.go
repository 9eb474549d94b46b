package controller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/metainfo"
)

// freezer implements Freezes in memory.
type freezer struct {
	text  string
	fails []error
	asked int
}

// Namespace implements Freezes.
func (f *freezer) Namespace() string { return "reroll" }

// Frozen implements Freezes.
func (f *freezer) Frozen(context.Context) (string, error) {
	f.asked++
	if len(f.fails) > 0 {
		err := f.fails[0]
		f.fails = f.fails[1:]
		return "", err
	}
	return f.text, nil
}

// A stage begins at 12:00.
const anHour = `{"until":"2026-03-01T13:00:00Z","by":"alice","reason":"incident 4711"}`

func withFreezes(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.lead()
	s.opts().Freezes = &freezer{}
	s.add("web", true, "")
	s.play(3 * time.Second)
	s.heard("adopted", "web Watching")
	return s
}

// freezeAll writes the annotation for all namespaces, as the watch shows it.
func (s *stage) freezeAll(text string) {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "reroll", Name: metainfo.Name, ResourceVersion: "7"}}
	if text != "" {
		cm.Annotations = map[string]string{annotations.Freeze: text}
	}
	s.configMaps().arrives(cm)
}

// frozen checks how many reloads there were, and how many workloads wait for the end of a freeze.
func (s *stage) frozen(about string, reloads, wait int) {
	s.Helper()
	if got := s.controller.HeldBy(gate.Freeze); s.marked != reloads || got != wait {
		s.Errorf("%s: %d reloads and %d that wait, want %d and %d", about, s.marked, got, reloads, wait)
	}
}

func TestNothingIsRolledUntilAFreezeEnds(t *testing.T) {
	for about, freeze := range map[string]func(s *stage, text string){
		"of all namespaces": (*stage).freezeAll,
		"of its namespace":  func(s *stage, text string) { s.annotateNamespace(map[string]string{annotations.Freeze: text}) },
	} {
		t.Run(about, func(t *testing.T) {
			s := withFreezes(t)
			freeze(s, anHour)
			s.editAndPlay("2")
			s.frozen("a change", 0, 1)
			s.heard("a change", "web ReloadHeld: The reload for ConfigMap 'web' waits until 2026-03-01T13:00:00Z, because reloads are frozen by alice: incident 4711 (reroll.dev/freeze on & The newest data is rolled then & freeze-reloads.md")
			patched := s.patched
			s.editAndPlay("3")
			s.heard("another change")
			s.play(50 * time.Minute)
			s.frozen("just before its end", 0, 1)
			if s.patched != patched {
				t.Errorf("%d writes during the freeze", s.patched-patched)
			}
			s.play(10 * time.Minute)
			s.frozen("its end", 1, 0)

			freeze(s, `{"until":"2026-03-02T12:00:00Z"}`)
			s.editAndPlay("4")
			s.frozen("another freeze", 1, 1)
			freeze(s, "")
			s.play(5 * time.Second)
			s.frozen("a user ends it", 2, 0)
		})
	}
}

func TestARestartDoesNotEndAFreeze(t *testing.T) {
	s := withFreezes(t)
	s.annotateNamespace(map[string]string{annotations.Freeze: anHour})
	s.editAndPlay("2")
	s.editAndPlay("1") // as it was before, but a Pod may have started with the other data
	s = s.restarted()
	s.annotateNamespace(map[string]string{annotations.Freeze: anHour})
	s.play(30 * time.Minute)
	s.frozen("after a restart", 0, 1)
	s.play(time.Hour)
	s.frozen("its end", 1, 0)
}

func TestAFreezeOfAnotherNamespaceHoldsNothingHere(t *testing.T) {
	s := withFreezes(t)
	s.showsNamespace(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "other", Annotations: map[string]string{annotations.Freeze: anHour}}}, true)
	for _, namespace := range []string{"other", namespace} {
		s.configMaps().arrives(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: metainfo.Name, ResourceVersion: "7", Annotations: map[string]string{annotations.Freeze: anHour},
		}})
	}
	s.editAndPlay("2")
	s.frozen("a change", 1, 0)
}

func TestABadFreezeHoldsItsNamespaceUntilItIsCorrected(t *testing.T) {
	s := withFreezes(t)
	s.annotateNamespace(map[string]string{annotations.Freeze: "soon"})
	if len(s.says) != 1 || !strings.Contains(s.says[0], `AnnotationIgnored: annotation reroll.dev/freeze has "soon": cannot be read, so no reload starts`) {
		t.Errorf("told is %q", s.says)
	}
	s.says = nil
	s.editAndPlay("2")
	s.frozen("a change", 0, 1)
	s.heard("a change", "web ReloadHeld: The reload for ConfigMap 'web' waits, because reroll.dev/freeze on the namespace cannot be read")
	s.play(24 * time.Hour)
	s.frozen("a day later", 0, 1)
	s.annotateNamespace(nil)
	s.play(5 * time.Second)
	s.frozen("removed", 1, 0)
}

func TestTheFreezeOfADeletedConfigMapHasEnded(t *testing.T) {
	s := withFreezes(t)
	s.freezeAll(anHour)
	s.editAndPlay("2")
	s.frozen("a change", 0, 1)
	s.configMaps().departs(types.NamespacedName{Namespace: "reroll", Name: metainfo.Name}, "9")
	s.play(5 * time.Second)
	s.frozen("deleted", 1, 0)
}

func TestAnUrgentChangePassesAFreeze(t *testing.T) {
	s := withFreezes(t)
	s.freezeAll(anHour)
	s.editAndPlay("2")
	s.frozen("a change", 0, 1)
	s.annotateWeb(annotations.Urgent, "true")
	s.play(5 * time.Second)
	s.frozen("it is urgent", 1, 0)
}

// Listing the Pods takes a while, and a user freezes reloads meanwhile.
func TestAFreezeThatComesWhilePodsAreListedCounts(t *testing.T) {
	for about, freeze := range map[string]func(s *stage){
		"of all namespaces": func(s *stage) { s.freezeAll(`{"until":"2026-03-02T12:00:00Z"}`) },
		"of its namespace": func(s *stage) {
			s.annotateNamespace(map[string]string{annotations.Freeze: `{"until":"2026-03-02T12:00:00Z"}`})
		},
	} {
		t.Run(about, func(t *testing.T) {
			s, revert := revertible(t, "")
			s.opts().Freezes = &freezer{}
			s.asking = func() { freeze(s) }
			revert()
			s.play(20 * time.Minute)
			s.frozen("the Pods were listed", 1, 1)
		})
	}
}

// A pause is part of a reload that started before. It would hold what users roll themselves, too.
func TestAPauseEndsInAFreezeAndLaterChangesWait(t *testing.T) {
	s := withFreezes(t)
	s.change(func(d *appsv1.Deployment) { d.Annotations["deployment.reloader.stakater.com/pause-period"] = "5m" })
	s.play(5 * time.Second)
	s.editAndPlay("2")
	s.frozen("a reload that pauses", 1, 0)
	s.freezeAll(`{"until":"2026-03-02T12:00:00Z"}`)
	s.editAndPlay("3")
	s.frozen("a change during the pause", 1, 1)
	s.play(10 * time.Minute)
	obj, err := s.server.Get("deployments", inShop("web"))
	if err != nil {
		t.Fatal(err)
	}
	if obj.(*appsv1.Deployment).Spec.Paused {
		t.Error("it is paused in the freeze")
	}
	s.frozen("after the pause", 1, 1)
}

// If only some namespaces are watched, the ConfigMap may be in another one. Then it is read again
// and again, and before the first reload.
func TestAFreezeIsReadWhereNoWatchShowsIt(t *testing.T) {
	s := newStage(t)
	f := &freezer{text: anHour, fails: []error{errors.New("no answer"), errors.New("no answer")}}
	s.opts().Freezes, s.opts().Namespaces = f, []string{namespace}
	if !s.controller.asksFreeze() {
		t.Fatal("it is not read")
	}
	learned := make(chan struct{})
	go func() {
		s.controller.learnFreeze(t.Context())
		close(learned)
	}()
	for i := range 2 {
		for !s.clock.HasWaiters() {
			select {
			case <-learned:
				t.Fatalf("it gave up after try %d", i+1)
			case <-time.After(time.Millisecond):
			}
		}
		s.clock.Step(freezeRetry)
	}
	<-learned
	if s.controller.frozenAll() != anHour || f.asked != 3 {
		t.Errorf("after %d tries: %q", f.asked, s.controller.frozenAll())
	}
	f.fails = []error{errors.New("no answer")}
	if s.controller.askFreeze(t.Context()) == nil || s.controller.frozenAll() != anHour {
		t.Error("a failure ends a freeze")
	}
	f.text = ""
	if s.controller.askFreeze(t.Context()) != nil || s.controller.frozenAll() != "" {
		t.Error("a user cannot end it")
	}
	f.fails = []error{apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, metainfo.Name, nil)}
	s.controller.learnFreeze(t.Context()) // it returns
	for about, namespaces := range map[string][]string{"all": nil, "its own": {"reroll"}} {
		if s.opts().Namespaces = namespaces; s.controller.asksFreeze() {
			t.Errorf("it is read although %s is watched", about)
		}
	}
}
