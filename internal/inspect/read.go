package inspect

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/clientset"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Cluster reads a cluster with the permissions of the user.
type Cluster struct {
	kubeapi.Client
}

// NewCluster returns a Cluster.
func NewCluster(config *rest.Config) (*Cluster, error) {
	client, err := clientset.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &Cluster{kubeapi.Client{Interface: client, Custom: kubeapi.NewCustomClients(config, client, clock.RealClock{})}}, nil
}

// Resources returns all resources that are read in a namespace, or in all namespaces.
func (s *Settings) Resources(ns string) []kubeapi.Watched {
	var all []kubeapi.Watched
	for _, k := range kubeapi.SourceKinds() {
		if k.Kind.ClusterScoped() && s.ignores(k.Kind) {
			continue // most clusters do not serve them
		}
		all = append(all, k.In(ns))
	}
	for _, kind := range s.Rules.Kinds {
		watched := kubeapi.WatchedKind(kind, ns)
		watched.Required = true // one request, even if the kind is not served
		all = append(all, watched)
	}
	return all
}

// page limits how many objects of one resource are in memory before they are digested.
const page = 500

// Read lists all resources once. A resource that the user may not list is recorded, and does not
// end the read.
func (c *Cluster) Read(ctx context.Context, s *Settings, ns string) (*Objects, error) {
	o := NewObjects(s)
	o.scope = ns
	for _, watched := range c.served(ctx, s.Resources(ns)) {
		err := c.list(ctx, watched, o.Put)
		if err := o.noted(watched, err); err != nil {
			return nil, err
		}
	}
	c.readNamespaces(ctx, s, o, ns)
	if err := c.exists(ctx, o, ns); err != nil {
		return nil, err
	}
	return o, c.addForeign(ctx, o)
}

// served removes custom kinds that the API server does not serve, so that they cost no request. If
// discovery fails, each kind is requested.
func (c *Cluster) served(ctx context.Context, all []kubeapi.Watched) []kubeapi.Watched {
	var there []kubeapi.Watched
	for _, watched := range all {
		if watched.Custom {
			is, err := c.serves(ctx, watched)
			if err != nil {
				return all
			}
			if !is {
				continue
			}
		}
		there = append(there, watched)
	}
	return there
}

// serves reports whether the API server serves the group in one of the versions of a resource.
func (c *Cluster) serves(ctx context.Context, watched kubeapi.Watched) (is bool, err error) {
	for _, version := range watched.Versions() {
		if is, err = c.Custom.Serves(ctx, version.GroupVersion()); is || err != nil {
			break
		}
	}
	return is, err
}

// exists returns an error if the namespace does not exist, because its lists are empty, too. If
// workloads may not be listed, the answer is reported as incomplete anyway.
func (c *Cluster) exists(ctx context.Context, o *Objects, ns string) error {
	if ns == "" || len(o.workloads)+len(o.sources)+len(o.skipped) > 0 {
		return nil
	}
	for _, kind := range o.settings.Rules.Kinds {
		if _, refused := o.unread[kind.Label()]; refused {
			return nil
		}
	}
	_, err := c.Namespaces().Get(ctx, ns, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("namespace %s does not exist", ns)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("namespace %s is empty or does not exist, and you may not read namespaces", ns)
	default:
		return err
	}
}

// noted records a resource that the user may not list, and returns other errors.
func (o *Objects) noted(watched kubeapi.Watched, err error) error {
	switch {
	case err == nil, watched.Custom && apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err) && o.settings.unasked(watched):
		// The controller may not list it either, or the user has fewer permissions than the
		// controller.
		return nil
	case apierrors.IsForbidden(err):
		o.unread[watched.String()] = err
		return nil
	default:
		return err
	}
}

// noDefaults is what commands say to a user who may read no namespace.
const noDefaults = "You may not read namespaces, so it is unknown what their annotations set, such as auto, windows, approval and freezes."

// readNamespaces reads namespaces only if an answer depends on them. A Role in a namespace may allow
// a user to get it, and never to list it. Without permission, no selector excludes a namespace, and
// the defaults in its annotations are unknown.
func (c *Cluster) readNamespaces(ctx context.Context, s *Settings, o *Objects, ns string) {
	if !s.Rules.WatchesNamespaces() {
		return
	}
	watched := kubeapi.Watched{Resource: corev1.SchemeGroupVersion.WithResource("namespaces"), NewList: func() runtime.Object { return &corev1.NamespaceList{} }}
	if ns != "" {
		watched.FieldSelector = "metadata.name=" + ns
	}
	err := c.list(ctx, watched, o.Put)
	if ns != "" && apierrors.IsForbidden(err) {
		var one *corev1.Namespace
		if one, err = c.Namespaces().Get(ctx, ns, metav1.GetOptions{}); err == nil {
			o.Put(one)
		}
	}
	o.noDefaults = err != nil
	if err != nil && s.Rules.NamespaceSelector != nil {
		o.unread["namespaces"] = err
	}
}

func (c *Cluster) list(ctx context.Context, watched kubeapi.Watched, each func(runtime.Object)) error {
	opts := metav1.ListOptions{Limit: page}
	from := c.Open(watched)
	for {
		list, err := from.List(ctx, opts)
		if err != nil {
			return err
		}
		if err := meta.EachListItem(list, func(obj runtime.Object) error {
			each(obj)
			return nil
		}); err != nil {
			return err
		}
		head, err := meta.ListAccessor(list)
		if err != nil {
			return err
		}
		if opts.Continue = head.GetContinue(); opts.Continue == "" {
			return nil
		}
	}
}

// Running returns the Pods. It lists each namespace once, on first use.
func (c *Cluster) Running(ctx context.Context, names annotations.Names) Pods {
	var mu sync.Mutex
	known := map[string]func() ([]Pod, error){}
	return func(ns string) ([]Pod, error) {
		mu.Lock()
		ask, ok := known[ns]
		if !ok {
			ask = sync.OnceValues(func() ([]Pod, error) { return c.pods(ctx, names, ns) })
			known[ns] = ask
		}
		mu.Unlock()
		return ask()
	}
}

func (c *Cluster) pods(ctx context.Context, names annotations.Names, ns string) ([]Pod, error) {
	return c.podsWith(ctx, names, ns, "")
}

// podsMatching lists the Pods that match the selector of a workload.
func (c *Cluster) podsMatching(ctx context.Context, w *workload.Workload, names annotations.Names) ([]Pod, error) {
	if !w.Selects() {
		return nil, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(w.Selector)
	if err != nil {
		return nil, fmt.Errorf("read the selector of %s: %w", w.Key, err)
	}
	return c.podsWith(ctx, names, w.Key.Namespace, selector.String())
}

func (c *Cluster) podsWith(ctx context.Context, names annotations.Names, ns, selector string) ([]Pod, error) {
	var all []Pod
	watched := kubeapi.Watched{LabelSelector: selector, Resource: corev1.SchemeGroupVersion.WithResource("pods"), Namespace: ns, NewList: func() runtime.Object { return &corev1.PodList{} }}
	err := c.list(ctx, watched, func(obj runtime.Object) {
		pod, ok := obj.(*corev1.Pod)
		if !ok {
			return
		}
		if kept, runs := readPod(pod, names); runs {
			all = append(all, kept)
		}
	})
	if apierrors.IsForbidden(err) {
		return nil, fmt.Errorf("you may not list the pods of namespace %s", ns)
	}
	return all, err
}
