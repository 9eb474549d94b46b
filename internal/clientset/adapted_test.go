package clientset_test

import (
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/internal/clientset"
)

// adapted sends the requests with the clients of client-go.
type adapted struct{ kubernetes.Interface }

// ConfigMaps implements clientset.Interface.
func (a adapted) ConfigMaps(namespace string) clientset.Objects[*corev1.ConfigMap, *corev1.ConfigMapList] {
	return a.CoreV1().ConfigMaps(namespace)
}

// Secrets implements clientset.Interface.
func (a adapted) Secrets(namespace string) clientset.Objects[*corev1.Secret, *corev1.SecretList] {
	return a.CoreV1().Secrets(namespace)
}

// Namespaces implements clientset.Interface.
func (a adapted) Namespaces() clientset.Objects[*corev1.Namespace, *corev1.NamespaceList] {
	return a.CoreV1().Namespaces()
}

// Pods implements clientset.Interface.
func (a adapted) Pods(namespace string) clientset.Objects[*corev1.Pod, *corev1.PodList] {
	return a.CoreV1().Pods(namespace)
}

// CoreEvents implements clientset.Interface.
func (a adapted) CoreEvents(namespace string) clientset.Objects[*corev1.Event, *corev1.EventList] {
	return a.CoreV1().Events(namespace)
}

// Events implements clientset.Interface.
func (a adapted) Events(namespace string) clientset.Objects[*eventsv1.Event, *eventsv1.EventList] {
	return a.EventsV1().Events(namespace)
}

// Deployments implements clientset.Interface.
func (a adapted) Deployments(namespace string) clientset.Objects[*appsv1.Deployment, *appsv1.DeploymentList] {
	return a.AppsV1().Deployments(namespace)
}

// ReplicaSets implements clientset.Interface.
func (a adapted) ReplicaSets(namespace string) clientset.Objects[*appsv1.ReplicaSet, *appsv1.ReplicaSetList] {
	return a.AppsV1().ReplicaSets(namespace)
}

// Leases implements clientset.Interface.
func (a adapted) Leases(namespace string) clientset.Objects[*coordinationv1.Lease, *coordinationv1.LeaseList] {
	return a.CoordinationV1().Leases(namespace)
}

// SelfSubjectAccessReviews implements clientset.Interface.
func (a adapted) SelfSubjectAccessReviews() clientset.Creator[*authorizationv1.SelfSubjectAccessReview] {
	return a.AuthorizationV1().SelfSubjectAccessReviews()
}

// SelfSubjectRulesReviews implements clientset.Interface.
func (a adapted) SelfSubjectRulesReviews() clientset.Creator[*authorizationv1.SelfSubjectRulesReview] {
	return a.AuthorizationV1().SelfSubjectRulesReviews()
}

// SelfSubjectReviews implements clientset.Interface.
func (a adapted) SelfSubjectReviews() clientset.Creator[*authenticationv1.SelfSubjectReview] {
	return a.AuthenticationV1().SelfSubjectReviews()
}

// SubjectAccessReviews implements clientset.Interface.
func (a adapted) SubjectAccessReviews() clientset.Creator[*authorizationv1.SubjectAccessReview] {
	return a.AuthorizationV1().SubjectAccessReviews()
}

// TokenReviews implements clientset.Interface.
func (a adapted) TokenReviews() clientset.Creator[*authenticationv1.TokenReview] {
	return a.AuthenticationV1().TokenReviews()
}

// Group implements clientset.Interface.
func (a adapted) Group(name string) rest.Interface {
	return map[string]rest.Interface{
		corev1.GroupName: a.CoreV1().RESTClient(), appsv1.GroupName: a.AppsV1().RESTClient(), batchv1.GroupName: a.BatchV1().RESTClient(),
	}[name]
}

// Discovery implements clientset.Interface.
func (a adapted) Discovery() rest.Interface { return a.Interface.Discovery().RESTClient() }
