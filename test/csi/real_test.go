package csi_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/simapi"
)

// onANode is the real driver, on a cluster of its own.
type onANode struct {
	*testing.T
	typed  kubernetes.Interface
	custom dynamic.Interface
	driver *cluster.SecretsStore
	// ids are what the class mounts, sorted; nil if there is no class.
	ids []string
}

func newOnANode(t *testing.T) *onANode {
	t.Helper()
	n := &onANode{T: t}
	ctx := t.Context()
	c, err := cluster.Start(ctx, cluster.Options{Nodes: cluster.NoNodes, Progress: os.Stderr})
	must(n.T, err)
	t.Cleanup(func() { must(n.T, c.Stop()) })
	n.typed, err = kubernetes.NewForConfig(c.Config())
	must(n.T, err)
	n.custom, err = dynamic.NewForConfig(c.Config())
	must(n.T, err)
	n.driver, err = c.StartSecretsStore(ctx, os.Stderr)
	must(n.T, err)
	t.Cleanup(func() { must(n.T, n.driver.Stop()) })
	_, err = n.typed.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	must(n.T, err)
	must(n.T, harness.Await(ctx, "the account of Pods", func(ctx context.Context) error {
		_, err := n.typed.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return err
	}))
	return n
}

func (n *onANode) of(resource string) dynamic.ResourceInterface {
	return n.custom.Resource(schema.GroupVersionResource{Group: simapi.ClassGroup, Version: "v1", Resource: resource}).Namespace(namespace)
}

func (n *onANode) store(versions map[string]string) { must(n.T, n.driver.Store(class, versions)) }

func (n *onANode) mounts(ids ...string) {
	classes, ctx := n.of(simapi.ClassResource), n.Context()
	if len(ids) == 0 {
		must(n.T, classes.Delete(ctx, class, metav1.DeleteOptions{}))
		n.ids = nil
		return
	}
	standing, err := classes.Get(ctx, class, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = classes.Create(ctx, simapi.NewClass(namespace, class, ids).(*unstructured.Unstructured), metav1.CreateOptions{})
	} else if err == nil {
		simapi.SetIDs(standing, ids)
		_, err = classes.Update(ctx, standing, metav1.UpdateOptions{})
	}
	must(n.T, err)
	n.ids = slices.Sorted(slices.Values(ids))
}

func (n *onANode) starts(pod string) *corev1.Pod {
	n.gone(pod)
	made, err := n.typed.CoreV1().Pods(namespace).Create(n.Context(), podOf(pod), metav1.CreateOptions{})
	must(n.T, err)
	return made
}

// gone waits until there is no Pod of a name. Its status stays, as it does if the garbage collector is
// slower than the kubelet.
func (n *onANode) gone(pod string) {
	orphan := metav1.DeletePropagationOrphan
	must(n.T, harness.Await(n.Context(), "the end of Pod "+pod, func(ctx context.Context) error {
		err := n.typed.CoreV1().Pods(namespace).Delete(ctx, pod, metav1.DeleteOptions{PropagationPolicy: &orphan})
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return errors.New("it is being deleted")
	}))
}

func (n *onANode) deletes(pod string) {
	must(n.T, n.typed.CoreV1().Pods(namespace).Delete(n.Context(), pod, metav1.DeleteOptions{}))
	must(n.T, harness.Await(n.Context(), "the end of its status", func(ctx context.Context) error {
		_, err := n.of(simapi.StatusResource).Get(ctx, simapi.StatusName(podOf(pod), class), metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %w", err)
	}))
}

// looks asks the driver until it knows the class as it is: it reads classes from a watch.
func (n *onANode) looks(pod *corev1.Pod) {
	must(n.T, harness.Await(n.Context(), "the driver to know the class", func(context.Context) error {
		err := n.driver.Publish(named(pod.Name), pod.UID, class)
		switch {
		case n.ids == nil && err != nil && strings.Contains(err.Error(), "not found"):
			return nil
		case n.ids == nil:
			return fmt.Errorf("it mounts a class that is deleted: %w", err)
		case err != nil:
			return err
		}
		if has := idsOf(n.status(pod)); !slices.Equal(has, n.ids) {
			return fmt.Errorf("it has mounted %v, not %v", has, n.ids)
		}
		return nil
	}))
}

func (n *onANode) status(pod *corev1.Pod) *unstructured.Unstructured {
	found, err := n.of(simapi.StatusResource).Get(n.Context(), simapi.StatusName(pod, class), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	must(n.T, err)
	return found
}

func (n *onANode) wait() { time.Sleep(2 * time.Second) }
