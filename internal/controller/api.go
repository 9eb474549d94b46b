package controller

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
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/intake"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/workload"
)

// API is all that the controller asks of an API server.
type API interface {
	// Open returns how the objects of a resource are brought.
	Open(Watched) intake.Opener
	// Patch changes a workload and returns what it is then.
	Patch(ctx context.Context, kind kinds.Kind, key workload.Key, patch kinds.Patch) (runtime.Object, error)
	// Get and Create are for workloads whose reload is not a patch.
	Get(ctx context.Context, kind kinds.Kind, key workload.Key) (runtime.Object, error)
	Create(ctx context.Context, kind kinds.Kind, namespace string, obj runtime.Object) (runtime.Object, error)
	// Delete removes one of the objects that Create makes.
	Delete(ctx context.Context, kind kinds.Kind, key workload.Key, opts metav1.DeleteOptions) error
	// Pods returns the pods of a workload.
	Pods(ctx context.Context, w *workload.Workload) (reload.Pods, error)
	// Running returns what they have of a reload, and what keeps them from being ready.
	Running(ctx context.Context, w *workload.Workload, names annotations.Names) ([]rollout.Pod, error)
}

// Watched is a resource, in one namespace or in all.
type Watched struct {
	Resource  schema.GroupVersionResource
	Namespace string
	// Label is what it is called where it has to be told from others of that plural; the plural if that is empty.
	Label string
	// Custom tells that the API server may not serve it, and Kind what its objects are then. The resource has no plural where
	// only the API server knows it.
	Custom bool
	Kind   string
	// Asked tells that somebody wants it watched. What nobody has asked for is left alone without the rights to it.
	Asked bool
	// FieldSelector and LabelSelector leave objects out on the server's side.
	FieldSelector, LabelSelector string
	NewList                      func() runtime.Object
}

// WatchedKind is how workloads of a kind come.
func WatchedKind(k kinds.Kind, namespace string) Watched {
	return Watched{
		Resource: k.Resource, Label: k.Label(), Namespace: namespace, Custom: k.Custom, Kind: k.Object().Kind, Asked: k.Asked, NewList: k.NewList,
	}
}

// String is what it is called.
func (w Watched) String() string { return cmp.Or(w.Label, w.Resource.Resource) }

// Client is the API by a client of a real cluster.
type Client struct {
	kubernetes.Interface
	// Custom makes those for custom kinds. Without it there are none.
	Custom *CustomClients
}

// Open returns a watch by the resource's own types, which the API server sends as protobuf. Custom kinds have none and
// come as JSON.
func (c Client) Open(w Watched) intake.Opener {
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

// Watch returns why.
func (u unopened) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return nil, u.err
}

// List returns why.
func (u unopened) List(context.Context, metav1.ListOptions) (runtime.Object, error) {
	return nil, u.err
}

// group returns the client of a group that is built into Kubernetes.
func (c Client) group(name string) (rest.Interface, error) {
	switch name {
	case corev1.GroupName:
		return c.CoreV1().RESTClient(), nil
	case batchv1.GroupName:
		return c.BatchV1().RESTClient(), nil
	case appsv1.GroupName:
		return c.AppsV1().RESTClient(), nil
	default:
		return nil, fmt.Errorf("there is no client for API group %q, only for %q, %q and %q; its kinds have to be custom kinds", name, corev1.GroupName, batchv1.GroupName, appsv1.GroupName)
	}
}

// Patch sends one request.
func (c Client) Patch(ctx context.Context, kind kinds.Kind, key workload.Key, patch kinds.Patch) (runtime.Object, error) {
	client, plural, err := c.of(kind, key.Namespace)
	if err != nil {
		return nil, err
	}
	return client.Patch(patch.Type).
		Namespace(key.Namespace).Resource(plural).Name(key.Name).
		SpecificallyVersionedParams(&metav1.PatchOptions{FieldManager: workload.FieldManager}, scheme.ParameterCodec, corev1.SchemeGroupVersion).
		Body(patch.Body).Do(ctx).Get()
}

// of returns the client of a kind, and the plural.
func (c Client) of(kind kinds.Kind, namespace string) (rest.Interface, string, error) {
	if kind.Custom {
		return c.custom(WatchedKind(kind, namespace))
	}
	client, err := c.group(kind.Resource.Group)
	return client, kind.Resource.Resource, err
}

// Get reads one object, as it is and not as it was.
func (c Client) Get(ctx context.Context, kind kinds.Kind, key workload.Key) (runtime.Object, error) {
	client, err := c.group(kind.Resource.Group)
	if err != nil {
		return nil, err
	}
	return client.Get().Namespace(key.Namespace).Resource(kind.Resource.Resource).Name(key.Name).Do(ctx).Get()
}

// Create sends one request.
func (c Client) Create(ctx context.Context, kind kinds.Kind, namespace string, obj runtime.Object) (runtime.Object, error) {
	client, err := c.group(kind.Resource.Group)
	if err != nil {
		return nil, err
	}
	return client.Post().Namespace(namespace).Resource(kind.Resource.Resource).
		SpecificallyVersionedParams(&metav1.CreateOptions{FieldManager: workload.FieldManager}, scheme.ParameterCodec, corev1.SchemeGroupVersion).
		Body(obj).Do(ctx).Get()
}

// Delete sends one request.
func (c Client) Delete(ctx context.Context, kind kinds.Kind, key workload.Key, opts metav1.DeleteOptions) error {
	client, err := c.group(kind.Resource.Group)
	if err != nil {
		return err
	}
	return client.Delete().Namespace(key.Namespace).Resource(kind.Resource.Resource).Name(key.Name).Body(&opts).Do(ctx).Error()
}

// podPage bounds the memory for the pods of one workload.
const podPage = 500

// Pods lists the pods that the workload's selector finds. A pod of another owner among them can make the answer older
// than it is, never younger.
func (c Client) Pods(ctx context.Context, w *workload.Workload) (reload.Pods, error) {
	var pods reload.Pods
	err := c.eachPod(ctx, w, func(pod *corev1.Pod) {
		pods.Add(reload.ReadStart(pod))
	})
	return pods, err
}

// Running leaves pods of other owners out: they never get the content by a rollout of this one.
func (c Client) Running(ctx context.Context, w *workload.Workload, names annotations.Names) ([]rollout.Pod, error) {
	var pods []rollout.Pod
	err := c.eachPod(ctx, w, func(pod *corev1.Pod) {
		if w.MadeBy(pod) {
			pods = append(pods, rollout.ReadPod(pod, names))
		}
	})
	return pods, err
}

// eachPod reads the pods that the workload's selector finds, page by page.
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
		list, err := c.CoreV1().Pods(w.Key.Namespace).List(ctx, opts)
		if err != nil {
			return fmt.Errorf("list the pods of %s: %w", w.Key, err)
		}
		for i := range list.Items {
			if pod := &list.Items[i]; runs(pod) {
				take(pod)
			}
		}
		if opts.Continue = list.Continue; opts.Continue == "" {
			return nil
		}
	}
}

// runs is false for a pod that has ended or is about to: what it was started with does not matter any more.
func runs(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}
