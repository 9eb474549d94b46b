package workload_test

import (
	"fmt"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workload"
)

// markedTemplate has a map wherever there can be one, and marks of two reloads.
func markedTemplate() *corev1.PodTemplateSpec {
	many := map[string]string{}
	limits := corev1.ResourceList{}
	for i := range 20 {
		many[fmt.Sprintf("example.com/key-%d", i)] = "value"
		limits[corev1.ResourceName(fmt.Sprintf("example.com/thing-%d", i))] = resource.MustParse("1")
	}
	return &corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: many, Annotations: many},
		Spec: corev1.PodSpec{NodeSelector: many, Containers: []corev1.Container{
			{Name: "app", Resources: corev1.ResourceRequirements{Limits: limits}, Env: []corev1.EnvVar{
				{Name: "LEVEL", Value: "debug"}, {Name: "STAKATER_WEB_CONFIGMAP", Value: "two"}, {Name: "STAKATER_API_SECRET", Value: "one"},
			}},
		}},
	}
}

func read(template *corev1.PodTemplateSpec) workload.Workload {
	return workload.New(workload.Kind{Name: "Deployment"}, &metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u"}, nil, template, annotations.DefaultNames())
}

func TestARevisionStandsForTheWholeTemplate(t *testing.T) {
	first := read(markedTemplate())
	for range 50 {
		again := read(markedTemplate())
		if again.Template != first.Template || again.Revision() != first.Revision() {
			t.Fatal("the same template has another revision")
		}
	}
	for about, change := range map[string]func(*corev1.PodTemplateSpec){
		"a label":     func(tpl *corev1.PodTemplateSpec) { tpl.Labels = map[string]string{"app": "web"} },
		"an image":    func(tpl *corev1.PodTemplateSpec) { tpl.Spec.Containers[0].Image = "web:2" },
		"a variable":  func(tpl *corev1.PodTemplateSpec) { tpl.Spec.Containers[0].Env[0].Value = "info" },
		"a container": func(tpl *corev1.PodTemplateSpec) { tpl.Spec.InitContainers = []corev1.Container{{Name: "init"}} },
		"a limit": func(tpl *corev1.PodTemplateSpec) {
			tpl.Spec.Containers[0].Resources.Limits["cpu"] = resource.MustParse("2")
		},
		"a grace of 0": func(tpl *corev1.PodTemplateSpec) { tpl.Spec.TerminationGracePeriodSeconds = new(int64) },
	} {
		template := markedTemplate()
		change(template)
		if other := read(template); other.Template == first.Template {
			t.Errorf("%s changes nothing", about)
		}
	}
	marked := markedTemplate()
	marked.Spec.Containers[0].Env[1].Value = "three"
	marked.Annotations = map[string]string{annotations.Rolled: "2026-01-02T03:04:05Z"}
	maps.Copy(marked.Annotations, markedTemplate().Annotations)
	if other := read(marked); other.Template != first.Template || other.Revision() == first.Revision() {
		t.Error("marks count as more than marks, or not at all")
	}
}

// workload_test.TestMarksAreWhatLedgersSayOfThem: another digest of the same marks would make every
// reload in a cluster look reverted.
func TestMarksAreWhatLedgersSayOfThem(t *testing.T) {
	template := markedTemplate()
	template.Annotations = map[string]string{annotations.Rolled: "2026-01-02T03:04:05Z", annotations.DefaultNames().LastReloadedFrom: `{"name":"web"}`}
	w := read(template)
	w.Marks.RestartAt = "2026-01-02T03:04:05Z"
	const want = "f25fef7cab4918f4ce4790aa2d20aeaf"
	if got := w.MarksDigest().String(); got != want {
		t.Errorf("the digest is %s, must be %s", got, want)
	}
}
