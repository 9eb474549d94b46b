package stage

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/test/cluster"
)

func TestAClusterOfAPoolLooksNewToTheNextTest(t *testing.T) {
	var pool Pool
	t.Cleanup(func() {
		if err := pool.Stop(); err != nil {
			t.Error(err)
		}
	})
	must := func(t *testing.T, errs ...error) {
		t.Helper()
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	var first *cluster.Cluster
	t.Run("one that leaves objects", func(t *testing.T) {
		s := pool.OfTest(t)
		first = s.Cluster
		ctx, core := t.Context(), s.Admin.CoreV1()
		_, namespace := core.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{})
		_, finalized := core.ConfigMaps("shop").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "left", Finalizers: []string{"example.org/nobody"}}}, metav1.CreateOptions{})
		_, standing := core.ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "left"}}, metav1.CreateOptions{})
		_, role := s.Admin.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "left"}}, metav1.CreateOptions{})
		must(t, namespace, finalized, standing, role, s.Cluster.InstallRolloutCRDs(ctx))
	})
	t.Run("the next, which changes what was there", func(t *testing.T) {
		s := pool.OfTest(t)
		if s.Cluster != first {
			t.Error("it has a cluster of its own")
		}
		ctx, core := t.Context(), s.Admin.CoreV1()
		_, namespace := core.Namespaces().Get(ctx, "shop", metav1.GetOptions{})
		_, standing := core.ConfigMaps("default").Get(ctx, "left", metav1.GetOptions{})
		_, role := s.Admin.RbacV1().ClusterRoles().Get(ctx, "left", metav1.GetOptions{})
		_, kind := s.Admin.Discovery().ServerResourcesForGroupVersion("argoproj.io/v1alpha1")
		for what, err := range map[string]error{"namespace": namespace, "ConfigMap": standing, "ClusterRole": role, "kind": kind} {
			if !apierrors.IsNotFound(err) {
				t.Errorf("%s: got %v, want that it is not there", what, err)
			}
		}
		_, err := core.Namespaces().Patch(ctx, "default", types.MergePatchType, []byte(`{"metadata":{"annotations":{"example.org/changed":"true"}}}`), metav1.PatchOptions{})
		must(t, err)
	})
	if len(pool.free) != 0 {
		t.Error("the cluster whose namespace default was changed is used again")
	}
}

func TestAClusterThatKeepsWhatATestLeftEnds(t *testing.T) {
	var pool Pool
	s, err := pool.next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": "kept", "finalizers": []any{"example.k8s.io/nobody"}},
	}}
	if _, err := s.client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("default").Create(t.Context(), kept, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	left, err := pool.putBack(ctx, s)
	if err != nil || left == "" || len(pool.free) != 0 {
		t.Errorf("%q is left (%v), and %d clusters are free; want something, and none", left, err, len(pool.free))
	}
}
