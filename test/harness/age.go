package harness

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// AwaitAge returns when an object is older than that by the clock of the API server, which notes
// when objects are made.
func (n *Namespace) AwaitAge(ctx context.Context, ref Ref, age time.Duration) error {
	obj, err := n.Get(ctx, ref)
	if err != nil {
		return err
	}
	return Await(ctx, fmt.Sprintf("%s to be older than %s", ref, age), func(ctx context.Context) error {
		now, err := n.clients.typed.CoreV1().ConfigMaps(n.Name).Create(ctx,
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "now-"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return err
		}
		if is := now.CreationTimestamp.Sub(obj.GetCreationTimestamp().Time); is <= age {
			return fmt.Errorf("its age is %s", is)
		}
		return nil
	})
}
