package stage

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
)

// Pool has clusters for tests that change what others would see, one test at a time on each. What a
// test leaves there is removed after it, which takes a fraction of the time of a new control plane. A
// test that changes Nodes, what is in namespaces of Kubernetes or the data of objects that are on each
// cluster needs OfTest, as one that starts more components of Kubernetes.
type Pool struct {
	// Binary builds the controller.
	Binary func() (string, error)

	mu   sync.Mutex
	free []*swept
}

// sweptWithin is much longer than a new cluster takes. Kubernetes sometimes takes minutes to remove a
// CustomResourceDefinition.
const sweptWithin = time.Minute

// OfTest is a stage on a cluster that looks new, until the end of the test.
func (p *Pool) OfTest(t *testing.T) *Stage {
	t.Helper()
	s, err := p.next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	of, err := on(s.cluster, p.Binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(t.Context()), sweptWithin, fmt.Errorf("it did not look new within %s", sweptWithin))
		defer cancel()
		left, err := p.putBack(ctx, s)
		if err != nil {
			t.Error(err)
		}
		if left != "" {
			t.Logf("the cluster ends with the test: %s", left)
		}
	})
	return of
}

// putBack sweeps a cluster. It ends if something is not as it was, which is returned.
func (p *Pool) putBack(ctx context.Context, s *swept) (left string, err error) {
	changed, err := s.sweep(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return err.Error(), s.cluster.Stop()
	case err != nil:
		return "", errors.Join(err, s.cluster.Stop())
	case len(changed) > 0:
		return "it changed " + strings.Join(changed, ", "), s.cluster.Stop()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, s)
	return "", nil
}

func (p *Pool) next(ctx context.Context) (*swept, error) {
	if s := p.pop(); s != nil {
		return s, nil
	}
	started, err := cluster.Start(ctx, cluster.Options{Progress: os.Stderr})
	if err != nil {
		return nil, err
	}
	s, err := newSwept(ctx, started)
	if err != nil {
		return nil, errors.Join(err, started.Stop())
	}
	return s, nil
}

func (p *Pool) pop() *swept {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.free) - 1
	if last < 0 {
		return nil
	}
	s := p.free[last]
	p.free = p.free[:last]
	return s
}

// Stop ends the clusters, when no test uses them any more.
func (p *Pool) Stop() error {
	var errs []error
	for _, s := range p.free {
		errs = append(errs, s.cluster.Stop())
	}
	return errors.Join(errs...)
}

// swept is a cluster, and what was on it when it was new.
type swept struct {
	cluster   *cluster.Cluster
	discovery discovery.DiscoveryInterface
	client    dynamic.Interface
	kept      map[string]string
}

func newSwept(ctx context.Context, c *cluster.Cluster) (*swept, error) {
	s := &swept{cluster: c, kept: map[string]string{}}
	var err error
	if s.discovery, err = discovery.NewDiscoveryClientForConfig(c.Config()); err != nil {
		return nil, err
	}
	if s.client, err = dynamic.NewForConfig(c.Config()); err != nil {
		return nil, err
	}
	all, err := s.resources()
	if err != nil {
		return nil, err
	}
	err = s.each(ctx, all, func(_ schema.GroupVersionResource, name string, obj *unstructured.Unstructured) error {
		s.kept[name] = said(obj)
		return nil
	})
	return s, err
}

// said is what users have said of an object. Kubernetes itself changes Nodes.
func said(obj *unstructured.Unstructured) string {
	if obj.GetKind() == "Node" {
		return "it is there"
	}
	return fmt.Sprint(obj.GetLabels(), obj.GetAnnotations(), obj.GetGeneration())
}

// sweep removes all that was not there when the cluster was new, and returns what else is not as it was
// then.
func (s *swept) sweep(ctx context.Context) (changed []string, err error) {
	var some []schema.GroupVersionResource
	var there map[string]string
	err = harness.Await(ctx, "a cluster without what a test left", func(ctx context.Context) error {
		// To list everything takes time of the processor, so that is done again only when what is known is gone.
		resources, again := some, some != nil
		some = nil
		if !again {
			var err error
			if resources, err = s.resources(); err != nil {
				return err
			}
		}
		seen, left, err := s.remove(ctx, resources)
		switch {
		case err != nil:
			return err
		case len(left) > 0:
			some = slices.Collect(maps.Keys(left))
			return fmt.Errorf("there are %v", left)
		case again:
			return errors.New("there may be more")
		}
		there = seen
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(s.kept)) {
		if there[name] != s.kept[name] {
			changed = append(changed, name)
		}
	}
	return changed, nil
}

// remove begins to remove what was not there, and returns it, and what users have said of the rest.
func (s *swept) remove(ctx context.Context, resources []schema.GroupVersionResource) (there map[string]string, left map[schema.GroupVersionResource][]string, err error) {
	there, left = map[string]string{}, map[schema.GroupVersionResource][]string{}
	err = s.each(ctx, resources, func(resource schema.GroupVersionResource, name string, obj *unstructured.Unstructured) error {
		if _, kept := s.kept[name]; kept {
			there[name] = said(obj)
			return nil
		}
		left[resource] = append(left[resource], name)
		of := s.client.Resource(resource).Namespace(obj.GetNamespace())
		switch {
		case slices.ContainsFunc(obj.GetFinalizers(), isForeign):
			_, err := of.Patch(ctx, obj.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			return unlessGone(err)
		case obj.GetDeletionTimestamp() != nil:
			return nil
		}
		background := metav1.DeletePropagationBackground
		return unlessGone(of.Delete(ctx, obj.GetName(), metav1.DeleteOptions{PropagationPolicy: &background}))
	})
	return there, left, err
}

// resources are those that can be listed and deleted, except for what the components of Kubernetes make
// for themselves whenever they want.
func (s *swept) resources() ([]schema.GroupVersionResource, error) {
	lists, err := s.discovery.ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	found, err := discovery.GroupVersionResources(discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, lists))
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(found, func(resource schema.GroupVersionResource, _ struct{}) bool {
		return slices.Contains([]string{"apiservices", "endpoints", "endpointslices", "leases"}, resource.Resource)
	})
	return slices.Collect(maps.Keys(found)), nil
}

// each calls a function for each object that is not of Kubernetes itself.
func (s *swept) each(ctx context.Context, resources []schema.GroupVersionResource, do func(resource schema.GroupVersionResource, name string, obj *unstructured.Unstructured) error) error {
	for _, resource := range resources {
		objects, err := s.client.Resource(resource).List(ctx, metav1.ListOptions{})
		if unlessGone(err) != nil {
			return err
		}
		if err != nil {
			continue // its kind was removed
		}
		for _, obj := range objects.Items {
			namespace := obj.GetNamespace()
			if resource.Resource == "namespaces" {
				namespace = obj.GetName()
			}
			if strings.HasPrefix(namespace, "kube-") || obj.GetName() == "kube-root-ca.crt" {
				continue
			}
			if err := do(resource, fmt.Sprintf("%s %s/%s", resource.GroupResource(), obj.GetNamespace(), obj.GetName()), &obj); err != nil {
				return err
			}
		}
	}
	return nil
}

// isForeign reports whether a finalizer is of a controller that does not run here, so that nobody else
// removes it.
func isForeign(finalizer string) bool {
	return !strings.Contains(finalizer, "k8s.io") && !strings.Contains(finalizer, "kubernetes.io")
}

func unlessGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
