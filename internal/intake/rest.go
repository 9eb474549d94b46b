package intake

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Resource is an Opener for a resource with a Go type.
type Resource struct {
	Client rest.Interface
	// Name is the plural, Namespace empty for all.
	Name, Namespace string
	// FieldSelector leaves out objects on the server's side.
	FieldSelector string
	NewList       func() runtime.Object
}

// Watch opens a watch.
func (r Resource) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	opts.Watch = true
	return r.request(opts).Watch(ctx)
}

// List reads one page.
func (r Resource) List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	list := r.NewList()
	return list, r.request(opts).Do(ctx).Into(list)
}

func (r Resource) request(opts metav1.ListOptions) *rest.Request {
	opts.FieldSelector = r.FieldSelector
	req := r.Client.Get().Namespace(r.Namespace).Resource(r.Name).VersionedParams(&opts, scheme.ParameterCodec)
	if opts.TimeoutSeconds != nil {
		req = req.Timeout(time.Duration(*opts.TimeoutSeconds) * time.Second)
	}
	return req
}
