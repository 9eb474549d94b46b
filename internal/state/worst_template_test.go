package state

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workload"
)

// worstTemplates are pod templates of up to 1.5 MiB that have most of what a user can multiply.
func worstTemplates() map[string]*corev1.PodSpec {
	mounted := func(n int, path string, volume corev1.VolumeSource) *corev1.PodSpec {
		app := corev1.Container{Name: "app"}
		for range n {
			app.VolumeMounts = append(app.VolumeMounts, corev1.VolumeMount{Name: "v", SubPath: path})
		}
		return &corev1.PodSpec{Containers: []corev1.Container{app}, Volumes: []corev1.Volume{{Name: "v", VolumeSource: volume}}}
	}
	items := func(n int, path string) *corev1.PodSpec {
		src := corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}}
		for i := range n {
			src.Items = append(src.Items, corev1.KeyToPath{Key: fmt.Sprint(i), Path: fmt.Sprintf("dir/%d", i)})
		}
		return mounted(n, path, corev1.VolumeSource{ConfigMap: &src})
	}
	projected := func(n int) *corev1.PodSpec {
		var all corev1.ProjectedVolumeSource
		for i := range n {
			name := corev1.LocalObjectReference{Name: fmt.Sprint(i)}
			all.Sources = append(all.Sources, corev1.VolumeProjection{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: name}})
		}
		return mounted(n, "", corev1.VolumeSource{Projected: &all})
	}
	variables := func(n int) *corev1.PodSpec {
		app := corev1.Container{Name: "app"}
		for i := range n {
			app.Env = append(app.Env, corev1.EnvVar{Name: "V", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}, Key: fmt.Sprint(i),
			}}})
		}
		return &corev1.PodSpec{Containers: []corev1.Container{app}}
	}
	unions := func(n int) *corev1.PodSpec {
		var all corev1.ProjectedVolumeSource
		for i := range n {
			all.Sources = append(all.Sources, corev1.VolumeProjection{ClusterTrustBundle: stagesBut(fmt.Sprint(i))})
		}
		return mounted(1, "", corev1.VolumeSource{Projected: &all})
	}
	return map[string]*corev1.PodSpec{
		"8,000 selectors of bundles":              unions(8000),
		"4,000 mounts of 4,000 items":             items(4000, ""),
		"4,000 mounts of a directory of items":    items(4000, "dir"),
		"4,000 mounts of 4,000 projected sources": projected(4000),
		"25,000 mounts of 25,000 items":           items(25000, ""),
		"4,000 keys as variables":                 variables(4000),
		"50,000 keys as variables":                variables(50000),
	}
}

// stagesBut selects the bundles of the signer whose stage is another one.
func stagesBut(stage ...string) *corev1.ClusterTrustBundleProjection {
	return &corev1.ClusterTrustBundleProjection{SignerName: new(signer), LabelSelector: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "stage", Operator: metav1.LabelSelectorOpNotIn, Values: stage}},
	}}
}

// ofTemplate is a workload of which only the used keys count. It has further annotations,
// too: more is their keys and values, in turns.
func ofTemplate(spec *corev1.PodSpec, more ...string) workload.Workload {
	meta := &metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web", ResourceVersion: "1", Annotations: map[string]string{auto: "true", annotations.Keys: "used"}}
	for i := 0; i < len(more); i += 2 {
		meta.Annotations[more[i]] = more[i+1]
	}
	return workload.New(workload.Kind{Name: "Deployment"}, meta, nil, &corev1.PodTemplateSpec{Spec: *spec}, annotations.DefaultNames())
}

func TestTheWorstTemplatesKeepLittleMemory(t *testing.T) {
	for name, spec := range worstTemplates() {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			before := heap()
			s.PutWorkload(ofTemplate(spec), live)
			if kept := heap() - before; kept > 4<<20 {
				t.Errorf("%d bytes are kept, may be %d", kept, 4<<20)
			}
			runtime.KeepAlive(s)
			runtime.KeepAlive(spec)
		})
	}
}

func TestUnionsOfBundlesTakeTimeInProportion(t *testing.T) {
	const little, much, most = 100, 8000, 300 // in proportion it is 80 times, by the square 6,400 times
	edits := func(n int) func() {
		s := New(false)
		for i := range n {
			volume := corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ClusterTrustBundle: stagesBut(fmt.Sprint(i))}}}}
			w := ofTemplate(&corev1.PodSpec{Volumes: []corev1.Volume{{Name: "v", VolumeSource: volume}}})
			w.Key.Name = fmt.Sprint(i)
			s.PutWorkload(w, inASnap)
		}
		s.PutSource(bundleOf("a", "x", "live", 1), inASnap)
		s.PutSource(bundleOf("b", "y", "live", 1), inASnap)
		s.Unite()
		version := 1
		return func() {
			version++
			if got := s.PutSource(bundleOf("a", string(rune('p'+version%2)), "live", version), live); len(got) != n {
				t.Fatalf("it reaches %d workloads", len(got))
			}
		}
	}
	less, more := edits(little), edits(much)
	few, many := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range 5 { // the shortest is how long it takes when nothing else gets in its way
		few, many = min(few, took(less)), min(many, took(more))
		if many <= most*few {
			return
		}
	}
	t.Errorf("%d take %s, and %d take %s", little, few, much, many)
}

// BenchmarkWorstTemplates is how long an event of such a workload takes once it is read: to find its
// uses, and to store it with the lock.
func BenchmarkWorstTemplates(b *testing.B) {
	for name, spec := range worstTemplates() {
		b.Run(name+", read", func(b *testing.B) {
			for b.Loop() {
				workload.References(spec)
			}
		})
		w := ofTemplate(spec)
		b.Run(name+", with the lock", func(b *testing.B) {
			s, version := New(false), 0
			b.ReportAllocs()
			for b.Loop() {
				version++
				w.ResourceVersion = fmt.Sprint(version)
				s.PutWorkload(w, live)
			}
		})
	}
}
