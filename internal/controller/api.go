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

// API contains all requests that the controller sends to an API server.
type API interface {
	// Open returns how a resource is listed and watched.
	Open(kubeapi.Watched) intake.Opener
	// Patch changes a workload and returns its new version.
	Patch(ctx context.Context, kind kinds.Kind, key workload.Key, patch kinds.Patch) (runtime.Object, error)
	// Get and Create are for workloads whose reload is not a patch.
	Get(ctx context.Context, kind kinds.Kind, key workload.Key) (runtime.Object, error)
	Create(ctx context.Context, kind kinds.Kind, namespace string, obj runtime.Object) (runtime.Object, error)
	// TryCreate returns what Create would store, and stores nothing.
	TryCreate(ctx context.Context, kind kinds.Kind, namespace string, obj runtime.Object) (runtime.Object, error)
	// Delete deletes an object that Create created.
	Delete(ctx context.Context, kind kinds.Kind, key workload.Key, opts metav1.DeleteOptions) error
	// Pods returns the Pods of a workload.
	Pods(ctx context.Context, w *workload.Workload) (reload.Pods, error)
	// Running returns the Pods of a workload with their marks, and why they are not ready.
	Running(ctx context.Context, w *workload.Workload, names annotations.Names) ([]rollout.Pod, error)
}
