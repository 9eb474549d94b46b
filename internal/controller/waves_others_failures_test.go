package controller

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// alsoUses makes a ConfigMap, own, and a Deployment that uses it beside ca.
func (s *waveStage) alsoUses(name string, ofOwn map[string]string) {
	s.Helper()
	src, err := s.server.Create(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "own", Annotations: ofOwn}, Data: map[string]string{"v": "1"},
	}, "kubectl")
	if err != nil {
		s.Fatal(err)
	}
	s.configMaps().arrives(src)
	s.edited(name, func(d *appsv1.Deployment) {
		d.Generation++
		app := &d.Spec.Template.Spec.Containers[0]
		app.EnvFrom = append(app.EnvFrom, corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "own"}}})
	})
	s.roll(name, true)
	s.play(time.Minute)
}

// unstopped fails the test if failures stop a source.
func (s *waveStage) unstopped(about string) {
	s.Helper()
	if n := s.controller.StoppedSources(); n != 0 {
		s.Errorf("%s: %d sources are stopped", about, n)
	}
}

// A Deployment is created with the present data, and its image does not exist.
func TestAWorkloadThatWasNeverReloadedStopsNoWaves(t *testing.T) {
	s := inWaves(t, nil, "0", "1")
	s.change("2")
	s.want("the canary", "w0")
	s.create("new", "0")
	s.play(5 * time.Second)
	s.roll("new", false)
	s.play(8 * time.Minute)
	s.unstopped("the new one has failed")
	s.roll("w0", true)
	s.want("the canary is done", "w0 w1")
}

func TestADoneWorkloadThatAUserBreaksStopsNoWaves(t *testing.T) {
	s := inWaves(t, nil, "0", "1", "2")
	s.change("2")
	s.roll("w0", true)
	s.want("the canary is done", "w0 w1")
	s.edited("w0", func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].Image = "example.com/app:typo"
		d.Generation++
	})
	s.roll("w0", false)
	s.play(8 * time.Minute)
	s.unstopped("its new image does not exist")
	s.roll("w1", true)
	s.want("wave 1 is done", "w0 w1 w2")
}

func TestADoneWorkloadThatFailsWithItsOtherSourceStopsNoWaves(t *testing.T) {
	s := inWaves(t, map[string]string{annotations.MaxRolling: "1"}, "0", "1", "2")
	s.alsoUses("w0", nil)
	s.change("2")
	s.roll("w0", true)
	s.want("the canary is done", "w0 w1")
	s.server.Advance(5 * time.Second)
	s.edit("own", "2")
	s.play(5 * time.Second)
	s.roll("w0", false)
	s.play(8 * time.Minute)
	s.roll("w1", true)
	s.want("the canary rolls with its other source", "w0 w1")
	s.play(4 * time.Minute)
	s.unstopped("the canary does not start with its other source")
	s.want("it has failed", "w0 w1 w2")
}

// The canary has not been done yet when another change replaces its rollout. Nothing shows that the
// first data was good.
func TestACanaryThatFailsWithAnotherRolloutIsNotExcused(t *testing.T) {
	for about, replace := range map[string]func(*waveStage){
		"of a user": func(s *waveStage) {
			s.edited("w0", func(d *appsv1.Deployment) {
				d.Spec.Template.Spec.Containers[0].Image = "example.com/app:2"
				d.Generation++
			})
		},
		"with its other source": func(s *waveStage) {
			s.edit("own", "2")
			s.play(5 * time.Second)
		},
	} {
		t.Run(about, func(t *testing.T) {
			s := inWaves(t, nil, "0", "1")
			s.alsoUses("w0", nil)
			s.change("2")
			s.want("the canary", "w0")
			replace(s)
			s.roll("w0", false)
			s.play(12 * time.Minute)
			s.want("the canary has failed", "w0")
			if s.controller.StoppedSources() != 1 {
				t.Errorf("%d sources are stopped", s.controller.StoppedSources())
			}
		})
	}
}
