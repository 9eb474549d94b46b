package controller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// waveStage is a stage whose Deployments all use one ConfigMap, ca.
type waveStage struct {
	*stage
	names        []string
	reloadedWith map[string]bool
	// refusesOnly are the answers to writes of some Deployments, and unlistable is the answer to
	// lists of Pods.
	refusesOnly map[string]error
	unlistable  error
}

var errRefused = errors.New("refused")

// inWaves makes a ConfigMap with annotations, and a Deployment for each wave.
func inWaves(t *testing.T, own map[string]string, waves ...string) *waveStage {
	t.Helper()
	s := &waveStage{stage: newStage(t), reloadedWith: map[string]bool{}}
	s.sends(s)
	s.lead()
	src, err := s.server.Create(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "ca", Annotations: own}, Data: map[string]string{"v": "1"},
	}, "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	s.configMaps().arrives(src)
	for i, wave := range waves {
		s.create(fmt.Sprintf("w%d", i), wave)
	}
	s.play(3 * time.Second)
	return s
}

func (s *waveStage) create(name, wave string) {
	s.Helper()
	d := webDeployment()
	d.Name = name
	d.Annotations[annotations.Wave] = wave
	d.Spec.Template.Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name = "ca"
	made, err := s.server.Create(d, "kubectl")
	if err != nil {
		s.Fatal(err)
	}
	s.deployments().arrives(made)
	s.names = append(s.names, name)
	s.roll(name, true)
}

// roll sets the status of a Deployment: its rollout has ended and it is available, or it has
// exceeded its deadline with the old Pod still there.
func (s *waveStage) roll(name string, ends bool) {
	s.Helper()
	s.running = nil
	changed, err := s.server.Edit("deployments", inShop(name), "kube-controller-manager", func(obj simapi.Object) {
		d := obj.(*appsv1.Deployment)
		d.Status.ObservedGeneration, d.Status.Conditions = d.Generation, nil
		d.Status.Replicas, d.Status.UpdatedReplicas, d.Status.AvailableReplicas = 1, 1, 1
		if !ends {
			d.Status.Replicas = 2
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}}
		}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: d.Spec.Template.Annotations}, Spec: d.Spec.Template.Spec, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}}
		s.running = []rollout.Pod{rollout.ReadPod(pod, annotations.DefaultNames())}
		if !ends {
			s.running = append(s.running, rollout.ReadPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "old"}}, annotations.DefaultNames()))
		}
	})
	if err != nil {
		s.Fatal(err)
	}
	s.deployments().arrives(changed)
	s.play(time.Second)
}

// Running implements API.
func (s *waveStage) Running(ctx context.Context, w *workload.Workload, names annotations.Names) ([]rollout.Pod, error) {
	if s.unlistable != nil {
		return nil, s.unlistable
	}
	return s.stage.Running(ctx, w, names)
}

func (s *waveStage) keyOf(name string) source.Key {
	return source.Key{Kind: source.ConfigMap, Namespace: namespace, Name: name}
}

// Patch implements API.
func (s *waveStage) Patch(ctx context.Context, kind kinds.Kind, key workload.Key, patch kinds.Patch) (runtime.Object, error) {
	if err := s.refusesOnly[key.Name]; err != nil {
		return nil, err
	}
	obj, err := s.stage.Patch(ctx, kind, key, patch)
	if err == nil && bytes.Contains(patch.Body, []byte(`"template"`)) {
		s.reloadedWith[key.Name] = true
	}
	return obj, err
}

// rolling is a Deployment that rolls.
func (s *waveStage) rolling() string {
	for name := range s.reloadedWith {
		if w, _ := s.known().Workload(named(name)); !w.HasRolled() {
			return name
		}
	}
	return ""
}

// down makes a Deployment unavailable, and its rollout exceed its deadline.
func (s *waveStage) down(name string) {
	s.Helper()
	changed, err := s.server.Edit("deployments", inShop(name), "kube-controller-manager", func(obj simapi.Object) {
		d := obj.(*appsv1.Deployment)
		d.Status.ObservedGeneration, d.Status.AvailableReplicas = d.Generation, 0
	})
	if err != nil {
		s.Fatal(err)
	}
	s.deployments().arrives(changed)
}

func (s *waveStage) digestOf(name string) string {
	src, _ := s.known().Source(source.Key{Kind: source.ConfigMap, Namespace: namespace, Name: name})
	return src.Digest.String()
}

func (s *waveStage) change(value string) {
	s.Helper()
	clear(s.reloadedWith)
	s.server.Advance(5 * time.Second)
	s.edit("ca", value)
	s.play(5 * time.Second)
}

// source changes an annotation of the ConfigMap.
func (s *waveStage) source(key, value string) {
	s.Helper()
	changed, err := s.server.Edit("configmaps", inShop("ca"), "kubectl", func(obj simapi.Object) {
		cm := obj.(*corev1.ConfigMap)
		if cm.Annotations == nil {
			cm.Annotations = map[string]string{}
		}
		cm.Annotations[key] = value
	})
	if err != nil {
		s.Fatal(err)
	}
	s.configMaps().arrives(changed)
	s.play(5 * time.Second)
}

// want compares the Deployments that were started since the latest change.
func (s *waveStage) want(about, names string) {
	s.Helper()
	var all []string
	for _, name := range s.names {
		if s.reloadedWith[name] {
			all = append(all, name)
		}
	}
	if got := strings.Join(all, " "); got != names {
		s.Errorf("%s: started are %q, want %q", about, got, names)
	}
}

func TestWavesGoOneAfterTheOther(t *testing.T) {
	s := inWaves(t, nil, "0", "1", "1", "2")
	s.change("2")
	s.want("the change", "w0")
	if held := s.controller.HeldBy(gate.Waves); held != 3 {
		t.Errorf("%d wait", held)
	}
	s.roll("w0", true)
	s.want("wave 0 is done", "w0 w1 w2")
	s.roll("w1", true)
	s.want("half of wave 1 is done", "w0 w1 w2")
	s.roll("w2", true)
	s.want("wave 1 is done", "w0 w1 w2 w3")
	s.roll("w3", true)
	if s.controller.HeldBy(gate.Waves) != 0 || s.controller.fleets.some.Load() {
		t.Error("a fleet is kept though nobody waits")
	}
}

func TestNoMoreRollAtATimeThanAllowed(t *testing.T) {
	s := inWaves(t, map[string]string{annotations.MaxRolling: "60%"}, "0", "0", "0", "0")
	s.change("2")
	for want := 2; want <= 4; want++ {
		if len(s.reloadedWith) != want {
			t.Fatalf("%d roll or have rolled, want %d", len(s.reloadedWith), want)
		}
		ended := s.rolling()
		s.refuses = errRefused
		s.roll(ended, true)
		s.refuses = nil
		s.play(time.Minute) // the write of the next one was refused once
	}
}

func TestAFailureStopsTheRestUntilItRecovers(t *testing.T) {
	for about, ends := range map[string]func(*waveStage){
		"it recovers":   func(s *waveStage) { s.roll("w0", true) },
		"it is deleted": func(s *waveStage) { s.forgets(named("w0")); s.play(time.Second) },
		"it is resumed": func(s *waveStage) { s.source(annotations.Resumed, s.digestOf("ca")) },
		"it is urgent":  func(s *waveStage) { s.source(annotations.Urgent, "true") },
		"one may fail":  func(s *waveStage) { s.source(annotations.MaxFailures, "1") },
	} {
		t.Run(about, func(t *testing.T) {
			s := failed(t)
			ends(s)
			s.want("the end of the stop", "w0 w1")
			if s.controller.StoppedSources() != 0 {
				t.Error("it is still stopped")
			}
		})
	}
}

// failed is a stage whose canary does not start with the new data.
func failed(t *testing.T) *waveStage {
	t.Helper()
	s := inWaves(t, nil, "-1", "0")
	s.says = nil
	s.change("2")
	s.roll("w0", false)
	s.want("in time", "w0")
	s.play(11 * time.Minute)
	s.want("after its deadline", "w0")
	s.heard("a failure", "ca WavesStopped: wave -1 stopped, deployment/w0 does not start (crash loop) & reroll resume -n shop configmap/ca",
		"w1 ReloadHeld: ConfigMap 'ca' waits: wave -1 stopped, deployment/w0 does not start (crash loop)")
	if s.controller.StoppedSources() != 1 || s.controller.HeldBy(gate.Waves) != 1 {
		t.Errorf("%d sources are stopped, %d workloads wait", s.controller.StoppedSources(), s.controller.HeldBy(gate.Waves))
	}
	return s
}

func TestAConsentIsForOneContent(t *testing.T) {
	s := failed(t)
	s.source(annotations.Resumed, "00000000000000000000000000000000")
	s.want("a consent for other data", "w0")
	s.source(annotations.Resumed, s.digestOf("ca"))
	s.want("a consent", "w0 w1")
	s.roll("w1", true)
	s.change("3")
	s.roll("w0", false)
	s.play(11 * time.Minute)
	s.want("the next data", "w0")
}

func TestASoakDelaysTheNextWave(t *testing.T) {
	s := inWaves(t, map[string]string{annotations.Soak: "3m"}, "0", "1")
	s.change("2")
	s.roll("w0", true)
	s.play(2 * time.Minute)
	s.want("too early", "w0")
	s.play(time.Minute)
	s.want("after the soak time", "w0 w1")
}

func TestWhatWasBrokenBeforeIsNoFailure(t *testing.T) {
	s := inWaves(t, nil, "-1", "0")
	s.down("w0")
	s.change("2")
	s.roll("w0", false)
	s.play(11 * time.Minute)
	s.want("it does not start, as before", "w0 w1")
}

func TestABrokenCanaryIsNotExcusedForTheNextData(t *testing.T) {
	s := failed(t)
	s.change("3")
	s.want("the next data", "w0")
	s.roll("w0", false)
	s.play(11 * time.Minute)
	s.want("it fails as well", "w0")
}

func TestNewerDataStartsNoMoreRolloutsThanTheBudgetAllows(t *testing.T) {
	s := inWaves(t, map[string]string{annotations.MaxRolling: "1"}, "0", "0", "0", "0")
	for v := 2; v < 8; v++ {
		s.edit("ca", strconv.Itoa(v))
		s.play(10 * time.Second)
		if n := len(s.reloadedWith); n > 1 { // none of their rollouts has ended
			t.Fatalf("%d roll with a budget of 1", n)
		}
		s.server.Advance(10 * time.Second)
	}
}

func TestWorkloadsThatWaitStartWhenThereAreNoWavesAnyMore(t *testing.T) {
	s := failed(t)
	changed, err := s.server.Edit("deployments", inShop("w0"), "kubectl", func(obj simapi.Object) {
		delete(obj.(*appsv1.Deployment).Annotations, annotations.Wave)
	})
	if err != nil {
		t.Fatal(err)
	}
	s.deployments().arrives(changed)
	s.play(24 * time.Hour)
	s.want("no waves are left", "w0 w1")
	if s.controller.StoppedSources() != 0 {
		t.Error("a source without waves counts as stopped")
	}
}

func TestADeletedSourceIsNotStopped(t *testing.T) {
	s := failed(t)
	s.configMaps().departs(types.NamespacedName{Namespace: namespace, Name: "ca"}, "999999")
	s.play(24 * time.Hour)
	if s.controller.StoppedSources() != 0 {
		t.Error("a source that does not exist counts as stopped")
	}
}
