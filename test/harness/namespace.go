package harness

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Namespace is a namespace of its own for one test, watched from before anything is in it.
type Namespace struct {
	Name string
	// Observer sees every rollout in the namespace.
	Observer *Observer

	cluster Cluster
	clients clients
	round   int // of the markers
}

// Namespace makes a namespace whose name starts with the given one, and returns when the markers run in it. It is
// watched until the context ends.
func (h *Harness) Namespace(ctx context.Context, name string) (*Namespace, error) {
	n, err := h.EmptyNamespace(ctx, name)
	if err != nil {
		return nil, err
	}
	if err := n.Apply(ctx, markerManifest); err != nil {
		return nil, fmt.Errorf("make the markers: %w", err)
	}
	for _, name := range markers() {
		if err := n.AwaitReady(ctx, Ref{Kind: "deployment", Name: name}); err != nil {
			return nil, err
		}
	}
	return n, nil
}

// EmptyNamespace is one without markers, for who has nothing to show that does not happen.
func (h *Harness) EmptyNamespace(ctx context.Context, name string) (*Namespace, error) {
	return h.emptyNamespace(ctx, metav1.ObjectMeta{GenerateName: name + "-"})
}

// NamedNamespace is an empty one of exactly this name, for one that comes back.
func (h *Harness) NamedNamespace(ctx context.Context, name string) (*Namespace, error) {
	return h.emptyNamespace(ctx, metav1.ObjectMeta{Name: name})
}

func (h *Harness) emptyNamespace(ctx context.Context, meta metav1.ObjectMeta) (*Namespace, error) {
	name := meta.Name + meta.GenerateName
	created, err := h.clients.typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: meta}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("make a namespace for %s: %w", name, err)
	}
	n := &Namespace{Name: created.Name, cluster: h.cluster, clients: h.clients}
	if n.Observer, err = observe(ctx, h.clients.typed, n.Name); err != nil {
		return nil, fmt.Errorf("watch namespace %s: %w", n.Name, err)
	}
	// Without this account pods are refused, and who makes them tries again only after growing pauses.
	err = Await(ctx, "the ServiceAccount default of namespace "+n.Name, func(ctx context.Context) error {
		_, err := h.clients.typed.CoreV1().ServiceAccounts(n.Name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	if err != nil {
		return nil, err
	}
	return n, nil
}
