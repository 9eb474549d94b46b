package inspect

import (
	"context"
	"errors"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/source"
)

// WorkloadResources returns the plurals of the kinds of workloads.
func WorkloadResources() []string {
	var all []string
	for _, kind := range kinds.All() {
		all = append(all, kind.Label())
	}
	return all
}

// SourceResources returns the plurals of the kinds of sources.
func SourceResources() []string {
	var all []string
	for _, k := range kubeapi.SourceKinds() {
		all = append(all, k.Kind.Resource())
	}
	return all
}

// Completed returns the plurals of the kinds of sources whose names are completed. A request for a
// kind that few clusters serve would mostly fail.
func Completed() []string {
	return slices.DeleteFunc(SourceResources(), func(resource string) bool { return resource == source.ClusterTrustBundle.Resource() })
}

// Names returns the existing objects of some resources as kind/name, or only the name for
// namespaces. It requests no data.
func Names(ctx context.Context, config *rest.Config, ns string, resources []string) ([]string, error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	var all []string
	var failed []error
	for _, resource := range resources {
		gvr, opts := corev1.SchemeGroupVersion.WithResource(resource), metav1.ListOptions{ResourceVersion: "0"}
		in, lead := ns, strings.TrimSuffix(resource, "s")+"/"
		for _, kind := range kinds.All() {
			if kind.Label() == resource {
				gvr, lead = kind.Resource, strings.ToLower(kind.Name)+"/"
			}
		}
		for _, k := range kubeapi.SourceKinds() {
			if k.Kind.Resource() == resource {
				gvr, opts.FieldSelector = k.Resource.Resource, k.Resource.FieldSelector
			}
		}
		if resource == "namespaces" {
			in, lead = "", ""
		}
		names, err := namesOf(ctx, client, gvr, in, opts)
		failed = append(failed, err)
		for _, name := range names {
			all = append(all, lead+name)
		}
	}
	slices.Sort(all)
	return all, errors.Join(failed...)
}

func namesOf(ctx context.Context, client metadata.Interface, gvr schema.GroupVersionResource, ns string, opts metav1.ListOptions) ([]string, error) {
	list, err := client.Resource(gvr).Namespace(ns).List(ctx, opts)
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, nil
}
