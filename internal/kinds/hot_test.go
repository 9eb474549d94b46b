package kinds

import (
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workload"
)

func BenchmarkRead(b *testing.B) {
	objects := workloads()
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
