package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Shown returns every object of the namespace as JSON, of every kind there is, but the Secrets: all
// the places where somebody without permissions on Secrets can read.
func (n *Namespace) Shown(ctx context.Context) (map[string]string, error) {
	served, err := n.clients.typed.Discovery().ServerPreferredNamespacedResources()
	if err != nil {
		return nil, fmt.Errorf("ask which kinds the cluster serves: %w", err)
	}
	shown := map[string]string{}
	for _, group := range served {
		gv, err := schema.ParseGroupVersion(group.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range group.APIResources {
			if !slices.Contains(resource.Verbs, "list") || resource.Name == "secrets" {
				continue
			}
			list, err := n.clients.dynamic.Resource(gv.WithResource(resource.Name)).Namespace(n.Name).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", resource.Name, err)
			}
			for i := range list.Items {
				text, err := json.Marshal(list.Items[i].Object)
				if err != nil {
					return nil, err
				}
				shown[resource.Name+"/"+list.Items[i].GetName()] = string(text)
			}
		}
	}
	return shown, nil
}
