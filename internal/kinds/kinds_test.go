package kinds

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workload"
)

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "init"}},
		Containers:     []corev1.Container{{Name: "app"}, {Name: "sidecar"}},
	}}
}

func workloads() map[string]runtime.Object {
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u-1", ResourceVersion: "42"}
	labels := map[string]any{"matchLabels": map[string]any{"app": "web"}}
	custom := func(apiVersion, kind string, selector map[string]any) runtime.Object {
		rollout := unstructuredRollout()
		rollout.SetAPIVersion(apiVersion)
		rollout.SetKind(kind)
		rollout.Object["spec"].(map[string]any)["selector"] = selector
		return rollout
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	return map[string]runtime.Object{
		"Deployment":  &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Selector: selector, Template: template()}},
		"StatefulSet": &appsv1.StatefulSet{ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Selector: selector, Template: template()}},
		"DaemonSet":   &appsv1.DaemonSet{ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template()}},
		"Rollout":     unstructuredRollout(),

		"DeploymentConfig":            custom("apps.openshift.io/v1", "DeploymentConfig", map[string]any{"app": "web"}),
		"Service.serving.knative.dev": custom("serving.knative.dev/v1", "Service", nil),
		"CloneSet":                    custom("apps.kruise.io/v1alpha1", "CloneSet", labels),
		"StatefulSet.apps.kruise.io":  custom("apps.kruise.io/v1beta1", "StatefulSet", labels),
		"DaemonSet.apps.kruise.io":    custom("apps.kruise.io/v1alpha1", "DaemonSet", labels),
		"CronJob":                     &batchv1.CronJob{ObjectMeta: meta, Spec: batchv1.CronJobSpec{JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template()}}}},
		"Job":                         &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{Selector: selector, Template: template()}},
	}
}

func TestEveryKindIsRead(t *testing.T) {
	objects := workloads()
	for _, kind := range All() {
		t.Run(kind.Name, func(t *testing.T) {
			w, err := kind.Read(objects[kind.Name], annotations.DefaultNames())
			if err != nil {
				t.Fatal(err)
			}
			want := workload.Key{Kind: kind.Name, Namespace: "shop", Name: "web"}
			if w.Key != want || w.UID != "u-1" || w.ResourceVersion != "42" {
				t.Errorf("read as %s, uid %s, version %s", w.Key, w.UID, w.ResourceVersion)
			}
			if strings.Join(w.Containers, " ") != "app sidecar" || w.Runs == nil && w.Selector.MatchLabels["app"]+w.Selector.MatchLabels["serving.knative.dev/service"] != "web" {
				t.Errorf("containers %v, selector %v", w.Containers, w.Selector)
			}
			if (kind.Resource.Group != "apps" && kind.Resource.Group != "batch") != kind.Custom || w.Custom != kind.Custom || kind.Resource.Resource != strings.ToLower(kind.Object().Kind)+"s" {
				t.Errorf("served as %s", kind.Resource)
			}
			for other, obj := range objects {
				if _, plain := obj.(*unstructured.Unstructured); plain && kind.Custom {
					continue // as what it comes, it is read
				}
				if _, err := kind.Read(obj, annotations.DefaultNames()); (err == nil) != (other == kind.Name) {
					t.Errorf("a %s is read: %v", other, err)
				}
			}
		})
	}
	if len(All()) != len(objects) {
		t.Errorf("%d kinds, and %d are tried", len(All()), len(objects))
	}
	_, err := All()[0].Read(&corev1.Pod{}, annotations.DefaultNames())
	if err == nil || err.Error() != "got a *v1.Pod, want a "+All()[0].Name+"" {
		t.Errorf("a Pod: %v", err)
	}
}

func builtInKinds() []Kind {
	return slices.DeleteFunc(All(), func(k Kind) bool { return k.Custom })
}

// What a patch does not name it cannot touch, so these are compared to the byte.
func TestPatches(t *testing.T) {
	const head = `{"metadata":{"uid":"u-1","resourceVersion":"42","annotations":{"reroll.dev/ledger":"{\"v\":1}"}}`
	mark := func(container, variable, value string) workload.EnvMark {
		return workload.EnvMark{Container: container, Variable: variable, Value: value}
	}
	for about, tc := range map[string]struct {
		marking *workload.Marking // nil: the ledger alone
		want    string
	}{
		"the ledger alone": {nil, head + `}`},
		"one variable": {
			&workload.Marking{Env: []workload.EnvMark{mark("app", "STAKATER_A_CONFIGMAP", "0a")}},
			head + `,"spec":{"template":{"spec":{"containers":[{"name":"app","env":[{"name":"STAKATER_A_CONFIGMAP","value":"0a"}]}]}}}}`,
		},
		"two containers, in the order of the template": {
			&workload.Marking{Env: []workload.EnvMark{mark("sidecar", "B", "2"), mark("app", "A", "1"), mark("sidecar", "C", "3")}},
			head + `,"spec":{"template":{"spec":{"containers":[{"name":"app","env":[{"name":"A","value":"1"}]},{"name":"sidecar","env":[{"name":"B","value":"2"},{"name":"C","value":"3"}]}]}}}}`,
		},
		"a variable and what makes it a change": {
			&workload.Marking{Env: []workload.EnvMark{mark("app", "A", "1")}, Rolled: "7"},
			head + `,"spec":{"template":{"metadata":{"annotations":{"reroll.dev/rolled":"7"}},"spec":{"containers":[{"name":"app","env":[{"name":"A","value":"1"}]}]}}}}`,
		},
		"one variable goes and one comes": {
			&workload.Marking{Env: []workload.EnvMark{mark("app", "A", "1")}, Removed: []workload.EnvMark{mark("app", "B", ""), mark("sidecar", "B", "")}},
			head + `,"spec":{"template":{"spec":{"containers":[{"name":"app","env":[{"name":"A","value":"1"},{"name":"B","$patch":"delete"}]},{"name":"sidecar","env":[{"name":"B","$patch":"delete"}]}]}}}}`,
		},
		"no variable": {
			&workload.Marking{Rolled: "7"},
			head + `,"spec":{"template":{"metadata":{"annotations":{"reroll.dev/rolled":"7"}}}}}`,
		},
	} {
		t.Run(about, func(t *testing.T) {
			for _, kind := range builtInKinds() {
				w, err := kind.Read(workloads()[kind.Name], annotations.DefaultNames())
				if err != nil {
					t.Fatal(err)
				}
				if w.Runs != nil && tc.marking != nil {
					continue // its template stays as it is
				}
				patch, err := kind.Patch(&w, `{"v":1}`, tc.marking, annotations.DefaultNames())
				if err != nil || patch.Type != types.StrategicMergePatchType || string(patch.Body) != tc.want {
					t.Errorf("%s: %s, %v\n got %s\nwant %s", kind.Name, patch.Type, err, patch.Body, tc.want)
				}
			}
		})
	}
}

func TestPatchesOfAPause(t *testing.T) {
	w, err := deployment().Read(workloads()["Deployment"], annotations.DefaultNames())
	if err != nil {
		t.Fatal(err)
	}
	patch, err := deployment().Patch(&w, "{}", &workload.Marking{Rolled: "7", PausedAt: "2026-03-01T12:00:00Z"}, annotations.DefaultNames())
	const begun = `{"metadata":{"uid":"u-1","resourceVersion":"42","annotations":{"deployment.reloader.stakater.com/paused-at":"2026-03-01T12:00:00Z","reroll.dev/ledger":"{}"}},"spec":{"template":{"metadata":{"annotations":{"reroll.dev/rolled":"7"}}},"paused":true}}`
	if err != nil || string(patch.Body) != begun {
		t.Errorf("its begin: %s, %v", patch.Body, err)
	}
	for pause, want := range map[workload.Pause]string{
		{Paused: true, Noted: true}: `{"metadata":{"annotations":{"deployment.reloader.stakater.com/paused-at":null},"resourceVersion":"42","uid":"u-1"},"spec":{"paused":false}}`,
		{Noted: true}:               `{"metadata":{"annotations":{"deployment.reloader.stakater.com/paused-at":null},"resourceVersion":"42","uid":"u-1"}}`,
	} {
		w.Pause = pause
		patch, err := Resume(&w, annotations.DefaultNames())
		if err != nil || patch.Type != types.MergePatchType || string(patch.Body) != want {
			t.Errorf("its end: %s %s, %v", patch.Type, patch.Body, err)
		}
	}
}

func TestHowFarABuiltInKindHasCome(t *testing.T) {
	meta := metav1.ObjectMeta{Name: "web", Generation: 2}
	for about, tc := range map[string]struct {
		kind Kind
		obj  runtime.Object
		want workload.Progress
	}{
		"a Deployment": {deployment(), &appsv1.Deployment{
			ObjectMeta: meta, Spec: appsv1.DeploymentSpec{Replicas: new(int32(3)), Paused: true, ProgressDeadlineSeconds: new(int32(60))},
			Status: appsv1.DeploymentStatus{
				ObservedGeneration: 2, Replicas: 4, UpdatedReplicas: 1, ReadyReplicas: 4, AvailableReplicas: 3,
				Conditions: []appsv1.DeploymentCondition{
					{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Message: "not this"},
					{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "exceeded quota"},
				},
			},
		}, workload.Progress{Observed: true, Wanted: 3, Total: 4, Updated: 1, Ready: 4, Available: 3, Deadline: time.Minute, Paused: true, Refused: "exceeded quota"}},
		"a Deployment past its deadline": {deployment(), &appsv1.Deployment{
			ObjectMeta: meta, Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}}},
		}, workload.Progress{Wanted: 1, Overdue: true}},
		"a Deployment that goes on for another reason": {deployment(), &appsv1.Deployment{
			ObjectMeta: meta, Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionUnknown, Reason: "DeploymentPaused"}}},
		}, workload.Progress{Wanted: 1}},
		"a Deployment whose pods are not refused any more": {deployment(), &appsv1.Deployment{
			ObjectMeta: meta, Status: appsv1.DeploymentStatus{Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionFalse, Message: "x"}}},
		}, workload.Progress{Wanted: 1}},
		"a StatefulSet": {statefulSet(), &appsv1.StatefulSet{
			ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3)), UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
				Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(2))},
			}},
			Status: appsv1.StatefulSetStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 1, ReadyReplicas: 3, AvailableReplicas: 2, UpdateRevision: "web-7"},
		}, workload.Progress{Observed: true, Wanted: 3, Total: 3, Updated: 1, Ready: 3, Available: 2, Partition: 2, Ordered: true, Revision: "web-7"}},
		"a StatefulSet that waits for deletions": {statefulSet(), &appsv1.StatefulSet{
			ObjectMeta: meta, Spec: appsv1.StatefulSetSpec{
				PodManagementPolicy: appsv1.ParallelPodManagement, UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType},
			},
		}, workload.Progress{Wanted: 1, OnDelete: true}},
		"a DaemonSet": {daemonSet(), &appsv1.DaemonSet{
			ObjectMeta: meta, Spec: appsv1.DaemonSetSpec{UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}},
			Status: appsv1.DaemonSetStatus{ObservedGeneration: 2, DesiredNumberScheduled: 5, CurrentNumberScheduled: 4, UpdatedNumberScheduled: 3, NumberReady: 4, NumberAvailable: 2},
		}, workload.Progress{Observed: true, Wanted: 5, Total: 4, Updated: 3, Ready: 4, Available: 2, OnDelete: true}},
	} {
		t.Run(about, func(t *testing.T) {
			w, err := tc.kind.Read(tc.obj, annotations.DefaultNames())
			if err != nil || w.Progress != tc.want {
				t.Errorf("got %+v, %v", w.Progress, err)
			}
		})
	}
}

// The API server takes a new template at once. Until the controller of the kind has seen it, the
// status is about the earlier one.
func TestAStatusOfAnEarlierTemplateEndsNoRollout(t *testing.T) {
	for observed, want := range map[int64]bool{1: false, 2: true} {
		meta := metav1.ObjectMeta{Name: "web", Generation: 2}
		for _, tc := range []struct {
			kind Kind
			obj  runtime.Object
		}{
			{deployment(), &appsv1.Deployment{ObjectMeta: meta, Status: appsv1.DeploymentStatus{ObservedGeneration: observed, Replicas: 1, UpdatedReplicas: 1}}},
			{statefulSet(), &appsv1.StatefulSet{ObjectMeta: meta, Status: appsv1.StatefulSetStatus{ObservedGeneration: observed, Replicas: 1, UpdatedReplicas: 1}}},
			{daemonSet(), &appsv1.DaemonSet{ObjectMeta: meta, Status: appsv1.DaemonSetStatus{ObservedGeneration: observed, CurrentNumberScheduled: 1, UpdatedNumberScheduled: 1}}},
		} {
			if w, err := tc.kind.Read(tc.obj, annotations.DefaultNames()); err != nil || w.RolledOut != want {
				t.Errorf("a %s whose status is about generation %d of 2 has rolled out: %t, %v", tc.kind.Name, observed, w.RolledOut, err)
			}
		}
	}
}
