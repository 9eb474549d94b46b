package harness

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

// Ref names an object of a namespace as a user of kubectl does.
type Ref struct {
	// Kind is in lower case and singular: "deployment". Where two are called so, the group stands
	// behind it: "statefulset.apps.kruise.io".
	Kind string
	Name string
}

// String returns kind/name.
func (r Ref) String() string { return r.Kind + "/" + r.Name }

// ParseRef reads "deployment/web". Kinds may be written in the plural and in any case.
func ParseRef(s string) (Ref, error) {
	kind, name, found := strings.Cut(s, "/")
	if !found || kind == "" || name == "" || strings.Contains(name, "/") {
		return Ref{}, fmt.Errorf("%q names no object: write KIND/NAME, like deployment/web", s)
	}
	kind = strings.ToLower(kind)
	// Only the kinds that are compared with each other here need one spelling; for all others the
	// cluster knows.
	switch kind {
	case "deployments", "statefulsets", "daemonsets", "rollouts", "cronjobs", "jobs", "configmaps", "secrets", "pods":
		kind = strings.TrimSuffix(kind, "s")
	}
	return Ref{Kind: kind, Name: name}, nil
}

// resource returns how the API serves a kind, in this namespace if the kind has namespaces.
func (n *Namespace) resource(gk schema.GroupKind, version string) (dynamic.ResourceInterface, error) {
	var versions []string
	if version != "" {
		versions = append(versions, version)
	}
	mapping, err := n.clients.mapper.RESTMapping(gk, versions...)
	if err != nil {
		return nil, fmt.Errorf("kind %s: %w", gk, err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return n.clients.dynamic.Resource(mapping.Resource).Namespace(n.Name), nil
	}
	return n.clients.dynamic.Resource(mapping.Resource), nil
}

func (n *Namespace) at(ref Ref) (dynamic.ResourceInterface, error) {
	gvk, err := n.clients.mapper.KindFor(schema.ParseGroupResource(ref.Kind).WithVersion(""))
	if err != nil {
		return nil, fmt.Errorf("%s: the cluster serves no kind %q: %w", ref, ref.Kind, err)
	}
	return n.resource(gvk.GroupKind(), gvk.Version)
}

// Get reads an object from the API server.
func (n *Namespace) Get(ctx context.Context, ref Ref) (*unstructured.Unstructured, error) {
	resource, err := n.at(ref)
	if err != nil {
		return nil, err
	}
	obj, err := resource.Get(ctx, ref.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read %s in namespace %s: %w", ref, n.Name, err)
	}
	return obj, nil
}
