package controller

import (
	"context"
	"fmt"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
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
	// Pods returns the pods of a workload.
	Pods(ctx context.Context, w *reload.Workload) (reload.Pods, error)
	// Running returns what they have of a reload, and what keeps them from being ready.
	Running(ctx context.Context, w *reload.Workload, names reload.Names) ([]reload.RunningPod, error)
}

// Watched is a resource, in one namespace or in all.
type Watched struct {
	Resource  schema.GroupVersionResource
	Namespace string
	// Custom tells that the API server may not serve it.
	Custom bool
	// FieldSelector leaves objects out on the server's side.
	FieldSelector string
	NewList       func() runtime.Object
}

// Client is the API by a client of a real cluster.
type Client struct {
	kubernetes.Interface
	// Custom are clients for the groups of custom kinds, see CustomClients.
	Custom map[string]rest.Interface
}

// Open returns a watch by the resource's own types, which the API server sends as protobuf. Custom kinds have none and
// come as JSON.
func (c Client) Open(w Watched) intake.Opener {
	opener := intake.Resource{
		Client: c.group(w.Resource.Group), Name: w.Resource.Resource, Namespace: w.Namespace,
		FieldSelector: w.FieldSelector, NewList: w.NewList,
	}
	if w.Custom {
		return served{Opener: opener, discovery: c.Discovery(), resource: w.Resource}
	}
	return opener
}

func (c Client) group(name string) rest.Interface {
	switch name {
	case corev1.GroupName:
		return c.CoreV1().RESTClient()
	case appsv1.GroupName:
		return c.AppsV1().RESTClient()
	default:
		return c.Custom[name]
	}
}

// Patch sends one request.
func (c Client) Patch(ctx context.Context, kind kinds.Kind, key reload.WorkloadKey, patch kinds.Patch) (runtime.Object, error) {
	return c.group(kind.Resource.Group).Patch(patch.Type).
		Namespace(key.Namespace).Resource(kind.Resource.Resource).Name(key.Name).
		SpecificallyVersionedParams(&metav1.PatchOptions{FieldManager: reload.FieldManager}, scheme.ParameterCodec, corev1.SchemeGroupVersion).
		Body(patch.Body).Do(ctx).Get()
}

// podPage bounds the memory for the pods of one workload.
const podPage = 500

// Pods lists the pods that the workload's selector finds. A pod of another owner among them can make the answer older
// than it is, never younger.
func (c Client) Pods(ctx context.Context, w *reload.Workload) (reload.Pods, error) {
	var pods reload.Pods
	err := c.eachPod(ctx, w, func(pod *corev1.Pod) {
		version, _ := strconv.ParseUint(pod.ResourceVersion, 10, 64) // one that is no number proves nothing
		pods.Add(pod.CreationTimestamp.Time, reload.LastStart(pod), version)
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
