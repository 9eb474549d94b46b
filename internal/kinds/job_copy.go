package kinds

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

const (
	// copyAnnotation is on the copy of a Job that is being recreated, with the data that the spec
	// of the copy does not contain.
	copyAnnotation = annotations.Replaces
	// deletesAnnotation is set on a copy before its Job is deleted. Without it, another client has
	// deleted the Job.
	deletesAnnotation = annotations.Deletes
)

// Copy is a suspended Job that keeps the spec of a Job while that is recreated.
type Copy struct {
	// Of is the Job that it is a copy of.
	Of workload.Key
	replaced
	job *batchv1.Job
}

// replaced is the recorded data of a Job.
type replaced struct {
	Name        string            `json:"name"`
	UID         types.UID         `json:"uid"`
	Generation  int64             `json:"generation"`
	Ended       bool              `json:"ended,omitempty"`
	Suspended   bool              `json:"suspended,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Finalizers  []string          `json:"finalizers,omitempty"`
	// Selector and PodLabels belong to a Job whose user chose its selector.
	Selector  *metav1.LabelSelector `json:"selector,omitempty"`
	PodLabels map[string]string     `json:"podLabels,omitempty"`
	// Ledger is the ledger of the new Job, without its UID, and Changed are the changed sources.
	Ledger  string          `json:"ledger"`
	Changed []changedSource `json:"changed"`
}

type changedSource struct {
	Type string `json:"type"`
	Name string `json:"name"`
}

// CopyJob returns the copy of a Job that is about to be recreated, with the mark and a signature.
func CopyJob(job *batchv1.Job, w *workload.Workload, d *reload.Decision, m *workload.Marking, names annotations.Names, key digest.Key) (*batchv1.Job, error) {
	old := replacedBy(job, d.Ledger.String())
	for i := range d.Changes {
		key := d.Changes[i].Source.Key
		old.Changed = append(old.Changed, changedSource{key.Kind.Type(), key.Name})
	}
	text, err := json.Marshal(old)
	if err != nil {
		return nil, fmt.Errorf("encode Job %s: %w", job.Name, err)
	}
	spec := job.Spec.DeepCopy()
	spec.Selector, spec.ManualSelector = nil, nil
	dropGenerated(spec.Template.Labels)
	spec.Suspend = new(true)
	made := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: job.Namespace, Name: madeName(w, d.Ledger.Counter, spec), Labels: untracked(job.Labels), Annotations: untracked(job.Annotations),
		},
		Spec: *spec,
	}
	dropGenerated(made.Labels)
	setAnnotation(&made.ObjectMeta, copyAnnotation, string(text))
	markTemplate(&made.Spec.Template, m, names)
	texts, err := (&Copy{replaced: old, job: made}).signed("")
	if err != nil {
		return nil, err
	}
	setAnnotation(&made.ObjectMeta, signedAnnotation, key.Sign("copy", texts...))
	return made, nil
}

func replacedBy(job *batchv1.Job, ledger string) replaced {
	old := replaced{
		Name: job.Name, UID: job.UID, Generation: job.Generation, Ended: Ended(job), Suspended: suspends(job),
		Labels: maps.Clone(job.Labels), Annotations: maps.Clone(job.Annotations), Ledger: ledger,
		Finalizers: slices.DeleteFunc(slices.Clone(job.Finalizers), func(f string) bool {
			return f == metav1.FinalizerDeleteDependents || f == metav1.FinalizerOrphanDependents
		}),
	}
	delete(old.Annotations, annotations.Ledger)
	delete(old.Annotations, annotations.Approved) // no user has approved the new Job
	if manual := job.Spec.ManualSelector; manual != nil && *manual {
		old.Selector, old.PodLabels = job.Spec.Selector, job.Spec.Template.Labels
	} else {
		dropGenerated(old.Labels)
	}
	return old
}

// IsCopy reports whether a Job claims to be a copy, even if it cannot be read.
func IsCopy(job *batchv1.Job) bool {
	_, ok := job.Annotations[copyAnnotation]
	return ok
}

// ReadCopy parses a copy.
func ReadCopy(job *batchv1.Job) (*Copy, error) {
	c := &Copy{job: job}
	if err := json.Unmarshal([]byte(job.Annotations[copyAnnotation]), &c.replaced); err != nil {
		return nil, err
	}
	if c.Name == "" || c.Name == job.Name || c.UID == "" {
		return nil, errors.New("it names no other Job")
	}
	if _, err := ledger.Parse(c.Ledger); err != nil {
		return nil, err
	}
	c.Of = workload.Key{Kind: Jobs().Name, Namespace: job.Namespace, Name: c.Name}
	return c, nil
}

// Job is the copy itself.
func (c *Copy) Job() *batchv1.Job { return c.job }

// Changes are the sources for which the Job is recreated.
func (c *Copy) Changes() []reload.Concern {
	var all []reload.Concern
	for _, changed := range c.Changed {
		for _, kind := range source.Kinds() {
			if kind.Type() == changed.Type {
				all = append(all, reload.Concern{Source: source.Source{Key: source.LocalKey{Kind: kind, Name: changed.Name}.In(c.Of.Namespace)}})
			}
		}
	}
	return all
}

// Replacement is the new Job. It is held. If it ran while the copy still exists, it could end, be
// cleaned up, and be created again from the copy.
func (c *Copy) Replacement(key digest.Key) *batchv1.Job {
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.job.Namespace, Name: c.Name, Labels: maps.Clone(c.Labels), Annotations: maps.Clone(c.Annotations), Finalizers: c.Finalizers,
		},
		Spec: *c.spec(),
	}
	setAnnotation(&job.ObjectMeta, signedAnnotation, signHeld(key, job, "", c.Ledger))
	setAnnotation(&job.ObjectMeta, heldAnnotation, "true")
	setAnnotation(&job.ObjectMeta, annotations.Ledger, c.Ledger)
	if c.Suspended {
		setAnnotation(&job.ObjectMeta, suspendedAnnotation, "true")
	}
	return job
}

// spec is the spec of the new Job. It is suspended, even if a user has resumed the copy.
func (c *Copy) spec() *batchv1.JobSpec {
	spec := c.job.Spec.DeepCopy()
	spec.Selector, spec.ManualSelector, spec.Suspend = nil, nil, new(true)
	dropGenerated(spec.Template.Labels)
	if c.Selector != nil {
		spec.Selector, spec.ManualSelector, spec.Template.Labels = c.Selector, new(true), maps.Clone(c.PodLabels)
	}
	return spec
}

// same reports whether a Job is unchanged since it was copied, except for the fields that
// Kubernetes sets about its Pods.
func (c *Copy) same(job *batchv1.Job) bool {
	now := replacedBy(job, "")
	return now.Generation == c.Generation && now.Ended == c.Ended && maps.Equal(now.Labels, c.Labels) && maps.Equal(now.Annotations, c.Annotations) &&
		// A Job with an owner is not recreated.
		slices.Equal(now.Finalizers, c.Finalizers) && len(job.OwnerReferences) == 0
}

// deletes reports whether Reroll was about to delete the Job, and may have.
func (c *Copy) deletes() bool {
	uid, _, _ := strings.Cut(c.job.Annotations[deletesAnnotation], "@")
	return uid == string(c.UID)
}

// deletesVersion reports whether Reroll was about to delete this version of the Job.
func (c *Copy) deletesVersion(job *batchv1.Job) bool {
	return c.job.Annotations[deletesAnnotation] == noteOf(job)
}

func noteOf(job *batchv1.Job) string { return string(job.UID) + "@" + job.ResourceVersion }

// dropGenerated removes the labels by which Kubernetes finds the Pods of a Job.
func dropGenerated(labels map[string]string) {
	for _, key := range []string{"controller-uid", "job-name", batchv1.ControllerUidLabel, batchv1.JobNameLabel} {
		delete(labels, key)
	}
}

// untracked are the labels and annotations of a Job without those of delivery tools and queues,
// which would delete, apply, run, or roll the copy.
func untracked(of map[string]string) map[string]string {
	kept := maps.Clone(of)
	maps.DeleteFunc(kept, func(key, _ string) bool {
		domain, _, _ := strings.Cut(key, "/")
		for _, tool := range []string{"argoproj.io", "toolkit.fluxcd.io", "helm.sh", "kubectl.kubernetes.io", "stakater.com", "reroll.dev", "x-k8s.io"} {
			if domain == tool || strings.HasSuffix(domain, "."+tool) {
				return true
			}
		}
		return key == "app.kubernetes.io/instance" || key == "app.kubernetes.io/managed-by"
	})
	return kept
}
