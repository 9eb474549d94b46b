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

// Jobs is the kind Job. Jobs are also created suspended and unsuspended for other kinds.
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

// OwnRun is a Job that Reroll created.
type OwnRun struct {
	// Of is the workload that the Job is a run of, and Owner the UID of that workload.
	Of    workload.Key
	Owner types.UID
	Name  string
	UID   types.UID
	// Begun is the earliest time at which the Pods of the Job could read their sources.
	Begun time.Time
	// Since is the newest resource version in which the Job is known to have had no Pods yet, 0 if there is
	// none. Its Pods read all data that was written before.
	Since uint64
	// Counter is the reload counter in the ledger.
	Counter int64
	// LedgerText is that ledger.
	LedgerText string
	// Held reports whether the Job waits until the workload has that ledger, and Ended that it has
	// finished.
	Held, Ended bool
	// Signed reports whether the key of this installation has signed the Job. SignedBy sets it.
	// Reroll acts on no other Job.
	Signed    bool
	signature string
	// waits reports whether the Job is neither held nor begun: its user suspends it, or it was
	// created without the annotation that holds it.
	waits bool
	// keeps reports whether the user suspends the Job in the template, or another client suspends
	// it.
	keeps bool
}

const (
	// heldAnnotation is on a Job that waits until Reroll has written the ledger of its workload.
	heldAnnotation = annotations.Held
	// suspendedAnnotation is on a Job that the template itself suspends, or that an admission
	// controller would suspend.
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

// queueLabel is on a Job that Kueue suspends and unsuspends; older versions of Kueue use an
// annotation of this name.
const queueLabel = "kueue.x-k8s.io/queue-name"

// staysSuspended reports whether another client decides when a held Job may run. Unsuspending it
// would start Pods for which a queue has no capacity, and the queue would suspend it again.
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

// Unsuspended returns a held Job as if its user created it to run at once, and nil if it stays
// suspended in any case.
func Unsuspended(job *batchv1.Job) *batchv1.Job {
	if staysSuspended(job) {
		return nil
	}
	user := job.DeepCopy()
	user.Spec.Suspend = new(false)
	return user
}

// StaySuspended marks a held Job that stays suspended if the API server would suspend the Job of
// Unsuspended. Such an admission controller does not change a Job that is suspended already, so
// the held Job itself does not show it.
func StaySuspended(job, tried *batchv1.Job) {
	if suspends(tried) {
		setAnnotation(&job.ObjectMeta, suspendedAnnotation, "true")
	}
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

// ReadRun reads a Job that claims to be created by Reroll, and returns false for any other Job.
func ReadRun(job *batchv1.Job) (OwnRun, bool) {
	owner := metav1.GetControllerOfNoCopy(job)
	counter, err := strconv.ParseInt(job.Labels[workload.RunLabel], 10, 64)
	if owner == nil || err != nil || counter < 1 || counter > ledger.MaxCounter {
		return OwnRun{}, false
	}
	_, held := job.Annotations[heldAnnotation]
	return OwnRun{
		Of:    workload.Key{Kind: owner.Kind, Namespace: job.Namespace, Name: owner.Name},
		Owner: owner.UID, Name: job.Name, UID: job.UID, Begun: unsuspendedAt(job), Since: heldIn(job), Counter: counter,
		LedgerText: job.Annotations[annotations.Ledger], Held: held && job.DeletionTimestamp == nil, Ended: Ended(job),
		keeps: held && staysSuspended(job), waits: !held && unbegun(job), signature: job.Annotations[signedAnnotation],
	}, true
}

// heldIn returns the resource version of a Job that has not begun and is suspended, and 0 otherwise. The
// Pods of such a Job read all data that was written before. Those of an unsuspended Job may have read
// data before its status shows that they exist.
func heldIn(job *batchv1.Job) uint64 {
	if !unbegun(job) || hasBegun(job) {
		return 0
	}
	version, _ := strconv.ParseUint(job.ResourceVersion, 10, 64) // no number: proves nothing
	return version
}

// unsuspendedAt is when a Job of ours was unsuspended, by its status. Until Kubernetes has recorded
// that, it is the time of our latest write, which unsuspended the Job. The Job may have been held
// for long, and reads the data of that time.
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

// Begun returns the earliest time at which the Pods of a Job could read their sources, and false if
// they cannot yet.
func Begun(job *batchv1.Job) (time.Time, bool) { return beginOf(job), !unbegun(job) }

// unbegun reports whether a Job has been suspended since it was created.
func unbegun(job *batchv1.Job) bool { return suspends(job) && job.Status.StartTime == nil }

// Lost returns the metadata of a created Job that the API server did not keep. For a Job that may
// have been unsuspended since, it checks only metadata that unsuspending does not remove.
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

// Ended reports whether a Job has completed or failed.
func Ended(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
}

// After reports whether r is the later version of a Job. Status writes of Kubernetes in between do
// not matter.
func (r *OwnRun) After(other *OwnRun) bool {
	return !r.Held && other.Held || r.Ended && !other.Ended
}

// WithOwn returns the runs of a workload together with the Jobs that Reroll created. A Job without
// a valid signature is like any other Job of the workload: it may be running, and nothing follows
// from its annotations.
func WithOwn(of *workload.Runs, owner types.UID, own iter.Seq[OwnRun]) *workload.Runs {
	all := *of
	all.Beside, all.Own = slices.Clone(of.Beside), nil
	for r := range own {
		if r.Owner != owner {
			continue // it is deleted with its owner
		}
		all.Beside = slices.DeleteFunc(all.Beside, func(name string) bool { return name == r.Name })
		if !r.waits && r.Signed { // nothing may ever unsuspend it, and no ledger may record it
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

// UnsuspendPatch is the patch that unsuspends the Job. It applies to any resource version, because
// Kubernetes writes the status of the Job in between.
func (r *OwnRun) UnsuspendPatch() (Patch, error) {
	return patchToUnsuspend(r.UID, r.keeps, heldAnnotation, suspendedAnnotation)
}

func patchToUnsuspend(uid types.UID, keeps bool, drops ...string) (Patch, error) {
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

// markTemplate adds the mark of a reload to a template before the object is created.
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
