package docs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/reroll-dev/reroll/test/cluster"
	"github.com/reroll-dev/reroll/test/harness"
	"github.com/reroll-dev/reroll/test/stage"
)

// clusters are those that pages are tried on, one page at a time on each. What a page leaves there is
// removed after it: that takes a fraction of the time of a new control plane.
type clusters struct {
	binary func() (string, error)
	mu     sync.Mutex
	free   []*swept
}

// take returns a stage on a cluster that looks new, until the end of the test.
func (c *clusters) take(t *testing.T) *stage.Stage {
	t.Helper()
	s, err := c.next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(t.Context()), patience, fmt.Errorf("it was not empty within %s", patience))
		defer cancel()
		if err := s.sweep(ctx); err != nil {
			t.Error(errors.Join(err, s.cluster.Stop()))
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.free = append(c.free, s)
	})
	on, err := stage.On(s.cluster, c.binary)
	if err != nil {
		t.Fatal(err)
	}
	return on
}

func (c *clusters) next(ctx context.Context) (*swept, error) {
	if s := c.pop(); s != nil {
		return s, nil
	}
	started, err := cluster.Start(ctx, cluster.Options{})
	if err != nil {
		return nil, err
	}
	s, err := newSwept(ctx, started)
	if err != nil {
		return nil, errors.Join(err, started.Stop())
	}
	return s, nil
}

func (c *clusters) pop() *swept {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.free) - 1
	if last < 0 {
		return nil
	}
	s := c.free[last]
	c.free = c.free[:last]
	return s
}

func (c *clusters) stop() error {
	var errs []error
	for _, s := range c.free {
		errs = append(errs, s.cluster.Stop())
	}
	return errors.Join(errs...)
}

// swept is a cluster, and what was on it when it was new.
type swept struct {
	cluster   *cluster.Cluster
	discovery discovery.DiscoveryInterface
	client    dynamic.Interface
	kept      map[string]bool
}

func newSwept(ctx context.Context, c *cluster.Cluster) (*swept, error) {
	s := &swept{cluster: c, kept: map[string]bool{}}
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
	err = s.each(ctx, all, func(_ schema.GroupVersionResource, name string, _ *unstructured.Unstructured) error {
		s.kept[name] = true
		return nil
	})
	return s, err
}

// sweep removes all that was not there when the cluster was new. A page that changes what was there
// needs a cluster of its own.
func (s *swept) sweep(ctx context.Context) error {
	for {
		all, err := s.resources()
		if err != nil {
			return err
		}
		left, err := s.remove(ctx, all)
		if err != nil || len(left) == 0 {
			return err
		}
		// To list everything takes time of the processor, so that is done again only when these are gone.
		if err := harness.Await(ctx, "a cluster without what a page left", func(ctx context.Context) error {
			rest, err := s.remove(ctx, slices.Collect(maps.Keys(left)))
			if err == nil && len(rest) > 0 {
				err = fmt.Errorf("there are %v", rest)
			}
			return err
		}); err != nil {
			return err
		}
	}
}

// remove begins to remove what was not there, and returns it.
func (s *swept) remove(ctx context.Context, resources []schema.GroupVersionResource) (left map[schema.GroupVersionResource][]string, err error) {
	left = map[schema.GroupVersionResource][]string{}
	err = s.each(ctx, resources, func(resource schema.GroupVersionResource, name string, obj *unstructured.Unstructured) error {
		if s.kept[name] {
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
	return left, err
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
