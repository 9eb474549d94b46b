package kubeapi

import (
	"math"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/internal/grant"
	"github.com/reroll-dev/reroll/internal/source"
)

const grantKind = "ReferenceGrant"

// ReferenceGrants is how ReferenceGrants are read. The Gateway API serves its group in version v1
// before ReferenceGrants have it, so both versions are tried.
func ReferenceGrants(namespace string) Watched {
	return Watched{
		Resource:  schema.GroupVersionResource{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "referencegrants"},
		Namespace: namespace, Older: []string{"v1beta1"}, Custom: true, Kind: grantKind, Required: true,
		NewList: func() runtime.Object { return &unstructured.UnstructuredList{} },
	}
}

// ReadReferenceGrant returns what a ReferenceGrant allows; nil if it allows no source. It returns
// false for another object.
func ReadReferenceGrant(obj runtime.Object) (g *grant.Grant, ok bool) {
	o, is := obj.(*unstructured.Unstructured)
	if !is || o.GetKind() != grantKind || o.GroupVersionKind().Group != ReferenceGrants("").Resource.Group {
		return nil, false
	}
	spec, _ := o.Object["spec"].(map[string]any)
	var written uint32
	if at := source.LastWrite(&metav1.ObjectMeta{ManagedFields: o.GetManagedFields()}, "spec").Unix(); at > 0 && at <= math.MaxUint32 {
		written = uint32(at)
	}
	return grant.Read(spec, written), true
}
