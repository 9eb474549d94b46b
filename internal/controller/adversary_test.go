package controller

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
	"github.com/reroll-dev/reroll/test/simapi"
)

// stage is a controller on the API in memory, whose requests are counted, may be refused and take their time.
type stage struct {
	*testing.T
	proxy
	*Controller
	server  *simapi.Server
	clock   *clocktesting.FakeClock
	takes   time.Duration
	refuses error

	asked, patched, failed int
	askedAfter             int
	running                []rollout.Pod
	// requests is held by each: some come at the same time.
	requests sync.Mutex
	// oldPods are from before everything that changes.
	oldPods bool
	// asking happens once, while the pods are asked.
	asking func()
	// marked counts the writes of pod templates among those that were tried.
	marked      int
	lastPatched map[string]time.Time
	looks       []Reconciliation
	queued      int
	late        []time.Duration
	says        []string
}

// settleTime is --settle on a stage.
const settleTime = time.Second

func named(name string) workload.Key {
	return workload.Key{Kind: "Deployment", Namespace: "shop", Name: name}
}

type stageReport struct {
	noReport
	*stage
}

// Failed implements Report.
func (r stageReport) Failed(*workload.Workload, reload.Decision, error, time.Duration, bool) {
	r.requests.Lock()
	defer r.requests.Unlock()
	r.failed++
}

// Pods implements API: all pods are young, unless they are all old.
func (s *stage) Pods(context.Context, *workload.Workload) (reload.Pods, error) {
	s.requests.Lock()
	defer s.requests.Unlock()
	s.asked++
	s.clock.Step(s.takes)
	if happens := s.asking; happens != nil {
		s.asking = nil
		happens()
	}
	var pods reload.Pods
	made := s.server.Now().Add(time.Hour)
	if s.oldPods {
		made = s.installed
	}
	pods.Add(reload.StartedPod{Created: made})
	return pods, nil
}

// Running implements API: those that the test has put there.
func (s *stage) Running(context.Context, *workload.Workload, annotations.Names) ([]rollout.Pod, error) {
	s.askedAfter++
	s.clock.Step(s.takes)
	if s.refuses != nil {
		return nil, s.refuses
	}
	return s.running, nil
}

// Patch implements API.
func (s *stage) Patch(_ context.Context, kind kinds.Kind, key workload.Key, patch kinds.Patch) (runtime.Object, error) {
	s.requests.Lock()
	defer s.requests.Unlock()
	s.patched++
	if bytes.Contains(patch.Body, []byte(`"template"`)) {
		s.marked++
	}
	s.clock.Step(s.takes)
	s.lastPatched[key.Name] = s.clock.Now()
	if s.refuses != nil {
		return nil, s.refuses
	}
	return s.server.Patch(kind.Resource.Resource, inShop(key.Name), patch.Body, workload.FieldManager)
}

func newStage(t *testing.T) *stage {
	t.Helper()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := &stage{T: t, server: simapi.New(now), clock: clocktesting.NewFakeClock(now), lastPatched: map[string]time.Time{}}
	s.Controller = New(Options{Kinds: kinds.All(), Settle: settleTime, SettleMax: 10 * time.Second, AdoptRate: 20, Names: annotations.DefaultNames()},
		s, s.clock, slog.New(slog.DiscardHandler), stageReport{stage: s})
	s.installed = now.Add(-time.Hour)
	return s
}

// play looks at what is due until so much time is over.
func (s *stage) play(within time.Duration) {
	for end := s.clock.Now().Add(within); s.clock.Now().Before(end); {
		key, wait, ok := s.queue.Pop()
		if ok {
			s.queue.Finish(key, s.reconcile(s.Context(), key))
			continue
		}
		key, later, ok := s.ends.Pop()
		if wait == 0 || later > 0 && later < wait {
			wait = later
		}
		switch {
		case ok:
			s.ends.Finish(key, s.trackRollout(s.Context(), key))
		case s.letGo(&wait):
		case wait > 0:
			s.clock.Step(min(wait, end.Sub(s.clock.Now())))
		default:
			s.clock.SetTime(end)
		}
	}
}

// letGo looks at a pause that is due, or says when the next one is, if that is sooner.
func (s *stage) letGo(wait *time.Duration) bool {
	key, later, ok := s.pauses.Pop()
	if ok {
		s.pauses.Finish(key, s.endPause(s.Context(), key))
	}
	if *wait == 0 || later > 0 && later < *wait {
		*wait = later
	}
	return ok
}

// add makes a ConfigMap and a Deployment that uses it, both of one name.
func (s *stage) add(name string, live bool, mark string) {
	s.Helper()
	src, err := s.server.Create(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"v": "1"},
	}, "kubectl")
	if err != nil {
		s.Fatal(err)
	}
	d := webDeployment()
	d.Name = name
	d.Spec.Template.Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name = name
	if mark != "" {
		variable := workload.EnvVarName(source.Key{Kind: source.ConfigMap, Name: name})
		d.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: variable, Value: mark}}
	}
	made, err := s.server.Create(d, "kubectl")
	if err != nil {
		s.Fatal(err)
	}
	s.configMaps().put(src, live)
	s.deployments().put(made, live)
}

func (s *stage) configMaps() *sink { return s.sources(watchedSources()[0], "") }

func (s *stage) deployments() *sink { return s.workloads(s.kinds["Deployment"], "") }

func (s *stage) edit(name, value string) {
	s.Helper()
	changed, err := s.server.Edit("configmaps", inShop(name), "kubectl", func(obj simapi.Object) {
		obj.(*corev1.ConfigMap).Data = map[string]string{"v": value}
	})
	if err != nil {
		s.Fatal(err)
	}
	s.configMaps().put(changed, true)
}

const staleMark = "0123456789abcdef01230123456789abcdef0123"

func TestAWorkloadThatWaitsToBeAdoptedAsksForItsPodsOnce(t *testing.T) {
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
		t.Errorf("the live change was written after %s, while %d waited to be adopted", took, s.toBeAdopted())
	}
}

func TestALedgerThatIsSetBackForEverIsNotFoughtOver(t *testing.T) {
	s := newStage(t)
	s.add("web", true, "")
	s.play(3 * time.Second)
	obj, err := s.server.Get("deployments", inShop("web"))
	if err != nil {
		t.Fatal(err)
	}
	kept := obj.GetAnnotations()[annotations.Ledger]
	// It comes to use a second source, which is noted and rolls nothing, so that the count of reloads stays.
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

func (s *stage) change(edit func(*appsv1.Deployment)) {
	s.Helper()
	changed, err := s.server.Edit("deployments", inShop("web"), "argocd", func(obj simapi.Object) { edit(obj.(*appsv1.Deployment)) })
	if err != nil {
		s.Fatal(err)
	}
	s.deployments().put(changed, true)
}

func TestARefusalThatLooksLikeARaceIsTriedForEverAndTold(t *testing.T) {
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
			if s.failed == 0 || s.queue.Depth() != 1 {
				t.Fatalf("after an hour %d failures were told, and %d wait", s.failed, s.queue.Depth())
			}
			s.refuses = nil
			tried := s.patched
			s.play(workqueue.LastRetry)
			if s.patched != tried+1 || s.queue.Depth() != 0 {
				t.Errorf("when it is allowed: %d tries more, %d wait", s.patched-tried, s.queue.Depth())
			}
		})
	}
}

// Once the write has succeeded that met another version, no event is a reason to look at once: what has changed since waits for quiet.
func TestAConflictThatIsOverShortensNoQuietPeriod(t *testing.T) {
	s := newStage(t)
	s.add("web", true, "")
	s.play(3 * time.Second)
	s.refuses = apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, "web", errors.New("another version"))
	s.edit("web", "2")
	s.play(1200 * time.Millisecond)
	s.refuses = nil
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
	s.deployments().put(written, true)
	s.play(900 * time.Millisecond)
	if s.patched != tried {
		t.Error("it was written before the quiet period was over")
	}
	s.play(200 * time.Millisecond)
	if s.patched != tried+1 {
		t.Errorf("%d writes after it, must be 1", s.patched-tried)
	}
}

func TestWhatIsGoneLeavesNothingInMemory(t *testing.T) {
	s := newStage(t)
	s.opts.DryRun = true
	for i := range 100 {
		name := fmt.Sprintf("app-%d", i)
		s.add(name, true, "")
		s.play(2 * time.Second)
		s.edit(name, "2")
		s.play(2 * time.Second)
		s.deployments().del(inShop(name), "")
		s.configMaps().del(inShop(name), "")
	}
	left := len(s.records)
	for i := range 100 {
		left += s.queue.TriesOf(named(fmt.Sprintf("app-%d", i)))
	}
	if left != 0 {
		t.Errorf("%d entries are left of 100 workloads that came and went", left)
	}
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
		s.deployments().put(taken, true)
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
