package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

const (
	shared = "shared" // the ConfigMap that many workloads use
	key    = "text"   // in every ConfigMap
)

// sharers are the Deployments that use one ConfigMap.
func (s *stage) sharers() []string { return numbered("sharer", s.opts.workloads) }

// owners are the Deployments that use one of their own, which has their name.
func (s *stage) owners() []string { return numbered("owner", s.opts.edits) }

// names are all Deployments of a namespace.
func (s *stage) names() []string { return append(s.sharers(), s.owners()...) }

func numbered(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%04d", prefix, i)
	}
	return names
}

// makeObjects makes the Deployments of a namespace and what they use.
func (s *stage) makeObjects(ctx context.Context, namespace string) error {
	sources := append([]string{shared}, s.owners()...)
	if err := inParallel(ctx, sources, func(ctx context.Context, name string) error {
		_, err := s.admin.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{key: "first"},
		}, metav1.CreateOptions{})
		return err
	}); err != nil {
		return err
	}
	if err := inParallel(ctx, s.sharers(), func(ctx context.Context, name string) error {
		return makeDeployment(ctx, s.admin, namespace, name, shared)
	}); err != nil {
		return err
	}
	return inParallel(ctx, s.owners(), func(ctx context.Context, name string) error {
		return makeDeployment(ctx, s.admin, namespace, name, name)
	})
}

func makeDeployment(ctx context.Context, client kubernetes.Interface, namespace, name, source string) error {
	labels := map[string]string{"app": name}
	_, err := client.AppsV1().Deployments(namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: labels,
			Annotations: map[string]string{"reloader.stakater.com/auto": "true"},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)),
			// Every run then finds as many ReplicaSets as the one before.
			RevisionHistoryLimit: new(int32(0)),
			Selector:             &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "app", Image: "example.com/app:1",
					EnvFrom: []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
						LocalObjectReference: corev1.LocalObjectReference{Name: source},
					}}},
				}}},
			},
		},
	}, metav1.CreateOptions{})
	return err
}

// makeSecrets makes Secrets that no workload uses, with a content that cannot be compressed.
func (s *stage) makeSecrets(ctx context.Context) error {
	s.tell("making %d Secrets of %d bytes", s.opts.secrets, s.opts.secretSize)
	return inParallel(ctx, numbered("secret", s.opts.secrets), func(ctx context.Context, name string) error {
		content := make([]byte, s.opts.secretSize)
		for i := range content {
			content[i] = byte(rand.Uint32()) //nolint:gosec // nobody's secret
		}
		_, err := s.admin.CoreV1().Secrets(s.namespace.Name).Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{key: content},
		}, metav1.CreateOptions{})
		return err
	})
}

// edit changes the content of a ConfigMap, to one that it never had.
func (s *stage) edit(ctx context.Context, name string, nth int) error {
	patch := fmt.Appendf(nil, `{"data":{%q:%q}}`, key, "edit "+strconv.Itoa(nth))
	_, err := s.admin.CoreV1().ConfigMaps(s.namespace.Name).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("edit ConfigMap %s: %w", name, err)
	}
	return nil
}

// inParallel calls do for each name, some at a time, and returns the first error.
func inParallel(ctx context.Context, names []string, do func(context.Context, string) error) error {
	return eachWith(ctx, 16, names, do)
}

// eachWith calls do for each item with so many at a time. The first error ends it.
func eachWith[T any](ctx context.Context, workers int, items []T, do func(context.Context, T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(items) {
					return
				}
				if err := do(ctx, items[i]); err != nil {
					cancel(err) // the first one stays
				}
			}
		})
	}
	running.Wait()
	return context.Cause(ctx)
}
