// Package clientset has typed clients for the API groups that Reroll uses, and a scheme of only
// these groups. It does not know why a request is sent.
//
// The clients of client-go/kubernetes import every API group. Most of the size of the binary, and
// much of its memory, would be groups that Reroll never uses.
package clientset

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
	"k8s.io/client-go/util/flowcontrol"
)

// Interface is the part of the Kubernetes API that Reroll uses by Go types. An empty namespace
// means all.
type Interface interface {
	ConfigMaps(namespace string) Objects[*corev1.ConfigMap, *corev1.ConfigMapList]
	Secrets(namespace string) Objects[*corev1.Secret, *corev1.SecretList]
	Namespaces() Objects[*corev1.Namespace, *corev1.NamespaceList]
	Pods(namespace string) Objects[*corev1.Pod, *corev1.PodList]
	// CoreEvents are those of the core group, which can be selected by the UID of their object.
	CoreEvents(namespace string) Objects[*corev1.Event, *corev1.EventList]
	Events(namespace string) Objects[*eventsv1.Event, *eventsv1.EventList]
	Deployments(namespace string) Objects[*appsv1.Deployment, *appsv1.DeploymentList]
	ReplicaSets(namespace string) Objects[*appsv1.ReplicaSet, *appsv1.ReplicaSetList]
	Leases(namespace string) Objects[*coordinationv1.Lease, *coordinationv1.LeaseList]
	SelfSubjectAccessReviews() Creator[*authorizationv1.SelfSubjectAccessReview]
	SelfSubjectRulesReviews() Creator[*authorizationv1.SelfSubjectRulesReview]
	SelfSubjectReviews() Creator[*authenticationv1.SelfSubjectReview]
	SubjectAccessReviews() Creator[*authorizationv1.SubjectAccessReview]
	TokenReviews() Creator[*authenticationv1.TokenReview]
	// Group returns the client of one of these API groups.
	Group(name string) rest.Interface
	// Discovery returns the client for what the API server serves.
	Discovery() rest.Interface
}

// Clientset sends the requests to a real cluster.
type Clientset struct {
	groups    map[string]rest.Interface
	discovery rest.Interface
}

// NewForConfig returns clients that share one connection and one rate limit, as those of client-go
// do.
func NewForConfig(c *rest.Config) (*Clientset, error) {
	config := *c
	if config.UserAgent == "" {
		config.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	if config.RateLimiter == nil && config.QPS > 0 {
		if config.Burst <= 0 {
			return nil, errors.New("burst is required to be greater than 0 when RateLimiter is not set and QPS is set to greater than 0")
		}
		config.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(config.QPS, config.Burst)
	}
	// The first wrapper gets the transport itself.
	config.WrapTransport = transport.Wrappers(boundBuffers, config.WrapTransport)
	client, err := rest.HTTPClientFor(&config)
	if err != nil {
		return nil, err
	}
	all := &Clientset{groups: map[string]rest.Interface{}}
	for _, version := range []schema.GroupVersion{
		corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion, batchv1.SchemeGroupVersion, eventsv1.SchemeGroupVersion,
		coordinationv1.SchemeGroupVersion, authorizationv1.SchemeGroupVersion, authenticationv1.SchemeGroupVersion,
	} {
		of := config
		of.GroupVersion, of.APIPath = &version, "/apis"
		if version.Group == corev1.GroupName {
			of.APIPath = "/api"
		}
		of.NegotiatedSerializer = decodeInPlace(rest.CodecFactoryForGeneratedClient(Scheme, Codecs).WithoutConversion(), Scheme)
		if all.groups[version.Group], err = rest.RESTClientForConfigAndClient(&of, client); err != nil {
			return nil, fmt.Errorf("create a client for %s: %w", version, err)
		}
	}
	// Discovery responses have no group of their own, and may be in any encoding.
	config.GroupVersion, config.APIPath = nil, ""
	config.NegotiatedSerializer = serializer.NegotiatedSerializerWrapper(runtime.SerializerInfo{
		Serializer: runtime.NoopEncoder{Decoder: Codecs.UniversalDecoder()},
	})
	if all.discovery, err = rest.UnversionedRESTClientForConfigAndClient(&config, client); err != nil {
		return nil, fmt.Errorf("create a client for discovery: %w", err)
	}
	return all, nil
}

// ConfigMaps implements Interface.
func (c *Clientset) ConfigMaps(namespace string) Objects[*corev1.ConfigMap, *corev1.ConfigMapList] {
	return in[corev1.ConfigMap, corev1.ConfigMapList](c.groups[corev1.GroupName], "configmaps", namespace)
}

// Secrets implements Interface.
func (c *Clientset) Secrets(namespace string) Objects[*corev1.Secret, *corev1.SecretList] {
	return in[corev1.Secret, corev1.SecretList](c.groups[corev1.GroupName], "secrets", namespace)
}

// Namespaces implements Interface.
func (c *Clientset) Namespaces() Objects[*corev1.Namespace, *corev1.NamespaceList] {
	return in[corev1.Namespace, corev1.NamespaceList](c.groups[corev1.GroupName], "namespaces", "")
}

// Pods implements Interface.
func (c *Clientset) Pods(namespace string) Objects[*corev1.Pod, *corev1.PodList] {
	return in[corev1.Pod, corev1.PodList](c.groups[corev1.GroupName], "pods", namespace)
}

// CoreEvents implements Interface.
func (c *Clientset) CoreEvents(namespace string) Objects[*corev1.Event, *corev1.EventList] {
	return in[corev1.Event, corev1.EventList](c.groups[corev1.GroupName], "events", namespace)
}

// Events implements Interface.
func (c *Clientset) Events(namespace string) Objects[*eventsv1.Event, *eventsv1.EventList] {
	return in[eventsv1.Event, eventsv1.EventList](c.groups[eventsv1.GroupName], "events", namespace)
}

// Deployments implements Interface.
func (c *Clientset) Deployments(namespace string) Objects[*appsv1.Deployment, *appsv1.DeploymentList] {
	return in[appsv1.Deployment, appsv1.DeploymentList](c.groups[appsv1.GroupName], "deployments", namespace)
}

// ReplicaSets implements Interface.
func (c *Clientset) ReplicaSets(namespace string) Objects[*appsv1.ReplicaSet, *appsv1.ReplicaSetList] {
	return in[appsv1.ReplicaSet, appsv1.ReplicaSetList](c.groups[appsv1.GroupName], "replicasets", namespace)
}

// Leases implements Interface.
func (c *Clientset) Leases(namespace string) Objects[*coordinationv1.Lease, *coordinationv1.LeaseList] {
	return in[coordinationv1.Lease, coordinationv1.LeaseList](c.groups[coordinationv1.GroupName], "leases", namespace)
}

// SelfSubjectAccessReviews implements Interface.
func (c *Clientset) SelfSubjectAccessReviews() Creator[*authorizationv1.SelfSubjectAccessReview] {
	return creator[authorizationv1.SelfSubjectAccessReview, *authorizationv1.SelfSubjectAccessReview]{c.groups[authorizationv1.GroupName], "selfsubjectaccessreviews", ""}
}

// SelfSubjectRulesReviews implements Interface.
func (c *Clientset) SelfSubjectRulesReviews() Creator[*authorizationv1.SelfSubjectRulesReview] {
	return creator[authorizationv1.SelfSubjectRulesReview, *authorizationv1.SelfSubjectRulesReview]{c.groups[authorizationv1.GroupName], "selfsubjectrulesreviews", ""}
}

// SelfSubjectReviews implements Interface.
func (c *Clientset) SelfSubjectReviews() Creator[*authenticationv1.SelfSubjectReview] {
	return creator[authenticationv1.SelfSubjectReview, *authenticationv1.SelfSubjectReview]{c.groups[authenticationv1.GroupName], "selfsubjectreviews", ""}
}

// SubjectAccessReviews implements Interface.
func (c *Clientset) SubjectAccessReviews() Creator[*authorizationv1.SubjectAccessReview] {
	return creator[authorizationv1.SubjectAccessReview, *authorizationv1.SubjectAccessReview]{c.groups[authorizationv1.GroupName], "subjectaccessreviews", ""}
}

// TokenReviews implements Interface.
func (c *Clientset) TokenReviews() Creator[*authenticationv1.TokenReview] {
	return creator[authenticationv1.TokenReview, *authenticationv1.TokenReview]{c.groups[authenticationv1.GroupName], "tokenreviews", ""}
}

// Group implements Interface.
func (c *Clientset) Group(name string) rest.Interface { return c.groups[name] }

// Discovery implements Interface.
func (c *Clientset) Discovery() rest.Interface { return c.discovery }
