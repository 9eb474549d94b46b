package cli

import (
	"context"
	"log/slog"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/reroll-dev/reroll/internal/rights"
)

// warnOfMissingNamespaces logs once which of the watched namespaces do not exist. The lists of such
// a namespace are empty, so nothing else shows a typo. It is not an error, because a namespace may
// be created later. Without the permission to read a namespace, nothing is known of it. The
// permission is checked first, because an alert rule counts each read that is forbidden.
func warnOfMissingNamespaces(ctx context.Context, client kubernetes.Interface, namespaces []string, log *slog.Logger) {
	for _, name := range namespaces {
		read := rights.Right{Namespace: name, Resource: "namespaces", Name: name, Verb: "get"}
		if allowed, err := rights.Allowed(ctx, client, read); err != nil || !allowed {
			continue
		}
		if _, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			log.Warn("a namespace to watch does not exist. Check --namespaces, or create it: Reroll then watches it without a restart", "namespace", name)
		}
	}
}
