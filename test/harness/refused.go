package harness

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AwaitRefused returns when the API server refuses to change the pod template of a workload. An admission rule holds only
// some time after it was applied. What is tried is a dry run.
func (n *Namespace) AwaitRefused(ctx context.Context, workload Ref) error {
	resource, err := n.at(workload)
	if err != nil {
		return err
	}
	change := []byte(`{"spec":{"template":{"metadata":{"annotations":{"tried":"by-the-harness"}}}}}`)
	return Await(ctx, "the API server to refuse a change of "+workload.String(), func(ctx context.Context) error {
		_, err := resource.Patch(ctx, workload.Name, types.MergePatchType, change, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		switch {
		case err == nil:
			return errors.New("it takes one still")
		case apierrors.IsInvalid(err), apierrors.IsForbidden(err):
			return nil
		default:
			return fmt.Errorf("try to change %s: %w", workload, err)
		}
	})
}
