package clientset

import (
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

//nolint:gochecknoglobals // constant tables, which are expensive to build
var (
	// Scheme has the Go types of the API groups in use.
	Scheme = newScheme()
	// Codecs encode and decode these types.
	Codecs = serializer.NewCodecFactory(Scheme)
	// ParameterCodec encodes the options of a request. It encodes them in the same way for all
	// groups.
	ParameterCodec = runtime.NewParameterCodec(Scheme)
)

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, eventsv1.AddToScheme,
		coordinationv1.AddToScheme, authorizationv1.AddToScheme, authenticationv1.AddToScheme,
	} {
		_ = add(scheme) // the registrations of these groups never fail
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return scheme
}
