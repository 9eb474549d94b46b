package kubeapi

import (
	"math"
	"time"

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

// ReadReferenceGrant returns what a ReferenceGrant allows; nil if it allows no source, or is being
// deleted: whoever deletes one withdraws consent, even if a finalizer holds it. It returns false for
// another object.
func ReadReferenceGrant(obj runtime.Object) (g *grant.Grant, ok bool) {
	o, is := obj.(*unstructured.Unstructured)
	if !is || o.GetKind() != grantKind || o.GroupVersionKind().Group != ReferenceGrants("").Resource.Group {
		return nil, false
	}
	if o.GetDeletionTimestamp() != nil {
		return nil, true
	}
	spec, _ := o.Object["spec"].(map[string]any)
	written := source.LastWrite(&metav1.ObjectMeta{ManagedFields: o.GetManagedFields()}, "spec")
	return grant.Read(spec, seconds(o.GetCreationTimestamp().Time), seconds(written)), true
}

// seconds is a time in seconds since 1970; 0 if it is not known.
func seconds(at time.Time) uint32 {
	if unix := at.Unix(); unix > 0 && unix <= math.MaxUint32 {
		return uint32(unix)
	}
	return 0
}
