// Package clientsettest has clients for tests, which keep their objects in memory. The fake ones of
// client-go import every API group, which takes seconds of each link of a test.
package clientsettest

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"

	"github.com/reroll-dev/reroll/internal/clientset"
)

// Fake implements clientset.Interface. With its reactors, a test answers requests itself.
type Fake struct{ clienttesting.Fake }

// New returns clients of a cluster that has these objects.
func New(objects ...runtime.Object) *Fake {
	tracker := clienttesting.NewObjectTracker(clientset.Scheme, clientset.Codecs.UniversalDecoder())
	for _, obj := range objects {
		if err := tracker.Add(obj); err != nil {
			panic(err) // the test wants a kind that the scheme does not have
		}
	}
	f := &Fake{}
	f.AddReactor("*", "*", clienttesting.ObjectReaction(tracker))
	return f
}

// ConfigMaps implements clientset.Interface.
func (f *Fake) ConfigMaps(namespace string) clientset.Objects[*corev1.ConfigMap, *corev1.ConfigMapList] {
	return in[corev1.ConfigMap, corev1.ConfigMapList](f, corev1.SchemeGroupVersion, "configmaps", "ConfigMap", namespace)
}

// Secrets implements clientset.Interface.
func (f *Fake) Secrets(namespace string) clientset.Objects[*corev1.Secret, *corev1.SecretList] {
	return in[corev1.Secret, corev1.SecretList](f, corev1.SchemeGroupVersion, "secrets", "Secret", namespace)
}

// Namespaces implements clientset.Interface.
func (f *Fake) Namespaces() clientset.Objects[*corev1.Namespace, *corev1.NamespaceList] {
	return in[corev1.Namespace, corev1.NamespaceList](f, corev1.SchemeGroupVersion, "namespaces", "Namespace", "")
}

// Pods implements clientset.Interface.
func (f *Fake) Pods(namespace string) clientset.Objects[*corev1.Pod, *corev1.PodList] {
	return in[corev1.Pod, corev1.PodList](f, corev1.SchemeGroupVersion, "pods", "Pod", namespace)
}

// CoreEvents implements clientset.Interface.
func (f *Fake) CoreEvents(namespace string) clientset.Objects[*corev1.Event, *corev1.EventList] {
	return in[corev1.Event, corev1.EventList](f, corev1.SchemeGroupVersion, "events", "Event", namespace)
}

// Events implements clientset.Interface.
func (f *Fake) Events(namespace string) clientset.Objects[*eventsv1.Event, *eventsv1.EventList] {
	return in[eventsv1.Event, eventsv1.EventList](f, eventsv1.SchemeGroupVersion, "events", "Event", namespace)
}

// Deployments implements clientset.Interface.
func (f *Fake) Deployments(namespace string) clientset.Objects[*appsv1.Deployment, *appsv1.DeploymentList] {
	return in[appsv1.Deployment, appsv1.DeploymentList](f, appsv1.SchemeGroupVersion, "deployments", "Deployment", namespace)
}

// ReplicaSets implements clientset.Interface.
func (f *Fake) ReplicaSets(namespace string) clientset.Objects[*appsv1.ReplicaSet, *appsv1.ReplicaSetList] {
	return in[appsv1.ReplicaSet, appsv1.ReplicaSetList](f, appsv1.SchemeGroupVersion, "replicasets", "ReplicaSet", namespace)
}

// Leases implements clientset.Interface.
func (f *Fake) Leases(namespace string) clientset.Objects[*coordinationv1.Lease, *coordinationv1.LeaseList] {
	return in[coordinationv1.Lease, coordinationv1.LeaseList](f, coordinationv1.SchemeGroupVersion, "leases", "Lease", namespace)
}

// SelfSubjectAccessReviews implements clientset.Interface.
func (f *Fake) SelfSubjectAccessReviews() clientset.Creator[*authorizationv1.SelfSubjectAccessReview] {
	return reviews[authorizationv1.SelfSubjectAccessReview](f, authorizationv1.SchemeGroupVersion, "selfsubjectaccessreviews")
}

// SelfSubjectRulesReviews implements clientset.Interface.
func (f *Fake) SelfSubjectRulesReviews() clientset.Creator[*authorizationv1.SelfSubjectRulesReview] {
	return reviews[authorizationv1.SelfSubjectRulesReview](f, authorizationv1.SchemeGroupVersion, "selfsubjectrulesreviews")
}

// SelfSubjectReviews implements clientset.Interface.
func (f *Fake) SelfSubjectReviews() clientset.Creator[*authenticationv1.SelfSubjectReview] {
	return reviews[authenticationv1.SelfSubjectReview](f, authenticationv1.SchemeGroupVersion, "selfsubjectreviews")
}

// SubjectAccessReviews implements clientset.Interface.
func (f *Fake) SubjectAccessReviews() clientset.Creator[*authorizationv1.SubjectAccessReview] {
	return reviews[authorizationv1.SubjectAccessReview](f, authorizationv1.SchemeGroupVersion, "subjectaccessreviews")
}

// TokenReviews implements clientset.Interface.
func (f *Fake) TokenReviews() clientset.Creator[*authenticationv1.TokenReview] {
	return reviews[authenticationv1.TokenReview](f, authenticationv1.SchemeGroupVersion, "tokenreviews")
}

// Group implements clientset.Interface. There is no connection, so there is no client for one.
func (f *Fake) Group(string) rest.Interface { return nil }

// Discovery implements clientset.Interface, as Group does.
func (f *Fake) Discovery() rest.Interface { return nil }

// pointer is one to a Go type of the scheme.
type pointer[E any] interface {
	*E
	runtime.Object
}

type object[E any] interface {
	pointer[E]
	metav1.Object
}

type creator[E any, T object[E]] struct {
	fake      *Fake
	resource  schema.GroupVersionResource
	namespace string
}

func reviews[E any, T object[E]](f *Fake, version schema.GroupVersion, resource string) clientset.Creator[T] {
	return creator[E, T]{f, version.WithResource(resource), ""}
}

// Create implements clientset.Creator.
func (c creator[E, T]) Create(_ context.Context, obj T, opts metav1.CreateOptions) (T, error) {
	return answered[E, T](c.fake, clienttesting.NewCreateActionWithOptions(c.resource, c.namespace, obj, opts))
}

// Update implements clientset.Objects.
func (c creator[E, T]) Update(_ context.Context, obj T, opts metav1.UpdateOptions) (T, error) {
	return answered[E, T](c.fake, clienttesting.NewUpdateActionWithOptions(c.resource, c.namespace, obj, opts))
}

// Get implements clientset.Objects.
func (c creator[E, T]) Get(_ context.Context, name string, opts metav1.GetOptions) (T, error) {
	return answered[E, T](c.fake, clienttesting.NewGetActionWithOptions(c.resource, c.namespace, name, opts))
}

type objects[E, F any, T object[E], L pointer[F]] struct {
	creator[E, T]
	kind string
}

func in[E, F any, T object[E], L pointer[F]](f *Fake, version schema.GroupVersion, resource, kind, namespace string) clientset.Objects[T, L] {
	return objects[E, F, T, L]{creator[E, T]{f, version.WithResource(resource), namespace}, kind}
}

// List implements clientset.Objects. As in a cluster, it returns what the labels select.
func (o objects[E, F, T, L]) List(_ context.Context, opts metav1.ListOptions) (L, error) {
	action := clienttesting.NewListActionWithOptions(o.resource, o.resource.GroupVersion().WithKind(o.kind), o.namespace, opts)
	found, err := answered[F, L](o.fake, action)
	if err != nil {
		return found, err
	}
	selector, err := labels.Parse(opts.LabelSelector)
	if err != nil {
		return found, err
	}
	var selected []runtime.Object
	if err := meta.EachListItem(found, func(item runtime.Object) error {
		obj, err := meta.Accessor(item)
		if err == nil && selector.Matches(labels.Set(obj.GetLabels())) {
			selected = append(selected, item)
		}
		return err
	}); err != nil {
		return found, err
	}
	return found, meta.SetList(found, selected)
}

// answered is the answer to a request. What a reactor answers has to be of the type that the request
// is for.
func answered[E any, T pointer[E]](f *Fake, action clienttesting.Action) (T, error) {
	answer, err := f.Invokes(action, T(new(E)))
	if obj, ok := answer.(T); ok {
		return obj, err
	}
	if err == nil {
		err = fmt.Errorf("a reactor answers a request for %s with a %T", action.GetResource().Resource, answer)
	}
	return new(E), err
}
