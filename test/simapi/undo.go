package simapi

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
)

// revision is what the Deployment controller keeps in a ReplicaSet: the template, and beside it the
// annotations that the Deployment had as long as the template was its present one.
type revision struct {
	number      string
	annotations map[string]string
}

// keepRevision copies the annotations of a Deployment to its present revision. The real controller
// does so with each sync, so they are those of the last moment before the template changed, or a
// little older.
func (p *Pods) keepRevision(w Object) {
	if _, ok := w.(*appsv1.Deployment); !ok {
		return
	}
	number := p.revision(w)
	kept := p.revisions[w.GetUID()]
	at := slices.IndexFunc(kept, func(r revision) bool { return r.number == number })
	if at < 0 && paused(w) {
		return // it has no ReplicaSet yet
	}
	if at >= 0 {
		// The newest revision is the one that is current, also when its template is an old one.
		kept = slices.Delete(kept, at, at+1)
	}
	// Nobody writes to what the server handed out.
	kept = append(kept, revision{number: number, annotations: w.GetAnnotations()})
	p.revisions[w.GetUID()] = kept
}

// Undo is kubectl rollout undo: it puts template and annotations of the revision before the present
// one back, in one write without a condition. It returns false if there is none.
func (p *Pods) Undo(name types.NamespacedName, manager string) bool {
	w, err := p.server.Get("deployments", name)
	if err != nil || paused(w) { // kubectl refuses it
		return false
	}
	present := p.revision(w)
	kept := p.revisions[w.GetUID()]
	for _, k := range slices.Backward(kept) {
		if k.number == present {
			continue
		}
		_, err := p.server.Edit("deployments", name, manager, func(obj Object) {
			d := obj.(*appsv1.Deployment)
			for j, t := range p.templates[w.GetUID()] {
				if number(j) == k.number {
					d.Spec.Template = *t.DeepCopy()
				}
			}
			annotations := map[string]string{}
			for key, value := range k.annotations {
				if !skipped(key) {
					annotations[key] = value
				}
			}
			for key, value := range d.Annotations {
				if skipped(key) {
					annotations[key] = value
				}
			}
			d.Annotations = annotations
		})
		return err == nil
	}
	return false
}

// skipped are the annotations that belong to the object and not to a revision.
func skipped(key string) bool {
	return key == "kubectl.kubernetes.io/last-applied-configuration" || strings.HasPrefix(key, "deployment.kubernetes.io/")
}
