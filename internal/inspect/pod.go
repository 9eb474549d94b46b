package inspect

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodOf returns the name of a Pod if a text names one. A user whose Pod did not restart knows the
// name of the Pod first.
func PodOf(text string) (name string, ok bool) {
	kind, name, _ := strings.Cut(text, "/")
	switch strings.ToLower(kind) {
	case "pod", "pods", "po":
		return name, name != ""
	default:
		return "", false
	}
}

// OwnerOf returns the workload that owns a Pod, as KIND/NAME.
func (c *Cluster) OwnerOf(ctx context.Context, s *Settings, ns, pod string) (string, error) {
	p, err := c.Interface.Pods(ns).Get(ctx, pod, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("look up the owner of pod %s: %w", pod, err)
	}
	owner := metav1.GetControllerOf(p)
	if owner != nil && owner.Kind == "ReplicaSet" {
		rs, err := c.ReplicaSets(ns).Get(ctx, owner.Name, metav1.GetOptions{})
		if err != nil {
			return "", fmt.Errorf("look up the owner of pod %s: %w", pod, err)
		}
		if above := metav1.GetControllerOf(rs); above != nil {
			owner = above
		}
	}
	if owner == nil {
		return "", fmt.Errorf("pod %s belongs to no workload, so nothing rolls it", pod)
	}
	group, _, _ := strings.Cut(owner.APIVersion, "/")
	if kind, ok := s.Rules.Kinds.Of(group, owner.Kind); ok {
		return strings.ToLower(kind.Name) + "/" + owner.Name, nil
	}
	return "", fmt.Errorf("pod %s belongs to %s %s, and Reroll does not roll %s objects", pod, owner.Kind, owner.Name, owner.Kind)
}
