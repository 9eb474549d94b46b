package metainfo

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/clientset"
)

// ReadFreeze returns the text of the freeze of all namespaces, valid or not; empty without one. A
// text that is too long stays too long.
func ReadFreeze(cm *corev1.ConfigMap) string {
	text := cm.Annotations[annotations.Freeze]
	return text[:min(len(text), annotations.MaxFreeze+1)]
}

// Freeze reads the same from the cluster.
func Freeze(ctx context.Context, client clientset.Interface, namespace string) (string, error) {
	cm, err := client.ConfigMaps(namespace).Get(ctx, Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read ConfigMap %s/%s: %w", namespace, Name, err)
	}
	return ReadFreeze(cm), nil
}
