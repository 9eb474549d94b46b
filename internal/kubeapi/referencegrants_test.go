package kubeapi

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/reroll-dev/reroll/internal/grant"
	"github.com/reroll-dev/reroll/internal/source"
)

func TestAReferenceGrantThatIsBeingDeletedAllowsNothing(t *testing.T) {
	from, ca := grant.From{Group: "apps", Kind: "Deployment", Namespace: "shop"}, source.LocalKey{Kind: source.ConfigMap, Name: "ca"}
	read := func(metadata map[string]any) *grant.Grant {
		g, ok := ReadReferenceGrant(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "gateway.networking.k8s.io/v1", "kind": "ReferenceGrant", "metadata": metadata,
			"spec": map[string]any{
				"from": []any{map[string]any{"group": "apps", "kind": "Deployment", "namespace": "shop"}},
				"to":   []any{map[string]any{"group": "", "kind": "ConfigMap"}},
			},
		}})
		if !ok {
			t.Fatal("it is not taken for a ReferenceGrant")
		}
		return g
	}
	if !read(map[string]any{"name": "g", "namespace": "infra"}).Allows(from, ca) {
		t.Error("it does not allow what it says")
	}
	held := map[string]any{"name": "g", "namespace": "infra", "deletionTimestamp": "2026-11-26T12:00:00Z", "finalizers": []any{"example.com/held"}}
	if read(held).Allows(from, ca) {
		t.Error("a finalizer holds its consent")
	}
}
