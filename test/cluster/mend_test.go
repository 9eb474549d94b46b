package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
)

// testAPodIsNotDeletedForTheOneBeforeIt gives kwok many reasons to delete Pods that are ending, so that
// the last of them are late: other Pods have the names by then.
func testAPodIsNotDeletedForTheOneBeforeIt(t *testing.T, c *Cluster) {
	t.Helper()
	client := kubernetes.NewForConfigOrDie(c.Config()).CoreV1()
	nodes, err := client.Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	u := podUser{client.Pods("default"), nodes.Items[0].Name}
	const names = 25
	replaced := make([]*corev1.Pod, names)
	errs := make([]error, names)
	var replacing sync.WaitGroup
	for i := range names {
		replacing.Go(func() { replaced[i], errs[i] = u.replace(t.Context(), fmt.Sprintf("same-%d", i)) })
	}
	replacing.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	// Kwok does what it saw first before this.
	if err := u.createAndDelete(t.Context(), "later"); err != nil {
		t.Fatal(err)
	}
	for _, pod := range replaced {
		found, err := u.pods.Get(t.Context(), pod.Name, metav1.GetOptions{})
		if err != nil || found.UID != pod.UID || found.DeletionTimestamp != nil {
			t.Errorf("%s was deleted for the Pod before it, of the same name: %v", pod.Name, err)
		}
	}
}

type podUser struct {
	pods typedcorev1.PodInterface
	node string
}

// replace deletes a Pod that something holds, changes it while it ends, lets it go, and returns the
// one that takes its name.
func (u podUser) replace(ctx context.Context, name string) (*corev1.Pod, error) {
	if _, err := u.create(ctx, name, "test.reroll.dev/held"); err != nil {
		return nil, err
	}
	if err := u.pods.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return nil, err
	}
	for _, patch := range []string{`{"labels":{"a":"b"}}`, `{"labels":{"a":"c"}}`, `{"finalizers":null}`} {
		if _, err := u.pods.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":`+patch+`}`), metav1.PatchOptions{}); err != nil {
			return nil, err
		}
	}
	return u.create(ctx, name)
}

// create creates a Pod as soon as none has its name.
func (u podUser) create(ctx context.Context, name string, finalizers ...string) (pod *corev1.Pod, err error) {
	return pod, u.await(ctx, func(ctx context.Context) error {
		pod, err = u.pods.Create(ctx, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers},
			Spec: corev1.PodSpec{
				NodeName: u.node, ServiceAccountName: "reader",
				Containers: []corev1.Container{{Name: "app", Image: "app"}},
			},
		}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return permanent{err}
		}
		return err
	})
}

func (u podUser) createAndDelete(ctx context.Context, name string) error {
	if _, err := u.create(ctx, name); err != nil {
		return err
	}
	if err := u.pods.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	return u.await(ctx, func(ctx context.Context) error {
		if _, err := u.pods.Get(ctx, name, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			return fmt.Errorf("%s is there (%w)", name, err)
		}
		return nil
	})
}

func (u podUser) await(ctx context.Context, ready func(context.Context) error) error {
	return poll(ctx, nil, ready, func(last error) error { return last })
}

func TestAMendForAnotherVersionIsRefused(t *testing.T) {
	module := t.TempDir()
	path := filepath.Join(module, "main.go")
	if err := os.WriteFile(path, []byte(badProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (mend{"main.go", "undefined()", ""}).apply(module); err != nil {
		t.Error(err)
	}
	if mended, err := os.ReadFile(path); err != nil || strings.Contains(string(mended), "undefined") {
		t.Errorf("%q %v", mended, err)
	}
	if err := (mend{"main.go", "undefined()", ""}).apply(module); err == nil || !strings.Contains(err.Error(), "for another version") {
		t.Errorf("a mend that does not fit: %v", err)
	}
}
