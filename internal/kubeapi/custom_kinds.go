package kubeapi

import (
	"context"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/clientset"
	"github.com/reroll-dev/reroll/internal/intake"
	"github.com/reroll-dev/reroll/internal/permissions"
)

// CustomClients creates a client for each group and version, and caches the discovered plurals. It
// is safe for concurrent use.
type CustomClients struct {
	config    *rest.Config
	shared    clientset.Interface
	discovery discovery

	mu      sync.Mutex
	clients map[schema.GroupVersion]rest.Interface
	plurals map[schema.GroupVersionKind]string
}

// NewCustomClients returns clients that share the rate limit of the client for built-in kinds.
func NewCustomClients(config *rest.Config, shared clientset.Interface, c clock.PassiveClock) *CustomClients {
	return &CustomClients{
		config: config, shared: shared, discovery: discovery{client: shared, clock: c},
		clients: map[schema.GroupVersion]rest.Interface{}, plurals: map[schema.GroupVersionKind]string{},
	}
}

func (c *CustomClients) client(version schema.GroupVersion) (rest.Interface, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.clients[version]; ok {
		return known, nil
	}
	config := dynamic.ConfigFor(c.config) // decodes objects without a Go type
	config.GroupVersion, config.APIPath = &version, "/apis"
	config.RateLimiter = c.shared.Discovery().GetRateLimiter()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for %s: %w", version, err)
	}
	c.clients[version] = client
	return client, nil
}

// plural returns the plural of a kind; empty before discovery.
func (c *CustomClients) plural(kind schema.GroupVersionKind) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.plurals[kind]
}

func (c *CustomClients) learn(kind schema.GroupVersionKind, plural string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plurals[kind] = plural
}

// Serves reports whether the API server serves a version of a group, by its latest discovery
// response.
func (c *CustomClients) Serves(ctx context.Context, version schema.GroupVersion) (bool, error) {
	return c.discovery.serves(ctx, version)
}

// custom returns the client and the plural of a custom kind.
func (c Client) custom(w Watched) (rest.Interface, string, error) {
	client, err := c.Custom.client(w.Resource.GroupVersion())
	if err != nil {
		return nil, "", err
	}
	plural := w.Resource.Resource
	if plural == "" {
		plural = c.Custom.plural(w.kind())
	}
	if plural == "" {
		if plural, err = c.discover(w); err != nil {
			return nil, "", err
		}
		c.Custom.learn(w.kind(), plural)
	}
	return client, plural, nil
}

func (w Watched) kind() schema.GroupVersionKind {
	return w.Resource.GroupVersion().WithKind(w.Kind)
}

// discover requests the plural of a kind from the API server.
func (c Client) discover(w Watched) (string, error) {
	path := "/apis/" + w.Resource.GroupVersion().String()
	if w.Resource.Group == "" {
		path = "/api/" + w.Resource.Version
	}
	known := &metav1.APIResourceList{}
	if err := c.Discovery().Get().AbsPath(path).Do(context.Background()).Into(known); err != nil {
		return "", fmt.Errorf("discover the resources of %s: %w", w.Resource.GroupVersion(), err)
	}
	for i := range known.APIResources {
		if r := &known.APIResources[i]; r.Kind == w.Kind && !strings.Contains(r.Name, "/") {
			return r.Name, nil
		}
	}
	return "", apierrors.NewNotFound(schema.GroupResource{Group: w.Resource.Group, Resource: w.Kind}, "")
}

// served lists and watches a custom kind. If a request is rejected, it finds out whether the kind
// or the permission is missing, because without permission the API server answers Forbidden in both
// cases.
type served struct {
	Watched
	client Client
}

// Watch opens a watch.
func (s served) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	open, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	w, err := open.Watch(ctx, opts)
	return w, s.explainRefusal(err)
}

// List reads one page.
func (s served) List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	open, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	list, err := open.List(ctx, opts)
	return list, s.explainRefusal(err)
}

func (s served) open(ctx context.Context) (intake.Opener, error) {
	if !s.Required {
		if err := s.checkServed(ctx); err != nil {
			return nil, err
		}
	}
	client, plural, err := s.client.custom(s.Watched)
	if err != nil {
		return nil, err
	}
	return s.client.opener(s.Watched, client, plural), nil
}

func (s served) explainRefusal(err error) error {
	switch {
	case apierrors.IsNotFound(err):
		s.client.Custom.learn(s.kind(), "") // it may return with another plural
		s.client.Custom.discovery.forget()
		return err
	case !apierrors.IsForbidden(err):
		return err
	}
	if _, unknown := s.client.discover(s.Watched); apierrors.IsNotFound(unknown) {
		return unknown
	}
	return err
}

// checkServed checks whether the kind is served and whether there is permission to watch it.
// Otherwise the audit log would repeatedly show rejected requests for a kind that no user has
// chosen.
func (s served) checkServed(ctx context.Context) error {
	discovery, of := &s.client.Custom.discovery, servedKind{s.kind(), s.Namespace}
	is, err := discovery.serves(ctx, s.Resource.GroupVersion())
	if err != nil {
		return err
	}
	if !is {
		return discovery.refuse(of, apierrors.NewNotFound(s.Resource.GroupResource(), ""))
	}
	if err := discovery.why(of); err != nil {
		return err
	}
	_, err = s.client.discover(s.Watched)
	switch {
	case apierrors.IsNotFound(err):
		return discovery.refuse(of, apierrors.NewNotFound(s.Resource.GroupResource(), ""))
	case err != nil:
		return err
	}
	for _, r := range permissions.In([]string{s.Namespace}, permissions.To(s.Resource.Group, s.Resource.Resource, "list", "watch")...) {
		switch allowed, err := permissions.Allowed(ctx, s.client.Interface, r); {
		case err != nil:
			return err
		case !allowed:
			return discovery.refuse(of, apierrors.NewForbidden(s.Resource.GroupResource(), "", fmt.Errorf("the controller lacks permission to %s it", r.Verb)))
		}
	}
	return nil
}
