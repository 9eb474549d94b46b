package kinds

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
)

// signedAnnotation is on every Job that Reroll creates. Any client that can create Jobs can write
// the other annotations of Reroll, too. Without a signature, a forged copy would make the
// controller delete other Jobs of the namespace, and a forged run would change the ledger of a
// CronJob.
const signedAnnotation = annotations.Signed

// ErrNotSigned means that the key of this installation has not signed a Job.
var ErrNotSigned = errors.New("its signature is not from this installation")

// signed are the texts that the signature of a copy covers: all input of the deletion and of the
// new Job. After the copy records a deletion, they include its own UID, so that an old copy cannot
// be restored.
func (c *Copy) signed(deletes string) ([]string, error) {
	spec, err := json.Marshal(c.spec())
	if err != nil {
		return nil, fmt.Errorf("encode the copy %s: %w", c.job.Name, err)
	}
	var uid types.UID
	if deletes != "" {
		uid = c.job.UID
	}
	return []string{c.job.Namespace, c.job.Name, string(uid), deletes, c.job.Annotations[copyAnnotation], string(spec)}, nil
}

// SignedBy reports whether the key has signed the copy in its current form.
func (c *Copy) SignedBy(key digest.Key) bool {
	texts, err := c.signed(c.job.Annotations[deletesAnnotation])
	return err == nil && key.HasSigned(c.job.Annotations[signedAnnotation], "copy", texts...)
}

// Sign returns the patch that signs a copy as the API server stored it. Mutating admission webhooks
// may have changed it, so that the original signature does not fit.
func (c *Copy) Sign(key digest.Key) (Patch, error) { return c.patch(key, nil) }

// patch writes annotations on a copy, and the matching signature.
func (c *Copy) patch(key digest.Key, annotations map[string]string) (Patch, error) {
	texts, err := c.signed(annotations[deletesAnnotation])
	if err != nil {
		return Patch{}, err
	}
	all := map[string]string{signedAnnotation: key.Sign("copy", texts...)}
	maps.Copy(all, annotations)
	return encode(types.MergePatchType, patchBody{Metadata: patchMeta{UID: c.job.UID, Annotations: all}})
}

// signHeld is the signature of a new Job. It includes no UID until the ledger is valid for the Job.
func signHeld(key digest.Key, job *batchv1.Job, uid types.UID, ledger string) string {
	return key.Sign("held", job.Namespace, job.Name, string(uid), ledger)
}

// heldBy reports whether the key has signed a held Job, with its uid or before it had one.
func heldBy(key digest.Key, job *batchv1.Job, uid types.UID) bool {
	return key.HasSigned(job.Annotations[signedAnnotation], "held", job.Namespace, job.Name, string(uid), job.Annotations[annotations.Ledger])
}

// HeldSigned reports whether the key has signed a held Job.
func HeldSigned(job *batchv1.Job, key digest.Key) bool {
	return heldBy(key, job, job.UID) || heldBy(key, job, "")
}

// SignRun signs a run before it is created.
func SignRun(job *batchv1.Job, key digest.Key) {
	run, _ := ReadRun(job)
	setAnnotation(&job.ObjectMeta, signedAnnotation, key.Sign("run", run.signed()...))
}

// signed are the texts that the signature of a run covers: its workload and the ledger of the run.
// Unsuspending the run changes neither.
func (r *OwnRun) signed() []string {
	return []string{r.Of.Namespace, r.Name, string(r.Owner), strconv.FormatInt(r.Counter, 10), r.LedgerText}
}

// SignedBy returns the run with Signed set for the key.
func (r OwnRun) SignedBy(key digest.Key) OwnRun {
	r.Signed = key.HasSigned(r.signature, "run", r.signed()...)
	return r
}
