package workload

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
)

func TestWhenReloaderWrote(t *testing.T) {
	entry := func(manager string, second int64, raw string) metav1.ManagedFieldsEntry {
		when := metav1.NewTime(time.Unix(second, 0))
		return metav1.ManagedFieldsEntry{Manager: manager, Time: &when, FieldsV1: metav1.NewFieldsV1(raw)}
	}
	const mark = `{"k:{\"name\":\"STAKATER_CM_CONFIGMAP\"}":{}}`
	for name, tc := range map[string]struct {
		fields []metav1.ManagedFieldsEntry
		want   int64
	}{
		"the later of two":   {[]metav1.ManagedFieldsEntry{entry("Reloader", 5, mark), entry("Reloader", 9, mark), entry("Reloader", 7, mark)}, 9},
		"by the annotation":  {[]metav1.ManagedFieldsEntry{entry("Reloader", 5, `{"f:reloader.stakater.com/last-reloaded-from":{}}`)}, 5},
		"no mark":            {[]metav1.ManagedFieldsEntry{entry("Reloader", 5, `{"f:paused":{}}`)}, 0},
		"somebody else":      {[]metav1.ManagedFieldsEntry{entry("helm", 5, mark)}, 0},
		"no time":            {[]metav1.ManagedFieldsEntry{{Manager: "Reloader", FieldsV1: metav1.NewFieldsV1(mark)}}, 0},
		"nothing but a name": {[]metav1.ManagedFieldsEntry{{Manager: "Reloader"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var want time.Time
			if tc.want != 0 {
				want = time.Unix(tc.want, 0)
			}
			if got := byReloader(tc.fields, annotations.DefaultNames()); !got.Equal(want) {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestManagersOfMarksAreReadFromTheManagedFields(t *testing.T) {
	entry := func(manager, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	got, applied := markWriters([]metav1.ManagedFieldsEntry{
		entry("helm", `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{"f:env":{"k:{\"name\":\"STAKATER_A_CONFIGMAP\"}":{},"k:{\"name\":\"PLAIN\"}":{},"k:{\"name\":\"STAKATER_B_SECRET\"}":{}}}}}}}}`),
		entry("reroll", `{"k:{\"name\":\"STAKATER_C_CONFIGMAP\"}":{}}`),
		entry("argo", `{"f:metadata":{"f:annotations":{"f:reloader.stakater.com/last-reloaded-from":{}}}}`),
	}, annotations.DefaultNames())
	if applied["STAKATER_A_CONFIGMAP"] != "helm" || applied["reloader.stakater.com/last-reloaded-from"] != "" {
		t.Errorf("will be written again: %v", applied)
	}
	for mark, manager := range map[string]string{
		"STAKATER_A_CONFIGMAP": "helm", "STAKATER_B_SECRET": "helm", "STAKATER_C_CONFIGMAP": "", "PLAIN": "",
		"reloader.stakater.com/last-reloaded-from": "argo",
	} {
		if got[mark] != manager {
			t.Errorf("%s is written by %q, want %q", mark, got[mark], manager)
		}
	}
}

func TestWhoWillWriteAMarkAgain(t *testing.T) {
	for about, tc := range map[string]struct {
		manager   string
		operation metav1.ManagedFieldsOperationType
		want      bool
	}{
		"kubectl apply":               {"kubectl-client-side-apply", "Update", true},
		"kubectl apply --server-side": {"kubectl", "Apply", true},
		"Argo CD":                     {"argocd-controller", "Update", true},
		"Helm":                        {"helm", "Update", true},
		"Terraform":                   {"Terraform", "Update", true},
		"whoever applies":             {"deployer", "Apply", true},
		"whoever has made it":         {"deployer", "Update", false},
		"kubectl rollout undo":        {"kubectl-rollout", "Update", false},
		"kubectl edit":                {"kubectl-edit", "Update", false},
		"Reloader":                    {"Reloader", "Update", false},
	} {
		if got := applies(&metav1.ManagedFieldsEntry{Manager: tc.manager, Operation: tc.operation}); got != tc.want {
			t.Errorf("%s: %t, want %t", about, got, tc.want)
		}
	}
}
