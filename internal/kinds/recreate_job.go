package kinds

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
)

// RecreateStep is one write that recreates a Job.
type RecreateStep uint8

const (
	// Finished means that no step is left.
	Finished RecreateStep = iota
	// NoteDelete records on the copy that Reroll is about to delete the Job.
	NoteDelete
	// DeleteJob deletes the Job.
	DeleteJob
	// AwaitEnd means that the Job is being deleted.
	AwaitEnd
	// CreateJob creates the new Job.
	CreateJob
	// NoteJob writes the UID of the new Job into its ledger.
	NoteJob
	// DropCopy deletes the copy.
	DropCopy
	// Unsuspend lets the Job start.
	Unsuspend
)

// Next is the next step, as the copy and the Job of its name show. Either may be nil. A crash
// between two steps does not matter. The caller has verified the signature of the copy.
func Next(c *Copy, job *batchv1.Job, key digest.Key) RecreateStep {
	switch {
	case c == nil && (job == nil || !awaitsGo(job, key)):
		return Finished
	case c == nil:
		return Unsuspend
	case job == nil && c.deletes():
		return CreateJob
	case job == nil:
		return DropCopy // its user has deleted it, or it has run and was cleaned up
	case job.UID == c.UID && job.DeletionTimestamp != nil && c.deletes():
		return AwaitEnd
	case job.UID == c.UID && c.same(job) && job.DeletionTimestamp == nil && !c.deletesVersion(job):
		return NoteDelete
	case job.UID == c.UID && c.same(job) && job.DeletionTimestamp == nil:
		return DeleteJob
	case job.UID != c.UID && job.DeletionTimestamp == nil && c.deletes() && IsHeld(job) && job.Annotations[annotations.Ledger] == c.Ledger && heldBy(key, job, ""):
		return NoteJob
	default:
		// The Job is already noted, or another client has changed or created it in the meantime. So
		// a new decision is needed. If no deletion was noted, the requests that created the copy
		// and the held Job took effect late: the user may have deleted the Job since.
		return DropCopy
	}
}

// IsHeld reports whether a Job replaced another one and has not begun, even if it has an owner by
// now.
func IsHeld(job *batchv1.Job) bool {
	_, held := job.Annotations[heldAnnotation]
	_, run := ReadRun(job)
	return held && !run
}

// Waits reports whether the Job does not start by itself.
func Waits(job *batchv1.Job) bool {
	return IsHeld(job) && suspends(job) && job.DeletionTimestamp == nil
}

// awaitsGo reports whether the ledger of a held Job was recorded. If it was not, and no copy
// exists, the request that created the Job took effect late: an earlier one was created in the same
// way, and may have run.
func awaitsGo(job *batchv1.Job, key digest.Key) bool {
	ledger, err := ledger.Parse(job.Annotations[annotations.Ledger])
	return IsHeld(job) && job.DeletionTimestamp == nil && err == nil && ledger.UID == job.UID && heldBy(key, job, job.UID)
}

// NoteDelete is the patch that records on the copy that this version of its Job is about to be deleted. A
// request to delete the copy that arrives after that fails, because it is for an earlier version of the copy.
func (c *Copy) NoteDelete(job *batchv1.Job, key digest.Key) (Patch, error) {
	return c.patch(key, map[string]string{deletesAnnotation: noteOf(job)})
}

// Note is the patch that makes the ledger of a new Job valid for the Job.
func Note(job *batchv1.Job, key digest.Key) (Patch, error) {
	ledger, err := ledger.Parse(job.Annotations[annotations.Ledger])
	if err != nil {
		return Patch{}, err
	}
	ledger.UID = job.UID
	text := ledger.String()
	return encode(types.MergePatchType, patchBody{Metadata: patchMeta{UID: job.UID, Annotations: map[string]string{
		annotations.Ledger: text, signedAnnotation: signHeld(key, job, job.UID, text),
	}}})
}

// UnsuspendPatch is the patch that unsuspends a held Job. From then on the Job belongs to its user
// alone, so the patch removes the signature.
func UnsuspendPatch(job *batchv1.Job) (Patch, error) {
	return patchToUnsuspend(job.UID, staysSuspended(job), heldAnnotation, suspendedAnnotation, signedAnnotation)
}
