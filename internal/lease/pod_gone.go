package lease

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation"
)

// gone reports whether the holder was a Pod of this namespace that no longer exists. If a Pod is
// killed, or loses its permissions before it ends, its lease remains without renewals. That happens
// during an uninstallation, for example.
//
// The check only works if identities are Pod names, so it requires a Pod with our own identity.
// Outside the cluster, for example, there is none. If Pods cannot be listed, the holder does not
// count as gone.
func (h *Holder) gone(ctx context.Context, holder string) bool {
	// The identity of a replica outside a Pod is a hostname with a random suffix.
	if len(validation.IsDNS1123Subdomain(holder)) > 0 {
		return false
	}
	ctx, cancel := h.bounded(ctx)
	defer cancel()
	here, err := h.pod(ctx, h.opts.Identity)
	if err != nil || here == nil {
		return false
	}
	there, err := h.pod(ctx, holder)
	return err == nil && there == nil
}

// pod returns a Pod of this namespace, or nil if there is none. It also returns a terminating Pod,
// because its container may still run. It lists Pods, because the role grants list and not get.
func (h *Holder) pod(ctx context.Context, name string) (*corev1.Pod, error) {
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	pods, err := h.client.Pods(h.opts.Namespace).List(ctx, metav1.ListOptions{FieldSelector: only})
	if err != nil || len(pods.Items) == 0 {
		return nil, err
	}
	return &pods.Items[0], nil
}
