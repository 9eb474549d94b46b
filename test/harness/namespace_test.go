package harness

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

func TestARemovedNamespaceIsGoneWithAllThatWasInIt(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	must(t, n.Remove(ctx))
	if _, err := n.clients.typed.CoreV1().Namespaces().Get(ctx, n.Name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
	must(t, n.Remove(ctx)) // that somebody else has removed it is as good
}

func TestANamespaceThatCannotBeUsedIsNotLeftBehind(t *testing.T) {
	t.Parallel()
	h, err := New(shared)
	must(t, err)
	// It ends as soon as the namespace is made: nothing can be watched any more.
	ctx, cancel := context.WithCancel(t.Context())
	h.clients.typed = &endsAfterCreate{Interface: h.clients.typed, end: cancel}
	if _, err := h.EmptyNamespace(ctx, "unusable"); err == nil {
		t.Fatal("it is called usable")
	}
	list, err := h.clients.typed.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	must(t, err)
	for i := range list.Items {
		if ns := &list.Items[i]; ns.GenerateName == "unusable-" && ns.DeletionTimestamp == nil {
			t.Errorf("namespace %s is left", ns.Name)
		}
	}
}

// endsAfterCreate is a client whose user's context ends when a namespace was made.
type endsAfterCreate struct {
	kubernetes.Interface
	end func()
}

func (c *endsAfterCreate) CoreV1() typedcorev1.CoreV1Interface {
	return &endingCore{CoreV1Interface: c.Interface.CoreV1(), end: c.end}
}

type endingCore struct {
	typedcorev1.CoreV1Interface
	end func()
}

func (c *endingCore) Namespaces() typedcorev1.NamespaceInterface {
	return &endingNamespaces{NamespaceInterface: c.CoreV1Interface.Namespaces(), end: c.end}
}

type endingNamespaces struct {
	typedcorev1.NamespaceInterface
	end func()
}

func (n *endingNamespaces) Create(ctx context.Context, ns *corev1.Namespace, opts metav1.CreateOptions) (*corev1.Namespace, error) {
	defer n.end()
	return n.NamespaceInterface.Create(ctx, ns, opts)
}
