package controller

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/intake"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/workload"
)

// API is all that the controller asks of an API server.
type API interface {
	// Open returns how the objects of a resource are brought.
	Open(kubeapi.Watched) intake.Opener
	// Patch changes a workload and returns what it is then.
	Patch(ctx context.Context, kind kinds.Kind, key workload.Key, patch kinds.Patch) (runtime.Object, error)
	// Get and Create are for workloads whose reload is not a patch.
	Get(ctx context.Context, kind kinds.Kind, key workload.Key) (runtime.Object, error)
	Create(ctx context.Context, kind kinds.Kind, namespace string, obj runtime.Object) (runtime.Object, error)
	// Delete removes one of the objects that Create makes.
	Delete(ctx context.Context, kind kinds.Kind, key workload.Key, opts metav1.DeleteOptions) error
	// Pods returns the pods of a workload.
	Pods(ctx context.Context, w *workload.Workload) (reload.Pods, error)
	// Running returns what they have of a reload, and what keeps them from being ready.
	Running(ctx context.Context, w *workload.Workload, names annotations.Names) ([]rollout.Pod, error)
}
