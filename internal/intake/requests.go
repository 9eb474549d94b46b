package intake

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/internal/clientset"
)

// Resource is an Opener for a resource. Objects without a Go type are requested as JSON, with a
// client that decodes unstructured objects.
type Resource struct {
	Client rest.Interface
	// Name is the plural, Namespace empty for all.
	Name, Namespace string
	// FieldSelector and LabelSelector are applied by the API server.
	FieldSelector, LabelSelector string
	NewList                      func() runtime.Object
}

// Watch opens a watch.
func (r Resource) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	opts.Watch = true
	w, err := r.request(opts).Watch(ctx)
	if err != nil {
		return nil, fmt.Errorf("watch %s: %w", r.Name, err)
	}
	return w, nil
}

// List reads one page.
func (r Resource) List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	req := r.request(opts)
	if opts.TimeoutSeconds != nil {
		req = req.Timeout(time.Duration(*opts.TimeoutSeconds) * time.Second)
	}
	list := r.NewList()
	if err := req.Do(ctx).Into(list); err != nil {
		return nil, fmt.Errorf("list %s: %w", r.Name, err)
	}
	return list, nil
}

// request disables the retries of the client. It would retry ten times after Retry-After or a
// broken connection, with delays of its own and without reporting the failures.
func (r Resource) request(opts metav1.ListOptions) *rest.Request {
	opts.FieldSelector, opts.LabelSelector = r.FieldSelector, r.LabelSelector
	return r.Client.Get().Namespace(r.Namespace).Resource(r.Name).
		// The options are encoded in the same way for all groups, including those that the scheme
		// does not know.
		SpecificallyVersionedParams(&opts, clientset.ParameterCodec, corev1.SchemeGroupVersion).MaxRetries(0)
}
