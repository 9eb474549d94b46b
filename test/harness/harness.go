// Package harness runs a controller on a real Kubernetes and sees what comes of it: it changes
// objects as a user does, starts, stops and kills the controller, and watches a namespace so
// closely that no rollout escapes it.
//
// Nothing in it sleeps to let something happen. What is to come is awaited until the caller's
// context ends; what is not to come is shown by markers (see marker.go): objects whose ledger
// proves that everything before it was decided.
package harness

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Cluster is where things are tried. *cluster.Cluster is one.
type Cluster interface {
	// Config has every permission and no limit of its own.
	Config() *rest.Config
	// ServiceAccountKubeconfig writes a kubeconfig with the permissions of an existing
	// ServiceAccount and returns its path.
	ServiceAccountKubeconfig(ctx context.Context, namespace, name string) (string, error)
}

// Harness makes namespaces to try things in.
type Harness struct {
	// ArgoRollouts reports whether the controller of Argo Rollouts runs on the cluster.
	ArgoRollouts bool

	cluster Cluster
	clients clients
	guards  guards

	mu         sync.Mutex
	namespaces map[string]bool // that were made by this harness
}

type clients struct {
	typed   kubernetes.Interface
	dynamic dynamic.Interface
	// mapper asks the cluster again when it is asked for a kind that it does not know.
	mapper meta.RESTMapper
}

// New returns a harness on a running cluster.
func New(c Cluster) (*Harness, error) {
	config := c.Config()
	// Whoever reads the output of a test is not helped by what is deprecated in an API that is read
	// as a whole.
	config.WarningHandler = rest.NoWarnings{}
	binary := rest.CopyConfig(config)
	binary.ContentType = runtime.ContentTypeProtobuf
	typed, err := kubernetes.NewForConfig(binary)
	if err != nil {
		return nil, fmt.Errorf("make a client for the cluster: %w", err)
	}
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for the cluster: %w", err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(typed.Discovery()))
	return &Harness{cluster: c, clients: clients{typed: typed, dynamic: dyn, mapper: mapper}, guards: guards{applied: map[string]bool{}}, namespaces: map[string]bool{}}, nil
}

// AwaitKind returns when the cluster says that it serves a resource, given in the plural. Otherwise
// it is asked once.
func (h *Harness) AwaitKind(ctx context.Context, resource string) error {
	return Await(ctx, "the cluster to serve "+resource, func(context.Context) error {
		meta.MaybeResetRESTMapper(h.clients.mapper)
		_, err := h.clients.mapper.KindFor(schema.ParseGroupResource(resource).WithVersion(""))
		return err
	})
}
