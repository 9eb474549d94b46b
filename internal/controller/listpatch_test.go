package controller

import (
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
)

// A JSON Patch that meets another version is not answered with a conflict: one of its tests fails.
func TestAConflictOfAJSONPatchIsRetriedBeforeItFails(t *testing.T) {
	s := newStage(t)
	s.opts().Strategy = reload.StrategyEnvVars
	src, err := s.server.Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}, Data: map[string]string{"v": "1"}}, "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	ledger := ledger.Ledger{UID: "u-1", Instance: s.installation().Key.ID(), Counter: 1, Entries: map[source.LocalKey]digest.Digest{{Kind: source.ConfigMap, Name: "web"}: {1}}}
	rollout := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
		"metadata": map[string]any{"namespace": namespace, "name": "web", "uid": "u-1", "resourceVersion": "1", "annotations": map[string]any{
			annotations.DefaultNames().Auto: "true", annotations.Ledger: ledger.String(),
		}},
		"spec": map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
			"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{
				"name": "app", "envFrom": []any{map[string]any{"configMapRef": map[string]any{"name": "web"}}},
			}}}},
		},
	}}
	s.workloadsOf("Rollout").isListed(rollout)
	s.configMaps().arrives(src)
	s.edit("web", "2")
	s.refuses = apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "patch", schema.GroupResource{Resource: "rollouts"}, "web", "testing value failed", 0, false)
	s.play(3 * time.Second)
	if s.patched < 2 || s.failed != 0 {
		t.Errorf("after %d tries %d failures were told, want none yet", s.patched, s.failed)
	}
	s.play(time.Hour)
	if s.failed == 0 {
		t.Errorf("%d tries were refused, and nobody was told", s.patched)
	}
}
