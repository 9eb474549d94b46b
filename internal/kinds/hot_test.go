package kinds

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workload"
)

// BenchmarkRead is what each event of a workload costs, with objects as they are in a cluster.
func BenchmarkRead(b *testing.B) {
	objects := workloads()
	for _, obj := range objects {
		meta := obj.(metav1.Object)
		meta.SetAnnotations(map[string]string{annotations.DefaultNames().Auto: "true", "deployment.kubernetes.io/revision": "3"})
		var managed []metav1.ManagedFieldsEntry
		for manager, fields := range map[string]string{
			"kubectl-create":          `{"f:metadata":{"f:annotations":{".":{},"f:reloader.stakater.com/auto":{}}},"f:spec":{"f:replicas":{},"f:selector":{},"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:envFrom":{},"f:image":{},"f:name":{}}}}}}}`,
			"kube-controller-manager": `{"f:metadata":{"f:annotations":{"f:deployment.kubernetes.io/revision":{}}},"f:status":{"f:conditions":{".":{},"k:{\"type\":\"Available\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:observedGeneration":{},"f:replicas":{}}}`,
			workload.FieldManager:     `{"f:metadata":{"f:annotations":{"f:reroll.dev/ledger":{}}},"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{"f:env":{".":{},"k:{\"name\":\"STAKATER_WEB_CONFIGMAP\"}":{".":{},"f:name":{},"f:value":{}}}}}}}}}`,
		} {
			managed = append(managed, metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Time: &metav1.Time{Time: time.Unix(1795240000, 0)}, FieldsV1: metav1.NewFieldsV1(fields)})
		}
		meta.SetManagedFields(managed)
	}
	for _, kind := range All() {
		if kind.Name != "Deployment" && kind.Name != "Rollout" {
			continue
		}
		b.Run(kind.Name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := kind.Read(objects[kind.Name], annotations.DefaultNames()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPatch(b *testing.B) {
	names := annotations.DefaultNames()
	objects := workloads()
	marking := &workload.Marking{Env: []workload.EnvMark{{Container: "app", Variable: "STAKATER_WEB_CONFIGMAP", Value: "34daa95e5bb9deb5d8ac5bf8ed5dbb5d5bb0c1a5"}}}
	const ledger = `{"v":1,"uid":"u-1","key":"4d7919db","n":1,"t":1795240000,"cm":{"web":"0979016f4f2cf61bc2934fde48d0fc1e"}}`
	for _, kind := range All() {
		if kind.Name != "Deployment" {
			continue
		}
		w, err := kind.Read(objects[kind.Name], names)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if _, err := kind.Patch(&w, ledger, marking, names); err != nil {
				b.Fatal(err)
			}
		}
	}
}
