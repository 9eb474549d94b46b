package kinds

import (
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Jobs are created suspended and unsuspended for other kinds too.
func Jobs() Kind {
	return Kind{
		Kind:     workload.Kind{Name: "Job"},
		Resource: batchv1.SchemeGroupVersion.WithResource("jobs"),
		NewList:  func() runtime.Object { return &batchv1.JobList{} },
		Template: specTemplate(),
	}
}

func setAnnotation(meta *metav1.ObjectMeta, key, value string) {
	if meta.Annotations == nil {
		meta.Annotations = map[string]string{}
	}
	meta.Annotations[key] = value
}

// OwnRun is a Job that we have made.
type OwnRun struct {
	// Of is the workload that it is a run of, and Owner the uid of that.
	Of    workload.Key
	Owner types.UID
	Name  string
	UID   types.UID
	// Begun is when its pods could read their sources first, at the earliest.
	Begun time.Time
	// Since is the newest version of the API server in which the Job was seen not to have begun, 0 if it was not.
	Since uint64
	// Counter is that of the reload in the ledger.
	Counter int64
	// LedgerText is that ledger.
	LedgerText string
	// Held reports whether it waits for the workload to have that ledger, and Ended that it has run.
	Held, Ended bool
	// Signed reports whether the key of this installation has signed it. SignedBy sets it. Nobody else's is acted upon.
	Signed    bool
	signature string
	// waits reports whether it neither is held nor has begun: its user has it wait, or it was made without what holds it.
	waits bool
	// keeps reports whether the user wants its Jobs to be made suspended, or that somebody else suspends it.
	keeps bool
}

const (
	// heldAnnotation is on a Job that waits for a write of ours.
	heldAnnotation = annotations.Held
	// suspendedAnnotation is on a Job that the template itself suspends.
	suspendedAnnotation = annotations.StaysSuspended
)

func hold(job *batchv1.Job, counter int64, ledger string) {
	if job.Labels == nil {
		job.Labels = map[string]string{}
	}
	job.Labels[workload.RunLabel] = strconv.FormatInt(counter, 10)
	setAnnotation(&job.ObjectMeta, heldAnnotation, "true")
	setAnnotation(&job.ObjectMeta, annotations.Ledger, ledger)
	if suspends(job) {
		setAnnotation(&job.ObjectMeta, suspendedAnnotation, "true")
	}
	suspended := true
	job.Spec.Suspend = &suspended
}

// queueLabel is on a Job whose suspension is up to Kueue; an older Kueue takes the annotation.
const queueLabel = "kueue.x-k8s.io/queue-name"

// staysSuspended reports whether somebody else decides when a held Job may run. To unsuspend it would
// start pods for which a queue has found no room, and the queue would suspend it again.
func staysSuspended(job *batchv1.Job) bool {
	_, asMade := job.Annotations[suspendedAnnotation]
	_, queued := job.Labels[queueLabel]
	_, queuedBefore := job.Annotations[queueLabel]
	by := job.Spec.ManagedBy
	return asMade || queued || queuedBefore || by != nil && *by != batchv1.JobControllerName ||
		slices.ContainsFunc(job.ManagedFields, func(f metav1.ManagedFieldsEntry) bool {
			return f.Manager != workload.FieldManager && ownsSuspend(f.FieldsV1)
		})
}

// ownsSuspend reports whether the owner of these fields has written spec.suspend.
func ownsSuspend(fields *metav1.FieldsV1) bool {
	if fields == nil {
		return false
	}
	var owned struct {
		Spec map[string]json.RawMessage `json:"f:spec"`
	}
	err := json.Unmarshal([]byte(fields.GetRawString()), &owned)
	_, owns := owned.Spec["f:suspend"]
	return err == nil && owns
}

// ReadRun returns what is kept of a Job that claims to be created by us, and false for any other.
func ReadRun(job *batchv1.Job) (OwnRun, bool) {
	owner := metav1.GetControllerOfNoCopy(job)
	counter, err := strconv.ParseInt(job.Labels[workload.RunLabel], 10, 64)
	if owner == nil || err != nil || counter < 1 || counter > ledger.MaxCounter {
		return OwnRun{}, false
	}
	_, held := job.Annotations[heldAnnotation]
	return OwnRun{
		Of:    workload.Key{Kind: owner.Kind, Namespace: job.Namespace, Name: owner.Name},
		Owner: owner.UID, Name: job.Name, UID: job.UID, Begun: unsuspendedAt(job), Since: unbegunIn(job), Counter: counter,
		LedgerText: job.Annotations[annotations.Ledger], Held: held && job.DeletionTimestamp == nil, Ended: Ended(job),
		keeps: held && staysSuspended(job), waits: !held && unbegun(job), signature: job.Annotations[signedAnnotation],
	}, true
}

// unbegunIn returns the version of a Job if Kubernetes has not begun it by then, else 0: its pods read what was written before.
func unbegunIn(job *batchv1.Job) uint64 {
	if job.Status.StartTime != nil || hasBegun(job) {
		return 0
	}
	version, _ := strconv.ParseUint(job.ResourceVersion, 10, 64) // one that is no number proves nothing
	return version
}

// unsuspendedAt is when a run of ours was unsuspended, by the status. Until Kubernetes has recorded it there, it is the time of our
// latest write, which unsuspends the run: it may have been held for long, and reads the data of that time.
func unsuspendedAt(job *batchv1.Job) time.Time {
	at := beginOf(job)
	if job.Status.StartTime != nil {
		return at
	}
	for i := range job.ManagedFields {
		f := &job.ManagedFields[i]
		if f.Manager == workload.FieldManager && f.Time != nil && f.Time.After(at) {
			at = f.Time.Time
		}
	}
	return at
}

// Begun returns when the pods of a Job could read their sources first, and false if they cannot yet.
func Begun(job *batchv1.Job) (time.Time, bool) { return beginOf(job), !unbegun(job) }

// unbegun reports whether a Job is suspended and was so since it was made.
func unbegun(job *batchv1.Job) bool { return suspends(job) && job.Status.StartTime == nil }

// Lost is what the API server keeps a run without that was sent with it. What is missing of one that may have been let go since
// is what no release removes.
func Lost(sent, kept *batchv1.Job) []string {
	var lost []string
	if _, ok := kept.Labels[workload.RunLabel]; !ok {
		lost = append(lost, "label "+workload.RunLabel)
	}
	_, stays := kept.Annotations[suspendedAnnotation]
	_, stayed := sent.Annotations[suspendedAnnotation]
	if _, ok := kept.Annotations[heldAnnotation]; !ok && unbegun(kept) && stays == stayed {
		lost = append(lost, "annotation "+heldAnnotation)
	}
	if _, ok := kept.Annotations[annotations.Ledger]; !ok {
		lost = append(lost, "annotation "+annotations.Ledger)
	}
	if _, ok := kept.Annotations[signedAnnotation]; !ok {
		lost = append(lost, "annotation "+signedAnnotation)
	}
	if metav1.GetControllerOfNoCopy(kept) == nil {
		lost = append(lost, "ownerReference")
	}
	return lost
}

// Ended reports whether a Job has come to its end, whatever that was.
func Ended(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
}

// After reports whether it is the later version of a Job. What Kubernetes writes about it in between does not matter.
func (r *OwnRun) After(other *OwnRun) bool {
	return !r.Held && other.Held || r.Ended && !other.Ended
}

// WithOwn returns the runs of a workload with those that we have made. One that only says so is like any other Job of the
// workload: it may be running, and nothing follows from what it carries.
func WithOwn(of *workload.Runs, owner types.UID, own iter.Seq[OwnRun]) *workload.Runs {
	all := *of
	all.Beside, all.Own = slices.Clone(of.Beside), nil
	for r := range own {
		if r.Owner != owner {
			continue // it goes with its owner
		}
		all.Beside = slices.DeleteFunc(all.Beside, func(name string) bool { return name == r.Name })
		if !r.waits && r.Signed { // it may be one that nothing unsuspends, which no ledger may record
			all.Own = append(all.Own, workload.OwnRun{Name: r.Name, UID: r.UID, Counter: r.Counter, LedgerText: r.LedgerText, Held: r.Held})
		}
		if r.Held {
			continue
		}
		if !r.waits && r.Signed {
			all.Since = max(all.Since, r.Since)
			if r.Begun.After(all.Last) {
				all.Last = r.Begun
			}
		}
		if all.Alone && !r.Ended {
			all.Beside = append(all.Beside, r.Name)
		}
	}
	all.Sort()
	return &all
}

// Release is the patch that lets the Job begin. Kubernetes writes the status of the Job meanwhile, so
// it does not matter in which version that is.
func (r *OwnRun) Release() (Patch, error) {
	return release(r.UID, r.keeps, heldAnnotation, suspendedAnnotation)
}

func release(uid types.UID, keeps bool, drops ...string) (Patch, error) {
	annotations := map[string]any{}
	for _, key := range drops {
		annotations[key] = nil
	}
	body := map[string]any{"metadata": map[string]any{"uid": uid, "annotations": annotations}}
	if !keeps {
		body["spec"] = map[string]any{"suspend": false}
	}
	return encode(types.MergePatchType, body)
}

// markTemplate puts the mark of a reload into a template that is not on the server yet.
func markTemplate(template *corev1.PodTemplateSpec, m *workload.Marking, names annotations.Names) {
	for key, value := range templateAnnotations(m, names) {
		setAnnotation(&template.ObjectMeta, key, value)
	}
	for i := range template.Spec.Containers {
		container := &template.Spec.Containers[i]
		for _, mark := range slices.Concat(m.Removed, m.Env) {
			if mark.Container == container.Name {
				container.Env = slices.DeleteFunc(container.Env, func(e corev1.EnvVar) bool { return e.Name == mark.Variable })
			}
		}
		for _, mark := range m.Env {
			if mark.Container == container.Name {
				container.Env = append(container.Env, corev1.EnvVar{Name: mark.Variable, Value: mark.Value})
			}
		}
	}
}
