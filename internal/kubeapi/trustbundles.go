package kubeapi

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
)

// trustBundles is how ClusterTrustBundles come: as custom objects, because few clusters serve them,
// and in more than one version. So the binary needs none of their Go types.
func trustBundles() SourceKind {
	return SourceKind{
		Kind: source.ClusterTrustBundle,
		Resource: Watched{
			Resource: resourceOf(source.ClusterTrustBundle), Older: []string{"v1beta1"},
			Custom: true, Kind: source.ClusterTrustBundle.String(), Required: true,
			NewList: func() runtime.Object { return &unstructured.UnstructuredList{} },
		},
		Read: readTrustBundle,
	}
}

// readTrustBundle counts a field of an unexpected type as absent.
func readTrustBundle(obj runtime.Object, _ digest.Key, names annotations.Names) (source.Source, bool) {
	o, ok := obj.(*unstructured.Unstructured)
	if !ok || o.GetKind() != source.ClusterTrustBundle.String() || o.GroupVersionKind().Group != resourceOf(source.ClusterTrustBundle).Group {
		return source.Source{}, false
	}
	field := func(name string) string {
		value, _, _ := unstructured.NestedString(o.Object, "spec", name)
		return value
	}
	meta := &metav1.ObjectMeta{
		Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(), CreationTimestamp: o.GetCreationTimestamp(),
		Labels: o.GetLabels(), Annotations: o.GetAnnotations(), ManagedFields: o.GetManagedFields(),
	}
	return source.FromTrustBundle(meta, field("signerName"), field("trustBundle"), names), true
}

// TrustBundleVersions are the versions in which the API server may serve ClusterTrustBundles.
func TrustBundleVersions() []schema.GroupVersionResource { return trustBundles().Resource.Versions() }
