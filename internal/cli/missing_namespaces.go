package cli

import (
	"context"
	"log/slog"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/clientset"
	"github.com/reroll-dev/reroll/internal/permissions"
)

// warnOfMissingNamespaces logs once which of the watched namespaces do not exist. The lists of such
// a namespace are empty, so nothing else shows a typo. A missing namespace is not an error, because
// it may be created later. Without permission to read a namespace, it is not reported. The
// permission is checked first, because an alert rule counts each forbidden read.
func warnOfMissingNamespaces(ctx context.Context, client clientset.Interface, namespaces []string, log *slog.Logger) {
	for _, name := range namespaces {
		read := permissions.Permission{Namespace: name, Resource: "namespaces", Name: name, Verb: "get"}
		if allowed, err := permissions.Allowed(ctx, client, read); err != nil || !allowed {
			continue
		}
		if _, err := client.Namespaces().Get(ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			log.Warn("a namespace to watch does not exist. Check --namespaces, or create it: Reroll then watches it without a restart", "namespace", name)
		}
	}
}
