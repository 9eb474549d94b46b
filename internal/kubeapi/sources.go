package kubeapi

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
)

// SourceKind is how sources of a kind come.
type SourceKind struct {
	Kind source.Kind
	// Resource has no Namespace.
	Resource Watched
	// Read returns what is kept of an object; false for one of another kind.
	Read func(obj runtime.Object, key digest.Key, names annotations.Names) (source.Source, bool)
}

// In is the resource in a namespace, or in all. A kind without a namespace is read whole.
func (k SourceKind) In(namespace string) Watched {
	w := k.Resource
	if k.Kind.ClusterScoped() {
		return w
	}
	w.Namespace = namespace
	return w
}

// ordinarySecrets leaves out what no pod can use as configuration: the history of Helm releases, by
// far the largest Secrets of most clusters, and the tokens that nodes join with. Every other type
// can be mounted.
const ordinarySecrets = "type!=helm.sh/release.v1,type!=bootstrap.kubernetes.io/token"

// SourceKinds is the table of the kinds of source whose objects are read.
func SourceKinds() []SourceKind {
	return []SourceKind{
		{
			Kind: source.ConfigMap,
			Resource: Watched{
				Resource: resourceOf(source.ConfigMap), NewList: func() runtime.Object { return &corev1.ConfigMapList{} },
			},
			Read: func(obj runtime.Object, _ digest.Key, names annotations.Names) (source.Source, bool) {
				cm, ok := obj.(*corev1.ConfigMap)
				return source.FromConfigMap(cm, names), ok
			},
		},
		{
			Kind: source.Secret,
			Resource: Watched{
				Resource: resourceOf(source.Secret), FieldSelector: ordinarySecrets, NewList: func() runtime.Object { return &corev1.SecretList{} },
			},
			Read: func(obj runtime.Object, key digest.Key, names annotations.Names) (source.Source, bool) {
				secret, ok := obj.(*corev1.Secret)
				return source.FromSecret(secret, key, names), ok
			},
		},
		trustBundles(),
	}
}

func resourceOf(kind source.Kind) schema.GroupVersionResource {
	return schema.FromAPIVersionAndKind(kind.APIVersion(), "").GroupVersion().WithResource(kind.Resource())
}
