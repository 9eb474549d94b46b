package controller

import (
	"context"
	"log/slog"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/rules"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// midWrite is an API on which something happens between a decision and its write.
type midWrite struct {
	memory
	happens func()
	answers []error
}

// Patch implements API.
func (m *midWrite) Patch(ctx context.Context, kind kinds.Kind, key workload.Key, patch kinds.Patch) (runtime.Object, error) {
	happens := m.happens
	m.happens = func() {}
	happens()
	obj, err := m.memory.Patch(ctx, kind, key, patch)
	m.answers = append(m.answers, err)
	return obj, err
}

func webDeployment() *appsv1.Deployment {
	labels := map[string]string{"app": "web"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Annotations: map[string]string{"reloader.stakater.com/auto": "true"}},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "app", Image: "web",
					EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
						LocalObjectReference: corev1.LocalObjectReference{Name: "web"},
					}}},
				}}},
			},
		},
	}
}

func TestAWorkloadDeletedDuringAWrite(t *testing.T) {
	web := named("web")
	for about, tc := range map[string]struct {
		again   bool // another object of the same name is made at once
		refused func(error) bool
	}{
		"it is gone": {false, apierrors.IsNotFound},
		"another of the same name is in its place": {true, apierrors.IsConflict},
	} {
		t.Run(about, func(t *testing.T) {
			now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			clock := clocktesting.NewFakeClock(now)
			server := simapi.New(now)
			api := &midWrite{memory: memory{server: server}}
			c := New(Options{AdoptRate: 1000, Settings: rules.Settings{Kinds: kinds.All(), Settle: time.Second, SettleMax: 10 * time.Second, Names: annotations.DefaultNames()}},
				api, clock, slog.New(slog.DiscardHandler), noReport{}, noReport{})
			c.installation.Installed = now
			kind := c.kinds["Deployment"]
			put := func(obj runtime.Object) { c.workloads(kind, "").arrives(obj) }
			// looks takes what is due in so much time, and returns how often was looked.
			looks := func(within time.Duration) (n int) {
				for end := clock.Now().Add(within); clock.Now().Before(end); clock.Step(100 * time.Millisecond) {
					for did, _ := doDue(t.Context(), c); did; did, _ = doDue(t.Context(), c) {
						n++
					}
				}
				return n
			}
			create := func(obj simapi.Object) simapi.Object {
				made, err := server.Create(obj, "kubectl")
				if err != nil {
					t.Fatal(err)
				}
				return made
			}
			source := create(&corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Data: map[string]string{"colour": "green"},
			})
			first := create(webDeployment())
			c.sources(kubeapi.SourceKinds()[0], "").arrives(source)
			put(first)

			var second simapi.Object
			api.happens = func() {
				if err := server.Delete("deployments", inShop("web")); err != nil {
					t.Fatal(err)
				}
				if tc.again {
					second = create(webDeployment())
				}
			}
			if got := looks(2 * time.Second); got == 0 {
				t.Fatal("it was not looked at")
			}
			if len(api.answers) == 0 || !tc.refused(api.answers[0]) {
				t.Fatalf("the write was answered %v", api.answers)
			}
			if !tc.again && len(api.answers) > toleratedConflicts {
				t.Errorf("what is not there was written to again and again: %v", api.answers)
			}

			// The watch brings what has happened, a while later.
			c.workloads(kind, "").departs(inShop("web"), "")
			if tc.again {
				put(second)
			}
			tried := len(api.answers)
			looks(time.Hour)
			if c.queue.Depth() != 0 || c.queue.TriesOf(named("web")) != 0 || c.conflicts() != 0 {
				t.Errorf("an hour later it is not at rest: %d wait, tries %v, %d conflicts", c.queue.Depth(), c.queue.TriesOf(named("web")), c.conflicts())
			}
			if !tc.again {
				if len(api.answers) != tried {
					t.Errorf("it was written to when it was known to be gone: %v", api.answers)
				}
				return
			}
			// The new one gets its own ledger, and its template is left as it was made.
			obj, err := server.Get("deployments", inShop("web"))
			if err != nil {
				t.Fatal(err)
			}
			ledger, err := ledger.Parse(obj.GetAnnotations()[annotations.Ledger])
			if err != nil || ledger.UID != second.GetUID() || ledger.Counter != 0 {
				t.Errorf("the ledger of the new one is %+v, %v", ledger, err)
			}
			if got := len(obj.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Env); got != 0 {
				t.Errorf("the new one was rolled")
			}
			if _, ok := c.state.Workload(web); !ok {
				t.Error("the new one is not known")
			}
		})
	}
}
