package workload

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
)

func TestWhenAWorkloadAsked(t *testing.T) {
	when := func(second int64) *metav1.Time {
		t := metav1.NewTime(time.Unix(second, 0))
		return &t
	}
	own := metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:reloader.stakater.com/auto":{}}}}`)
	below := metav1.NewFieldsV1(`{"f:spec":{"f:template":{"f:metadata":{"f:annotations":{"f:reloader.stakater.com/search":{}}}}}}`)
	meta := &metav1.ObjectMeta{Annotations: map[string]string{"reloader.stakater.com/auto": "true"}, ManagedFields: []metav1.ManagedFieldsEntry{
		{Manager: "reroll", Time: when(90), FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:annotations":{"f:reroll.dev/ledger":{}}}}`)},
		{Manager: "kubectl", Time: when(20), FieldsV1: own}, {Manager: "helm", Time: when(30), FieldsV1: below}, {Manager: "none"},
	}}
	if got := optedInAt(meta, nil, annotations.DefaultNames()); !got.Equal(time.Unix(20, 0)) {
		t.Errorf("by its own annotation at %v", got)
	}
	if got := optedInAt(meta, map[string]string{"reloader.stakater.com/search": "true"}, annotations.DefaultNames()); !got.Equal(time.Unix(30, 0)) {
		t.Errorf("by that of its pod template at %v", got)
	}
	if got := optedInAt(&metav1.ObjectMeta{ManagedFields: meta.ManagedFields}, nil, annotations.DefaultNames()); !got.IsZero() {
		t.Errorf("without an annotation at %v", got)
	}
}
