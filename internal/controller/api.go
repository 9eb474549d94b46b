package controller

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/internal/intake"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
)

// API is all that the controller asks of an API server.
type API interface {
	// Open returns how the objects of a resource are brought.
	Open(Watched) intake.Opener
	// Patch changes a workload and returns what it is then.
	Patch(ctx context.Context, kind kinds.Kind, key reload.WorkloadKey, patch kinds.Patch) (runtime.Object, error)
	// Get and Create are for workloads whose reload is not a patch.
	Get(ctx context.Context, kind kinds.Kind, key reload.WorkloadKey) (runtime.Object, error)
	Create(ctx context.Context, kind kinds.Kind, namespace string, obj runtime.Object) (runtime.Object, error)
	// Delete removes one of the objects that Create makes.
	Delete(ctx context.Context, kind kinds.Kind, key reload.WorkloadKey, opts metav1.DeleteOptions) error
	// Pods returns the pods of a workload.
	Pods(ctx context.Context, w *reload.Workload) (reload.Pods, error)
	// Running returns what they have of a reload, and what keeps them from being ready.
	Running(ctx context.Context, w *reload.Workload, names reload.Names) ([]reload.RunningPod, error)
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
	return c.opener(w, c.group(w.Resource.Group), w.Resource.Resource)
}

func (c Client) opener(w Watched, client rest.Interface, plural string) intake.Opener {
	return intake.Resource{Client: client, Name: plural, Namespace: w.Namespace, FieldSelector: w.FieldSelector, LabelSelector: w.LabelSelector, NewList: w.NewList}
}

// group has the clients of what is no custom kind.
func (c Client) group(name string) rest.Interface {
	if name == corev1.GroupName {
		return c.CoreV1().RESTClient()
	}
	if name == batchv1.GroupName {
		return c.BatchV1().RESTClient()
	}
	return c.AppsV1().RESTClient()
}

// Patch sends one request.
func (c Client) Patch(ctx context.Context, kind kinds.Kind, key reload.WorkloadKey, patch kinds.Patch) (runtime.Object, error) {
	client, plural := c.group(kind.Resource.Group), kind.Resource.Resource
	if kind.Custom {
		var err error
		if client, plural, err = c.custom(WatchedKind(kind, key.Namespace)); err != nil {
			return nil, err
		}
	}
	return client.Patch(patch.Type).
		Namespace(key.Namespace).Resource(plural).Name(key.Name).
		SpecificallyVersionedParams(&metav1.PatchOptions{FieldManager: reload.FieldManager}, scheme.ParameterCodec, corev1.SchemeGroupVersion).
		Body(patch.Body).Do(ctx).Get()
}

// Get reads one object, as it is and not as it was.
func (c Client) Get(ctx context.Context, kind kinds.Kind, key reload.WorkloadKey) (runtime.Object, error) {
	return c.group(kind.Resource.Group).Get().Namespace(key.Namespace).Resource(kind.Resource.Resource).Name(key.Name).Do(ctx).Get()
}

// Create sends one request.
func (c Client) Create(ctx context.Context, kind kinds.Kind, namespace string, obj runtime.Object) (runtime.Object, error) {
	return c.group(kind.Resource.Group).Post().Namespace(namespace).Resource(kind.Resource.Resource).
		SpecificallyVersionedParams(&metav1.CreateOptions{FieldManager: reload.FieldManager}, scheme.ParameterCodec, corev1.SchemeGroupVersion).
		Body(obj).Do(ctx).Get()
}

// Delete sends one request.
func (c Client) Delete(ctx context.Context, kind kinds.Kind, key reload.WorkloadKey, opts metav1.DeleteOptions) error {
	return c.group(kind.Resource.Group).Delete().Namespace(key.Namespace).Resource(kind.Resource.Resource).Name(key.Name).Body(&opts).Do(ctx).Error()
}

// podPage bounds the memory for the pods of one workload.
const podPage = 500

// Pods lists the pods that the workload's selector finds. A pod of another owner among them can make the answer older
// than it is, never younger.
func (c Client) Pods(ctx context.Context, w *reload.Workload) (reload.Pods, error) {
	var pods reload.Pods
	err := c.eachPod(ctx, w, func(pod *corev1.Pod) {
		version, _ := strconv.ParseUint(pod.ResourceVersion, 10, 64) // one that is no number proves nothing
		pods.Add(pod.Name, pod.CreationTimestamp.Time, reload.LastStart(pod), version)
	})
	return pods, err
}

// Running leaves pods of other owners out: they never get the content by a rollout of this one.
func (c Client) Running(ctx context.Context, w *reload.Workload, names reload.Names) ([]reload.RunningPod, error) {
	var pods []reload.RunningPod
	err := c.eachPod(ctx, w, func(pod *corev1.Pod) {
		if w.MadeBy(pod) {
			pods = append(pods, reload.ReadPod(pod, names))
		}
	})
	return pods, err
}

// eachPod reads the pods that the workload's selector finds, page by page.
func (c Client) eachPod(ctx context.Context, w *reload.Workload, take func(*corev1.Pod)) error {
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
