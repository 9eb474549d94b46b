package state

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// shared is a ConfigMap of 1 MiB with two keys.
func shared(level, page string, version int) source.Source {
	return source.FromConfigMap(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shared", UID: "shared", ResourceVersion: strconv.Itoa(version)},
		Data:       map[string]string{"level": level, "page": page},
	}, annotations.DefaultNames())
}

// page is a value of nearly 1 MiB.
func page(text string) string { return strings.Repeat(text, 1<<20-100) }

// usingLevel are workloads that use one key of the shared ConfigMap.
func usingLevel(n int, keys string) *State {
	s := New(false)
	for i := range n {
		name := fmt.Sprintf("w-%d", i)
		meta := &metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), ResourceVersion: "1", Annotations: map[string]string{auto: "true", annotations.Keys: keys}}
		spec := corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Env: []corev1.EnvVar{{Name: "LEVEL", ValueFrom: &corev1.EnvVarSource{
			ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "shared"}, Key: "level"},
		}}}}}}
		s.PutWorkload(workload.New(workload.Kind{Name: "Deployment"}, meta, nil, &corev1.PodTemplateSpec{Spec: spec}, annotations.DefaultNames()), inASnap)
	}
	s.PutSource(shared("info", page("a"), 1), inASnap)
	return s
}

// manyWorkloads use one key of the same ConfigMap.
const manyWorkloads = 1000

func TestAKeyThatNobodyUsesReachesNoneOfManyWorkloads(t *testing.T) {
	s := usingLevel(manyWorkloads, "used")
	for i, tc := range []struct {
		level, page       string
		concerned, spared int
	}{
		{"info", page("b"), 0, manyWorkloads},
		{"info", "", 0, manyWorkloads},
		{"debug", "", manyWorkloads, 0},
		{"info", page("c"), manyWorkloads, 0},
	} {
		concerned, spared := s.ReceiveSource(shared(tc.level, tc.page, i+2), live)
		if len(concerned) != tc.concerned || spared != tc.spared {
			t.Errorf("change %d reaches %d workloads and spares %d, want %d and %d", i, len(concerned), spared, tc.concerned, tc.spared)
		}
	}
}

// BenchmarkUnusedKey is what a change of a key costs that no workload uses, in a ConfigMap of 1 MiB
// that many workloads use: its data is hashed, and none of the workloads is read.
func BenchmarkUnusedKey(b *testing.B) {
	for _, keys := range []string{"used", "all"} {
		b.Run(keys+" keys count", func(b *testing.B) {
			s := usingLevel(manyWorkloads, keys)
			pages := [2]string{page("b"), page("c")}
			version, read := 1, 0
			b.ReportAllocs()
			for b.Loop() {
				version++
				for _, key := range s.PutSource(shared("info", pages[version%2], version), live) {
					if f, ok := s.Facts(key); !ok || len(f.Concerns) != 1 {
						b.Fatal("the workload is not concerned")
					}
					read++
				}
			}
			b.ReportMetric(float64(read)/float64(version-1), "workloads/op")
		})
	}
}
