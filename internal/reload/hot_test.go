package reload

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// podSpec uses a ConfigMap and a Secret in each of five containers, and ten volumes.
func podSpec() corev1.PodSpec {
	var spec corev1.PodSpec
	for i := range 5 {
		c := corev1.Container{Name: fmt.Sprintf("c-%d", i), Image: "example.com/app:1"}
		c.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "cm"}}}}
		for j := range 10 {
			c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("V%d", j), Value: "value"})
		}
		c.Env = append(c.Env, corev1.EnvVar{Name: "KEY", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "sec"}, Key: "key",
		}}})
		spec.Containers = append(spec.Containers, c)
	}
	for i := range 10 {
		spec.Volumes = append(spec.Volumes, corev1.Volume{Name: fmt.Sprintf("v-%d", i), VolumeSource: corev1.VolumeSource{
			Secret: &corev1.SecretVolumeSource{SecretName: fmt.Sprintf("sec-%d", i)},
		}})
	}
	return spec
}

func BenchmarkReferences(b *testing.B) {
	spec := podSpec()
	b.ReportAllocs()
	for b.Loop() {
		workload.References(&spec)
	}
}

func BenchmarkNewWorkload(b *testing.B) {
	meta := &metav1.ObjectMeta{
		Namespace: "shop", Name: "web", UID: "uid-1", ResourceVersion: "100",
		Annotations: map[string]string{"reloader.stakater.com/auto": "true"},
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	template := &corev1.PodTemplateSpec{Spec: podSpec()}
	names := annotations.DefaultNames()
	b.ReportAllocs()
	for b.Loop() {
		workload.New(workload.Kind{Name: "Deployment"}, meta, selector, template, names)
	}
}

func BenchmarkDecide(b *testing.B) {
	for name, of := range map[string]struct {
		about *situation
		want  Action
	}{
		"nothing": {web().ledger(nil).cmSeen("one", 120), Nothing},
		"reload":  {web().ledger(nil).cmSeen("two", 120), Reload},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if d := Decide(of.about.f); d.Action != of.want {
					b.Fatalf("decided %s, must be %s", d.Action, of.want)
				}
			}
		})
	}
}

// worstLists are the annotations that take longest to read, of those that are accepted.
func worstLists() map[string]string {
	return map[string]string{
		"names":             numberedEntries("n%d", 36000),
		"names with dots":   numberedEntries("n.%d", 30000),
		"usual expressions": numberedEntries("shop-%d-.*-config", 200),
		"many states":       numberedEntries("[a-z]{60}%d.*", 60),
		"any characters":    numberedEntries("(.?){90}%d", 20),
		"many instructions": numberedEntries("([a-z]?){100}%d", 8),
	}
}

func numberedEntries(format string, n int) string {
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, format+",", i)
	}
	return list.String()
}

// BenchmarkParsePolicy is what the worst annotations take at each event of their object.
func BenchmarkParsePolicy(b *testing.B) {
	names := annotations.DefaultNames()
	for name, list := range worstLists() {
		b.Run(name, func(b *testing.B) {
			own := map[string]string{names.ConfigMap: list}
			b.ReportAllocs()
			for b.Loop() {
				policy.Parse(own, nil, names)
			}
		})
	}
}

// BenchmarkNames is what a source of the longest name takes that no entry of such a list matches.
func BenchmarkNames(b *testing.B) {
	names := annotations.DefaultNames()
	for name, list := range worstLists() {
		b.Run(name, func(b *testing.B) {
			policy, _ := policy.Parse(map[string]string{names.ConfigMap: list}, nil, names)
			key := source.LocalKey{Kind: source.ConfigMap, Name: strings.Repeat("a", 253)}
			b.ReportAllocs()
			for b.Loop() {
				policy.Names(key)
			}
		})
	}
}
