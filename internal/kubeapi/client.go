// Package kubeapi sends the requests to the API server: it chooses the client and the plural of a
// kind, lists Pods, and discovers which kinds are served. It does not know why a request is sent.
package kubeapi

import (
	"cmp"
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/clientset"
	"github.com/reroll-dev/reroll/internal/intake"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Watched is a resource that is watched, in one namespace or in all.
type Watched struct {
	Resource  schema.GroupVersionResource
	Namespace string
	// Label is its name in logs and metrics; the plural if unset. Another resource may have the
	// same plural.
	Label string
	// Custom reports that the API server may not serve it. Then Kind is the kind of its objects,
	// because only discovery may know the plural.
	Custom bool
	Kind   string
	// Required reports that the user has chosen to watch it. Otherwise it is watched only if there
	// is permission to.
	Required bool
	// Older are versions of the group to use if the API server does not serve the kind in the version
	// of the resource, the newest first.
	Older []string
	// FieldSelector and LabelSelector are applied by the API server.
	FieldSelector, LabelSelector string
	NewList                      func() runtime.Object
}

// WatchedKind returns the resource of a kind of workload.
func WatchedKind(k kinds.Kind, namespace string) Watched {
	return Watched{
		Resource: k.Resource, Label: k.Label(), Namespace: namespace, Custom: k.Custom, Kind: k.Object().Kind, Required: k.Use == kinds.Always, NewList: k.NewList,
	}
}

// String returns its name in logs and metrics.
func (w Watched) String() string { return cmp.Or(w.Label, w.Resource.Resource) }

// Client sends the requests to a real cluster.
type Client struct {
	clientset.Interface
	// Custom are the clients for custom kinds; nil if there are no such kinds.
	Custom *CustomClients
}

// Open returns how a resource is listed and watched: as protobuf for kinds with a Go type, as JSON
// for custom kinds.
func (c Client) Open(w Watched) intake.Opener {
	if w.Custom && len(w.Older) > 0 {
		return inVersions(w, c)
	}
	if w.Custom {
		return served{w, c}
	}
	client, err := c.group(w.Resource.Group)
	if err != nil {
		return unopened{err}
	}
	return c.opener(w, client, w.Resource.Resource)
}

func (c Client) opener(w Watched, client rest.Interface, plural string) intake.Opener {
	return intake.Resource{Client: client, Name: plural, Namespace: w.Namespace, FieldSelector: w.FieldSelector, LabelSelector: w.LabelSelector, NewList: w.NewList}
}

// unopened is a resource that cannot be watched.
type unopened struct{ err error }

// Watch returns the error.
func (u unopened) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return nil, u.err
}

// List returns the error.
func (u unopened) List(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return nil, u.err
}

// group returns the client of a built-in group.
func (c Client) group(name string) (rest.Interface, error) {
	switch name {
	case corev1.GroupName, batchv1.GroupName, appsv1.GroupName:
		return c.Group(name), nil
	default:
		return nil, fmt.Errorf("there is no client for API group %q, only for %q, %q and %q; add its kinds as custom kinds", name, corev1.GroupName, batchv1.GroupName, appsv1.GroupName)
	}
}

// Patch changes a workload and returns its new version.
func (c Client) Patch(ctx context.Context, kind kinds.Kind, key workload.Key, patch kinds.Patch) (runtime.Object, error) {
	client, plural, err := c.of(kind, key.Namespace)
	if err != nil {
		return nil, err
	}
	return client.Patch(patch.Type).
		Namespace(key.Namespace).Resource(plural).Name(key.Name).
		SpecificallyVersionedParams(&metav1.PatchOptions{FieldManager: workload.FieldManager}, clientset.ParameterCodec, corev1.SchemeGroupVersion).
		Body(patch.Body).Do(ctx).Get()
}

// JSON returns a workload as the API server sends it in JSON, with the fields that no type of this
// version has.
func (c Client) JSON(ctx context.Context, kind kinds.Kind, key workload.Key) ([]byte, error) {
	client, plural, err := c.of(kind, key.Namespace)
	if err != nil {
		return nil, err
	}
	return client.Get().Namespace(key.Namespace).Resource(plural).Name(key.Name).SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx).Raw()
}

// of returns the client and the plural of a kind.
func (c Client) of(kind kinds.Kind, namespace string) (rest.Interface, string, error) {
	if kind.Custom {
		return c.custom(WatchedKind(kind, namespace))
	}
	client, err := c.group(kind.Resource.Group)
	return client, kind.Resource.Resource, err
}

// ResourceOf returns the resource of a kind, whose plural only discovery may know.
func (c Client) ResourceOf(kind kinds.Kind, namespace string) (schema.GroupVersionResource, error) {
	_, plural, err := c.of(kind, namespace)
	return kind.Resource.GroupVersion().WithResource(plural), err
}

// Get reads one object from the API server, never from a cache.
func (c Client) Get(ctx context.Context, kind kinds.Kind, key workload.Key) (runtime.Object, error) {
	client, err := c.group(kind.Resource.Group)
	if err != nil {
		return nil, err
	}
	return client.Get().Namespace(key.Namespace).Resource(kind.Resource.Resource).Name(key.Name).Do(ctx).Get()
}

// Create creates an object of a built-in kind.
func (c Client) Create(ctx context.Context, kind kinds.Kind, namespace string, obj runtime.Object) (runtime.Object, error) {
	return c.create(ctx, kind, namespace, obj, metav1.CreateOptions{})
}

// TryCreate returns an object as Create would store it, after all admission. It stores nothing.
func (c Client) TryCreate(ctx context.Context, kind kinds.Kind, namespace string, obj runtime.Object) (runtime.Object, error) {
	return c.create(ctx, kind, namespace, obj, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
}

func (c Client) create(ctx context.Context, kind kinds.Kind, namespace string, obj runtime.Object, opts metav1.CreateOptions) (runtime.Object, error) {
	client, err := c.group(kind.Resource.Group)
	if err != nil {
		return nil, err
	}
	opts.FieldManager = workload.FieldManager
	return client.Post().Namespace(namespace).Resource(kind.Resource.Resource).
		SpecificallyVersionedParams(&opts, clientset.ParameterCodec, corev1.SchemeGroupVersion).
		Body(obj).Do(ctx).Get()
}

// Delete deletes an object of a built-in kind.
func (c Client) Delete(ctx context.Context, kind kinds.Kind, key workload.Key, opts metav1.DeleteOptions) error {
	client, err := c.group(kind.Resource.Group)
	if err != nil {
		return err
	}
	return client.Delete().Namespace(key.Namespace).Resource(kind.Resource.Resource).Name(key.Name).Body(&opts).Do(ctx).Error()
}

// podPage bounds the Pods of one response, so that a large workload does not need much memory at
// once.
const podPage = 500

// Pods returns when the Pods that match the selector of a workload have started. Pods of another
// owner may make the result older, and never younger.
func (c Client) Pods(ctx context.Context, w *workload.Workload) (reload.Pods, error) {
	var pods reload.Pods
	err := c.eachPod(ctx, w, func(pod *corev1.Pod) { pods.Take(pod, w) })
	return pods, err
}

// Running returns the Pods of a workload that run. It excludes Pods of another owner, because no
// rollout of this workload replaces them.
func (c Client) Running(ctx context.Context, w *workload.Workload, names annotations.Names) ([]rollout.Pod, error) {
	var pods []rollout.Pod
	err := c.eachPod(ctx, w, func(pod *corev1.Pod) {
		if workload.PodRuns(pod) && w.MadeBy(pod) {
			pods = append(pods, rollout.ReadPod(pod, names))
		}
	})
	return pods, err
}

// eachPod lists the Pods that match the workload's selector, page by page.
func (c Client) eachPod(ctx context.Context, w *workload.Workload, take func(*corev1.Pod)) error {
	if !w.Selects() {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(w.Selector)
	if err != nil {
		return fmt.Errorf("read the selector of %s: %w", w.Key, err)
	}
	opts := metav1.ListOptions{LabelSelector: selector.String(), Limit: podPage}
	for {
		list, err := c.Interface.Pods(w.Key.Namespace).List(ctx, opts)
		if err != nil {
			return fmt.Errorf("list the pods of %s: %w", w.Key, err)
		}
		for i := range list.Items {
			take(&list.Items[i])
		}
		if opts.Continue = list.Continue; opts.Continue == "" {
			return nil
		}
	}
}
