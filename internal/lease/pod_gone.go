package lease

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/validation"
)

// gone reports whether the holder was a pod of this namespace that is no more. A pod that is killed, or loses its rights
// before it ends as when a release is uninstalled, leaves a lease behind that nobody will renew.
//
// Only who is found by its own name knows that identities are names of pods here: not by hand, not outside of the
// cluster. What may not be listed, or gets no answer, tells nothing.
func (h *Holder) gone(ctx context.Context, holder string) bool {
	// A host with something random behind it is the identity of an instance that knows no pod of its own.
	if len(validation.IsDNS1123Subdomain(holder)) > 0 {
		return false
	}
	ctx, cancel := h.bounded(ctx)
	defer cancel()
	here, err := h.isPod(ctx, h.opts.Identity)
	if err != nil || !here {
		return false
	}
	there, err := h.isPod(ctx, holder)
	return err == nil && !there
}

// isPod counts one that is about to end, too: its container may be running still. The right is to list pods, not to get
// them.
func (h *Holder) isPod(ctx context.Context, name string) (bool, error) {
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
	pods, err := h.client.CoreV1().Pods(h.opts.Namespace).List(ctx, metav1.ListOptions{FieldSelector: only})
	if err != nil {
		return false, err
	}
	return len(pods.Items) > 0, nil
}
