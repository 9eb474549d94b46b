package controller

import (
	"context"
	"errors"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/internal/intake"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// opener lists Jobs with faults.
type opener struct {
	jobLister
	h *history
}

// Open implements API.
func (p proxy) Open(w kubeapi.Watched) intake.Opener {
	return opener{p.memory.Open(w).(jobLister), p.h}
}

// List implements intake.Opener.
func (o opener) List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	o.h.delay()
	if o.h.fault(refused, 40) {
		return nil, apierrors.NewInternalError(errors.New("the proxy refuses it"))
	}
	list, err := o.jobLister.List(ctx, opts)
	o.h.delay()
	return list, err
}

// Get implements API.
func (p proxy) Get(ctx context.Context, kind kinds.Kind, key workload.Key) (runtime.Object, error) {
	p.h.delay()
	if p.h.fault(refused, 40) {
		return nil, apierrors.NewInternalError(errors.New("the proxy refuses it"))
	}
	return p.memory.Get(ctx, kind, key)
}

// Create implements API.
func (p proxy) Create(ctx context.Context, kind kinds.Kind, namespace string, obj runtime.Object) (runtime.Object, error) {
	made := obj.DeepCopyObject().(simapi.Object)
	return p.h.send(&write{verb: "creation", resource: kind.Resource.Resource, name: inShop(made.GetName()), do: func() (runtime.Object, error) {
		return p.memory.Create(ctx, kind, namespace, made)
	}})
}

// Delete implements API.
func (p proxy) Delete(ctx context.Context, kind kinds.Kind, key workload.Key, opts metav1.DeleteOptions) error {
	resource, name := kind.Resource.Resource, inShop(key.Name)
	_, err := p.h.send(&write{verb: "deletion", resource: resource, name: name, do: func() (runtime.Object, error) {
		return nil, p.memory.Delete(ctx, kind, key, opts)
	}})
	return err
}

// jobs returns all Jobs.
func (h *history) jobs() []*batchv1.Job {
	list := h.server.List("jobs")
	jobs := make([]*batchv1.Job, len(list))
	for i, obj := range list {
		jobs[i] = obj.(*batchv1.Job)
	}
	return jobs
}

func isHeld(job *batchv1.Job) bool {
	_, held := job.Annotations["reroll.dev/held"]
	return held
}

// Notify implements Report.
func (r historyReport) Notify(n notice.Notice) {
	r.h.requestApproval(n)
	if n.Reason == notice.ReloadHeld {
		r.h.count(heldByLimit)
	}
	if n.Reason == notice.StaysHeld || n.Reason == notice.NotSigned {
		r.h.toldOf(n)
	}
}

// toldOf records that a user was notified of a Job with which only the user can continue.
func (h *history) toldOf(n notice.Notice) {
	h.say("it is told that only its user can go on with %s", n.Subject)
	h.oracle.odd[n.About.UID] = true
}
