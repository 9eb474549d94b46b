package workload_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/workload"
)

// selecting are the names of the sources of a template that selects bundles of several signers, each
// by labels of its own.
func selecting(labels ...string) []string {
	var projected corev1.ProjectedVolumeSource
	for i, label := range labels {
		projected.Sources = append(projected.Sources, corev1.VolumeProjection{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{
			SignerName: new(fmt.Sprintf("example.com/%d", i%2)), LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{label: "x"}},
		}})
	}
	var names []string
	for _, ref := range workload.References(&corev1.PodSpec{Volumes: []corev1.Volume{
		{Name: "v", VolumeSource: corev1.VolumeSource{Projected: &projected}}, configMapVolume("w", "app"),
	}}) {
		if names = append(names, ref.Key.Name); len(ref.Uses) != 1 && !strings.HasSuffix(ref.Key.Name, "{}") {
			names = append(names, fmt.Sprint(len(ref.Uses)))
		}
	}
	return names
}

func numbered(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("label-%02d", i)
	}
	return all
}

func TestATemplateThatSelectsBundlesTooOftenUsesAllOfEachSigner(t *testing.T) {
	if got := selecting(numbered(16)...); len(got) != 17 || got[16] != "example.com/1{label-15=x}" {
		t.Errorf("with few selectors: %v", got)
	}
	all := []string{"app", "example.com/0{}", "example.com/1{}"}
	if diff := cmp.Diff(all, selecting(numbered(17)...)); diff != "" {
		t.Errorf("with many selectors (-want +got):\n%s", diff)
	}
	var long []string
	for i := range 14 {
		long = append(long, fmt.Sprintf("%s/%s", strings.Repeat("a.", 120)+"b", strings.Repeat("c", 50+i)))
	}
	if diff := cmp.Diff(all, selecting(long...)); diff != "" {
		t.Errorf("with long selectors (-want +got):\n%s", diff)
	}
}
