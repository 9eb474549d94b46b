package clientset

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
)

// Creator creates objects of one resource.
type Creator[T any] interface {
	Create(ctx context.Context, obj T, opts metav1.CreateOptions) (T, error)
}

// Objects reads and writes the objects of one resource in one namespace, or in all.
type Objects[T, L any] interface {
	Creator[T]
	Update(ctx context.Context, obj T, opts metav1.UpdateOptions) (T, error)
	Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error)
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
}

// object is a pointer to a Go type of the scheme, and list to that of its list.
type (
	object[E any] interface {
		*E
		metav1.Object
		runtime.Object
	}
	list[E any] interface {
		*E
		runtime.Object
	}
)

// creator sends the requests for one resource.
type creator[E any, T object[E]] struct {
	client              rest.Interface
	resource, namespace string
}

// objects sends them also for its lists.
type objects[E, F any, T object[E], L list[F]] struct{ creator[E, T] }

func in[E, F any, T object[E], L list[F]](client rest.Interface, resource, namespace string) Objects[T, L] {
	return objects[E, F, T, L]{creator[E, T]{client, resource, namespace}}
}

// Create creates an object and returns it as the API server has stored it.
func (c creator[E, T]) Create(ctx context.Context, obj T, opts metav1.CreateOptions) (T, error) {
	created := T(new(E))
	err := c.to(c.client.Post()).VersionedParams(&opts, ParameterCodec).Body(obj).Do(ctx).Into(created)
	return created, err
}

// Update replaces an object and returns it as the API server has stored it.
func (c creator[E, T]) Update(ctx context.Context, obj T, opts metav1.UpdateOptions) (T, error) {
	updated := T(new(E))
	err := c.to(c.client.Put()).Name(obj.GetName()).VersionedParams(&opts, ParameterCodec).Body(obj).Do(ctx).Into(updated)
	return updated, err
}

// Get reads one object.
func (c creator[E, T]) Get(ctx context.Context, name string, opts metav1.GetOptions) (T, error) {
	found := T(new(E))
	err := c.to(c.client.Get()).Name(name).VersionedParams(&opts, ParameterCodec).Do(ctx).Into(found)
	return found, err
}

// List reads one page.
func (o objects[E, F, T, L]) List(ctx context.Context, opts metav1.ListOptions) (L, error) {
	found := L(new(F))
	err := o.to(o.client.Get()).VersionedParams(&opts, ParameterCodec).Do(ctx).Into(found)
	return found, err
}

func (c creator[E, T]) to(request *rest.Request) *rest.Request {
	return request.UseProtobufAsDefaultIfPreferred(true).NamespaceIfScoped(c.namespace, c.namespace != "").Resource(c.resource)
}
