package controller

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/rules"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
	"github.com/reroll-dev/reroll/test/simapi"
)

// stage is a controller on the API in memory, whose requests are counted, may be refused and take
// their time.
type stage struct {
	*testing.T
	memory
	controller *Controller
	clock      *clocktesting.FakeClock
	takes      time.Duration
	refuses    error

	asked, patched, failed int
	askedAfter             int
	running                []rollout.Pod
	// requests is held by each: some come at the same time.
	requests sync.Mutex
	// oldPods are from before everything that changes.
	oldPods bool
	// gateURLHangs reports whether no question to the program of --gate-url is answered.
	gateURLHangs bool
	// asking happens once, while the pods are asked.
	asking func()
	// marked counts the writes of pod templates among those that were tried.
	marked      int
	lastPatched map[string]time.Time
	looks       []Reconciliation
	queued      int
	late        []time.Duration
	says        []string
	alerts      int
	// events are those of the cluster that have the name of what they are about, with their times.
	// Given are those of them that this controller has emitted.
	events map[string]time.Time
	given  map[string]bool
	// namespaces counts the versions of the namespace.
	namespaces int
}

// settleTime is --settle on a stage.
const settleTime = time.Second

func named(name string) workload.Key {
	return workload.Key{Kind: "Deployment", Namespace: "shop", Name: name}
}

type stageReport struct {
	noReport
	stage *stage
}

// Failed implements Report.
func (r stageReport) Failed(*workload.Workload, reload.Decision, error, time.Duration, bool) {
	r.stage.requests.Lock()
	defer r.stage.requests.Unlock()
	r.stage.failed++
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
		made = s.installation().Installed
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
func (s *stage) Patch(ctx context.Context, kind kinds.Kind, key workload.Key, patch kinds.Patch) (runtime.Object, error) {
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
	return s.memory.Patch(ctx, kind, key, patch)
}

func newStage(t *testing.T) *stage {
	t.Helper()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := &stage{T: t, memory: memory{server: simapi.New(now)}, clock: clocktesting.NewFakeClock(now), lastPatched: map[string]time.Time{}, events: map[string]time.Time{}, given: map[string]bool{}}
	s.controller = New(Options{AdoptRate: 20, Settings: rules.Settings{Kinds: kinds.All(), Settle: settleTime, SettleMax: 10 * time.Second, Names: annotations.DefaultNames()}},
		s, s.clock, slog.New(slog.DiscardHandler), stageReport{stage: s}, stageReport{stage: s})
	s.installation().Installed = now.Add(-time.Hour)
	return s
}

// play looks at what is due until so much time is over.
func (s *stage) play(within time.Duration) {
	for end := s.clock.Now().Add(within); s.clock.Now().Before(end); {
		if s.opts().GateURL != nil && !s.gateURLHangs && s.controller.askGateURL(s.Context()) {
			continue
		}
		did, wait := doDue(s.Context(), s.controller)
		switch {
		case did:
		case wait > 0:
			s.clock.Step(min(wait, end.Sub(s.clock.Now())))
		default:
			s.clock.SetTime(end)
		}
	}
}

// doDue does one thing that is due, as a worker does, or returns how long nothing is: 0 if nothing waits.
func doDue(ctx context.Context, c *Controller) (did bool, wait time.Duration) {
	for _, d := range c.duties() {
		did, later := d.once(ctx)
		if did {
			return true, 0
		}
		if wait == 0 || later > 0 && later < wait {
			wait = later
		}
	}
	return false, wait
}

// due hands out all that is due in a queue.
func due(q *workqueue.Queue) (keys []workload.Key) {
	for key, _, ok := q.Pop(); ok; key, _, ok = q.Pop() {
		keys = append(keys, key)
	}
	return inOrder(keys)
}

// inOrder sorts workloads, so that what is drawn does not depend on the order of a map.
func inOrder(keys []workload.Key) []workload.Key {
	slices.SortFunc(keys, func(a, b workload.Key) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

// all does all that is due in a queue, and reports whether something was.
func (d duty) all(ctx context.Context) bool {
	keys := due(d.queue)
	for _, key := range keys {
		d.queue.Finish(key, d.do(ctx, key))
	}
	return len(keys) > 0
}

// once does what is due first of a queue, as a worker does, or returns how long nothing is: 0 if nothing
// waits.
func (d duty) once(ctx context.Context) (did bool, wait time.Duration) {
	key, wait, ok := d.queue.Pop()
	if ok {
		d.queue.Finish(key, d.do(ctx, key))
	}
	return ok, wait
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

func (s *stage) configMaps() *handler { return s.controller.sources(kubeapi.SourceKinds()[0], "") }

func (s *stage) deployments() *handler {
	return s.workloadsOf("Deployment")
}

func (s *stage) edit(name, value string) {
	s.Helper()
	changed, err := s.server.Edit("configmaps", inShop(name), "kubectl", func(obj simapi.Object) {
		obj.(*corev1.ConfigMap).Data = map[string]string{"v": value}
	})
	if err != nil {
		s.Fatal(err)
	}
	s.configMaps().arrives(changed)
}

func (s *stage) change(edit func(*appsv1.Deployment)) {
	s.Helper()
	changed, err := s.server.Edit("deployments", inShop("web"), "argocd", func(obj simapi.Object) { edit(obj.(*appsv1.Deployment)) })
	if err != nil {
		s.Fatal(err)
	}
	s.deployments().arrives(changed)
}
