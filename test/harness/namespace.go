package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Namespace is a namespace of its own for one test, watched from before anything is in it.
type Namespace struct {
	Name string
	// Observer sees every rollout in the namespace.
	Observer *Observer

	cluster Cluster
	clients clients
	guards  *guards
	marked  string // the kind of the markers
	round   int    // of the markers
	asked   asked
	// argoRollouts reports whether there may be Rollouts, and that their controller runs.
	argoRollouts bool
}

// Namespace makes a namespace whose name starts with the given one, with markers in it. It is
// watched until the context ends.
func (h *Harness) Namespace(ctx context.Context, name string) (*Namespace, error) {
	n, err := h.EmptyNamespace(ctx, name)
	if err != nil {
		return nil, err
	}
	return n, n.Mark(ctx)
}

// EmptyNamespace is one without markers. If it cannot be used, nothing of it is left.
func (h *Harness) EmptyNamespace(ctx context.Context, name string) (*Namespace, error) {
	return h.emptyNamespace(ctx, metav1.ObjectMeta{GenerateName: name + "-"})
}

// NamedNamespace is an empty one of exactly this name, for one that comes back.
func (h *Harness) NamedNamespace(ctx context.Context, name string) (*Namespace, error) {
	return h.emptyNamespace(ctx, metav1.ObjectMeta{Name: name})
}

// ComingNamespace is watched before it exists: somebody else makes it, and perhaps deletes it and
// makes it again.
func (h *Harness) ComingNamespace(ctx context.Context, name string) (*Namespace, error) {
	n := h.namespace(name)
	return n, n.watch(ctx)
}

func (h *Harness) namespace(name string) *Namespace {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.namespaces[name] = true
	return &Namespace{Name: name, cluster: h.cluster, clients: h.clients, guards: &h.guards, argoRollouts: h.ArgoRollouts}
}

func (h *Harness) emptyNamespace(ctx context.Context, meta metav1.ObjectMeta) (*Namespace, error) {
	name := meta.Name + meta.GenerateName
	created, err := h.clients.typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: meta}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("make a namespace for %s: %w", name, err)
	}
	n := h.namespace(created.Name)
	if err := n.open(ctx); err != nil {
		removal, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookWithin)
		defer cancel()
		return nil, errors.Join(err, n.delete(removal))
	}
	return n, nil
}

// open returns when the namespace is watched and pods can be made in it.
func (n *Namespace) open(ctx context.Context) error {
	if err := n.watch(ctx); err != nil {
		return err
	}
	// Without this account pods are refused, and who makes them tries again only after growing
	// pauses.
	return Await(ctx, "the ServiceAccount default of namespace "+n.Name, func(ctx context.Context) error {
		_, err := n.clients.typed.CoreV1().ServiceAccounts(n.Name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

func (n *Namespace) watch(ctx context.Context) error {
	var err error
	if n.Observer, err = observe(ctx, n.clients.typed, n.Name); err != nil {
		return fmt.Errorf("watch namespace %s: %w", n.Name, err)
	}
	return nil
}

// Remove deletes the namespace and returns when it is gone, with all that was in it.
func (n *Namespace) Remove(ctx context.Context) error {
	if err := n.delete(ctx); err != nil {
		return err
	}
	return Await(ctx, "the end of namespace "+n.Name, func(ctx context.Context) error {
		left, err := n.clients.typed.CoreV1().Namespaces().Get(ctx, n.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		stuck := []string{"it is still there"}
		for _, c := range left.Status.Conditions {
			stuck = append(stuck, c.Message)
		}
		return errors.New(strings.Join(stuck, "; "))
	})
}

func (n *Namespace) delete(ctx context.Context) error {
	err := n.clients.typed.CoreV1().Namespaces().Delete(ctx, n.Name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete namespace %s: %w", n.Name, err)
	}
	return nil
}
