package kinds

import (
	"math"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workload"
)

func rollout() Kind {
	return Kind{
		Kind:     workload.Kind{Name: "Rollout", Custom: true, Restartable: true},
		Title:    "Argo Rollouts",
		Resource: schema.GroupVersionResource{Group: "argoproj.io", Version: "v1alpha1", Resource: "rollouts"},
		NewList:  func() runtime.Object { return &unstructured.UnstructuredList{} },
		Adapter:  rolloutAdapter{custom{"Rollout", specTemplate(), rolloutParts}},
		Template: specTemplate(), HasWorkloadRef: true,
	}
}

// rolloutObject contains the relevant fields of a Rollout.
type rolloutObject struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Selector    *metav1.LabelSelector  `json:"selector"`
		Template    corev1.PodTemplateSpec `json:"template"`
		RestartAt   string                 `json:"restartAt"`
		WorkloadRef WorkloadRef            `json:"workloadRef"`
	} `json:"spec"`
	Status struct {
		ObservedGeneration string `json:"observedGeneration"`
		Replicas           int64  `json:"replicas"`
		UpdatedReplicas    int64  `json:"updatedReplicas"`
		RestartedAt        string `json:"restartedAt"`
		// The observed generation of the object in spec.workloadRef.
		WorkloadObservedGeneration string `json:"workloadObservedGeneration"`
	} `json:"status"`
}

func rolloutParts(obj *unstructured.Unstructured) (Parts, error) {
	var o rolloutObject
	if err := decode(obj, &o, "metadata", "spec.selector", "spec.template", "spec.restartAt", "spec.workloadRef.apiVersion", "spec.workloadRef.kind", "spec.workloadRef.name",
		"status.observedGeneration", "status.workloadObservedGeneration", "status.replicas", "status.updatedReplicas", "status.restartedAt"); err != nil {
		return Parts{}, err
	}
	// The result is 0 if there is no generation yet.
	observed, _ := strconv.ParseInt(o.Status.WorkloadObservedGeneration, 10, 64)
	seen := o.Status.ObservedGeneration == strconv.FormatInt(o.Metadata.Generation, 10)
	return Parts{
		TemplateOwner: o.Spec.WorkloadRef.TemplateOwner(o.Metadata.Namespace), Observed: observed, Progress: rolloutProgress(obj.Object, seen),
		Meta: &o.Metadata, Selector: o.Spec.Selector, Template: &o.Spec.Template, RestartAt: o.Spec.RestartAt,
		RolledOut: seen && o.Status.UpdatedReplicas == o.Status.Replicas && sameTime(o.Spec.RestartAt, o.Status.RestartedAt),
		Shape:     shapeOf(obj.Object, specTemplate()...),
	}, nil
}

// rolloutProgress is the progress in the status. Unreadable fields are skipped. No number in the
// status shows Pods that wait for a restart.
func rolloutProgress(obj map[string]any, observed bool) workload.Progress {
	number := func(unset int32, fields ...string) int32 {
		n, found, err := unstructured.NestedInt64(obj, fields...)
		if err != nil || !found {
			return unset
		}
		return int32(min(max(n, 0), math.MaxInt32))
	}
	is := func(fields ...string) bool {
		yes, _, err := unstructured.NestedBool(obj, fields...)
		return err == nil && yes
	}
	list := func(fields ...string) []any {
		found, _, _ := unstructured.NestedFieldNoCopy(obj, fields...)
		items, _ := found.([]any)
		return items
	}
	p := workload.Progress{
		Observed: observed, Wanted: number(1, "spec", "replicas"),
		Total: number(0, "status", "replicas"), Updated: number(0, "status", "updatedReplicas"),
		Ready: number(0, "status", "readyReplicas"), Available: number(0, "status", "availableReplicas"),
		Deadline: time.Duration(number(0, "spec", "progressDeadlineSeconds")) * time.Second,
		Paused:   is("spec", "paused"), Pausing: len(list("status", "pauseConditions")) > 0, Aborted: is("status", "abort"),
	}
	for _, item := range list("status", "conditions") {
		c, _ := item.(map[string]any)
		switch {
		case c["type"] == "ReplicaFailure" && c["status"] == "True":
			p.Refused, _ = c["message"].(string)
		case c["type"] == "Progressing" && c["status"] == "False":
			p.Overdue = c["reason"] == pastDeadline
		}
	}
	return p
}

// sameTime compares times that users and controllers format differently. An invalid time counts as
// unset.
func sameTime(wanted, done string) bool {
	want, err := time.Parse(time.RFC3339, wanted)
	if err != nil {
		return true
	}
	have, err := time.Parse(time.RFC3339, done)
	return err == nil && have.Equal(want)
}

// rolloutAdapter can also restart the Pods.
type rolloutAdapter struct{ custom }

// Patch writes a ledger and a mark, or the time of a restart.
func (a rolloutAdapter) Patch(w *workload.Workload, ledger string, m *workload.Marking, names annotations.Names) (Patch, error) {
	if m == nil || m.RestartAt == "" {
		return a.custom.Patch(w, ledger, m, names)
	}
	return encode(types.MergePatchType, patchBody{Metadata: ledgerMeta(w, ledger), Spec: &patchSpec{RestartAt: m.RestartAt}})
}
