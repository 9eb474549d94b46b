package controller

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/intake"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// memory answers the requests of a controller from an API server in memory. Which Pods exist is for
// each fixture to say, and requests that no test expects panic. Fixtures add what disturbs a request.
type memory struct {
	API
	server *simapi.Server
}

func nameOf(key workload.Key) types.NamespacedName {
	return types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
}

// Open implements API. A controller itself only lists Jobs; a test delivers what is watched.
func (m memory) Open(w kubeapi.Watched) intake.Opener {
	return jobLister{server: m.server, resource: w.Resource.Resource, selector: w.FieldSelector}
}

// Patch implements API.
func (m memory) Patch(_ context.Context, kind kinds.Kind, key workload.Key, patch kinds.Patch) (runtime.Object, error) {
	return m.server.Patch(kind.Resource.Resource, nameOf(key), patch.Body, workload.FieldManager)
}

// Get implements API.
func (m memory) Get(_ context.Context, kind kinds.Kind, key workload.Key) (runtime.Object, error) {
	return m.server.Get(kind.Resource.Resource, nameOf(key))
}

// Create implements API.
func (m memory) Create(_ context.Context, _ kinds.Kind, _ string, obj runtime.Object) (runtime.Object, error) {
	return m.server.Create(obj.DeepCopyObject().(simapi.Object), workload.FieldManager)
}

// TryCreate implements API: no admission controller changes an object.
func (m memory) TryCreate(_ context.Context, _ kinds.Kind, _ string, obj runtime.Object) (runtime.Object, error) {
	return obj.DeepCopyObject(), nil
}

// Delete implements API.
func (m memory) Delete(_ context.Context, kind kinds.Kind, key workload.Key, opts metav1.DeleteOptions) error {
	return m.server.Remove(kind.Resource.Resource, nameOf(key), opts)
}

// jobLister lists the Jobs that exist.
type jobLister struct {
	intake.Opener
	server   *simapi.Server
	resource string
	selector string
}

// List implements intake.Opener.
func (l jobLister) List(context.Context, metav1.ListOptions) (runtime.Object, error) {
	selector, err := fields.ParseSelector(l.selector)
	if err != nil {
		return nil, err
	}
	list := &batchv1.JobList{}
	for _, job := range l.server.List("jobs") {
		if selector.Matches(fields.Set{metav1.ObjectNameField: job.GetName()}) {
			list.Items = append(list.Items, *job.(*batchv1.Job).DeepCopy())
		}
	}
	return list, nil
}
