package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	shared = "shared" // the ConfigMap that many workloads use
	key    = "text"   // in every ConfigMap
	// part is the label of the Deployments that one watch of the bench sees.
	part = "part"
)

func numbered(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%05d", prefix, i)
	}
	return names
}

// deployment is one that is to be made.
type deployment struct {
	namespace, name string
	sources         []string // ConfigMaps
	// paused keeps Kubernetes from making ReplicaSets of those that are only there.
	paused bool
	// left reports whether it does not ask to be rolled.
	left bool
	part string
	pods int32
}

// makeDeployments makes one for each name. Each is seen when this returns.
func (s *stage) makeDeployments(ctx context.Context, e *eyes, names []string, of func(name string) deployment) error {
	if err := inParallel(ctx, names, func(ctx context.Context, name string) error { return s.makeDeployment(ctx, of(name)) }); err != nil {
		return err
	}
	return e.await(ctx, "the watch to deliver every workload", func() bool {
		for _, name := range names {
			if _, ok := e.now[name]; !ok {
				return false
			}
		}
		return true
	})
}

func (s *stage) makeDeployment(ctx context.Context, d deployment) error {
	labels := map[string]string{"app": d.name, part: d.part}
	var from []corev1.EnvFromSource
	for _, source := range d.sources {
		from = append(from, corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: source}}})
	}
	annotations := map[string]string{"reloader.stakater.com/auto": "true"}
	if d.left {
		annotations = nil
	}
	_, err := s.admin.AppsV1().Deployments(d.namespace).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: d.name, Labels: labels, Annotations: annotations},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(d.pods),
			Paused:   d.paused,
			// Every run then finds as many ReplicaSets as the one before.
			RevisionHistoryLimit: new(int32(0)),
			Selector:             &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "example.com/app:1", EnvFrom: from}}},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("make Deployment %s: %w", d.name, err)
	}
	return nil
}

// own is a Deployment with a ConfigMap of its own, which has its name.
func own(paused bool) func(name string) deployment {
	return func(name string) deployment {
		return deployment{namespace: work, name: name, sources: []string{name}, paused: paused, part: work}
	}
}

// makeOwn makes ConfigMaps and a Deployment for each.
func (s *stage) makeOwn(ctx context.Context, names []string, paused bool) error {
	if err := s.makeConfigMaps(ctx, work, names, 0); err != nil {
		return err
	}
	return s.makeDeployments(ctx, s.eyes, names, own(paused))
}

// makeProbe makes what tells whether a controller acts.
func (s *stage) makeProbe(ctx context.Context) error {
	if err := s.makeConfigMaps(ctx, probing, []string{probing}, 0); err != nil {
		return err
	}
	return s.makeDeployments(ctx, s.prober, []string{probing}, func(name string) deployment {
		return deployment{namespace: probing, name: name, sources: []string{name}, part: probing}
	})
}

// makeConfigMaps makes them with so many bytes beside the key that is edited.
func (s *stage) makeConfigMaps(ctx context.Context, namespace string, names []string, size int) error {
	return inParallel(ctx, names, func(ctx context.Context, name string) error {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{key: "first"}}
		if size > 0 {
			cm.BinaryData = map[string][]byte{"large": noise(size)}
		}
		if _, err := s.admin.CoreV1().ConfigMaps(namespace).Create(ctx, cm, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("make ConfigMap %s: %w", name, err)
		}
		return nil
	})
}

// makeSecrets makes Secrets that no workload uses.
func (s *stage) makeSecrets(ctx context.Context, names []string, kind corev1.SecretType, size int) error {
	return inParallel(ctx, names, func(ctx context.Context, name string) error {
		_, err := s.admin.CoreV1().Secrets(work).Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Type: kind, Data: map[string][]byte{key: noise(size)},
		}, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("make Secret %s: %w", name, err)
		}
		return nil
	})
}

// noise is a content that cannot be compressed.
func noise(size int) []byte {
	content := make([]byte, size)
	for i := range content {
		content[i] = byte(rand.Uint32()) //nolint:gosec // nobody's secret
	}
	return content
}

// edit changes the content of a ConfigMap, to one that it never had.
func (s *stage) edit(ctx context.Context, namespace, name string, nth int) error {
	_, err := s.editAt(ctx, namespace, name, nth)
	return err
}

// editEach edits ConfigMaps all at once, and returns when each edit was answered.
func (s *stage) editEach(ctx context.Context, names []string, in func(name string) (namespace string), nth int) (func(name string) time.Time, error) {
	var mu sync.Mutex
	answered := map[string]time.Time{}
	err := inParallel(ctx, names, func(ctx context.Context, name string) error {
		err := s.edit(ctx, in(name), name, nth)
		mu.Lock()
		defer mu.Unlock()
		answered[name] = time.Now()
		return err
	})
	return func(name string) time.Time { return answered[name] }, err
}

// editAt returns the version that the edit has made.
func (s *stage) editAt(ctx context.Context, namespace, name string, nth int) (uint64, error) {
	return s.patchConfigMap(ctx, namespace, name, fmt.Sprintf(`{"data":{%q:%q}}`, key, "edit "+strconv.Itoa(nth)))
}

func (s *stage) patchConfigMap(ctx context.Context, namespace, name, patch string) (uint64, error) {
	cm, err := s.admin.CoreV1().ConfigMaps(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		return 0, fmt.Errorf("edit ConfigMap %s: %w", name, err)
	}
	version, err := strconv.ParseUint(cm.ResourceVersion, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("edit ConfigMap %s: its version: %w", name, err)
	}
	return version, nil
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
