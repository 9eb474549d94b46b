package uninstall

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"

	"github.com/reroll-dev/reroll/internal/controller"
	"github.com/reroll-dev/reroll/internal/lease"
	"github.com/reroll-dev/reroll/internal/metainfo"
	"github.com/reroll-dev/reroll/internal/workload"
)

// created is an object that the controller created in its own namespace.
type created struct {
	resource   schema.GroupVersionResource
	kind, name string
	// field is one that the controller writes, empty if no other program uses such an object. If
	// only others own it, Reloader has taken the object over.
	field string
}

// allCreated ends with the ConfigMap: by it, a run that was interrupted finds the others again.
func allCreated() []created {
	return []created{
		{coordinationv1.SchemeGroupVersion.WithResource("leases"), "Lease", lease.Name, "renewTime"},
		{corev1.SchemeGroupVersion.WithResource("secrets"), "Secret", controller.DigestKeyName, ""},
		{corev1.SchemeGroupVersion.WithResource("configmaps"), "ConfigMap", metainfo.Name, "reloaderOptions"},
	}
}

// Keys returns the namespaces that have a digest key: those in ns, or in all namespaces if ns is
// empty. A controller that ran outside of a cluster leaves its key without a ConfigMap that
// describes it. A user who may not list Secrets gets the namespaces of near that have a key.
func Keys(ctx context.Context, client metadata.Interface, ns string, near ...string) (found []string, partly bool, err error) {
	secrets := client.Resource(corev1.SchemeGroupVersion.WithResource("secrets"))
	list, err := secrets.Namespace(ns).List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, controller.DigestKeyName).String()})
	if err == nil {
		for i := range list.Items {
			found = append(found, list.Items[i].Namespace)
		}
		return found, false, nil
	}
	if !apierrors.IsForbidden(err) {
		return nil, false, fmt.Errorf("list the digest keys: %w", err)
	}
	for _, at := range near {
		if _, err := secrets.Namespace(at).Get(ctx, controller.DigestKeyName, metav1.GetOptions{}); err == nil {
			found = append(found, at)
		}
	}
	return found, true, nil
}

// Own lists the objects of the controller in its namespace, and deletes them unless it is a dry
// run. Only metadata is read, so no key leaves the API server. If anything failed before, they
// stay, because the next run needs them.
func (r *Run) Own(ctx context.Context, client metadata.Interface, ns string) {
	if r.failed > 0 {
		r.print("namespace "+ns, "the objects of the controller stay until all workloads are cleaned")
		return
	}
	for _, one := range allCreated() {
		object, of := one.kind+" "+ns+"/"+one.name, client.Resource(one.resource).Namespace(ns)
		found, err := of.Get(ctx, one.name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			continue
		case err == nil && one.field != "" && workload.WrittenByOthers(found.ManagedFields, one.field):
			r.print(object, "stays: another program uses it")
			continue
		case err == nil && !r.DryRun:
			err = of.Delete(ctx, one.name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &found.UID, ResourceVersion: &found.ResourceVersion}})
		}
		if err != nil && !apierrors.IsNotFound(err) {
			r.fail(object, err)
			return
		}
		r.done++
		if r.DryRun {
			r.print(object, "would delete")
		} else {
			r.print(object, "deleted")
		}
	}
}
