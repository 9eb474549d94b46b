package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

// AwaitRefused returns when the API server refuses to change the pod template of a workload. An
// admission rule holds only some time after it was applied. What is tried is a dry run.
func (n *Namespace) AwaitRefused(ctx context.Context, workload Ref) error {
	resource, err := n.at(workload)
	if err != nil {
		return err
	}
	return Await(ctx, "the API server to refuse a change of "+workload.String(), func(ctx context.Context) error {
		_, err := tryChange(ctx, resource, workload)
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

// AwaitMutated returns when an object comes back with a text in it from a change of its pod
// template, which some admission rule has then put there.
func (n *Namespace) AwaitMutated(ctx context.Context, workload Ref, text string) error {
	resource, err := n.at(workload)
	if err != nil {
		return err
	}
	return Await(ctx, "a change of "+workload.String()+" to come back with "+text, func(ctx context.Context) error {
		obj, err := tryChange(ctx, resource, workload)
		if err != nil {
			return fmt.Errorf("try to change %s: %w", workload, err)
		}
		back, err := obj.MarshalJSON()
		if err == nil && !strings.Contains(string(back), text) {
			return errors.New("it comes back without")
		}
		return err
	})
}

func tryChange(ctx context.Context, resource dynamic.ResourceInterface, workload Ref) (*unstructured.Unstructured, error) {
	change := []byte(`{"spec":{"template":{"metadata":{"annotations":{"tried":"by-the-harness"}}}}}`)
	return resource.Patch(ctx, workload.Name, types.MergePatchType, change, metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
}
