package kinds

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/workload"
)

// testKey is that of an installation.
func testKey() digest.Key {
	key, _ := digest.NewKey([]byte(strings.Repeat("k", 32))) // it is long enough
	return key
}

func TestTheSignatureOfACopyIsAboutAllThatIsDeletedAndCreated(t *testing.T) {
	made, of := copied(t, load())
	patch, err := of.NoteDelete(load(), testKey())
	if err != nil {
		t.Fatal(err)
	}
	noted := made.DeepCopy()
	noted.Annotations[deletesAnnotation] = "u-1@7"
	noted.Annotations[signedAnnotation] = strings.Split(string(patch.Body), `"reroll.dev/signed":"`)[1][:32]
	for about, tc := range map[string]struct {
		change func(*batchv1.Job)
		signed bool
	}{
		"as it was":               {func(*batchv1.Job) {}, true},
		"resumed":                 {func(o *batchv1.Job) { o.Spec.Suspend = new(false) }, true},
		"with a label of its own": {func(o *batchv1.Job) { o.Labels["more"] = "x" }, true},
		"with another selector":   {func(o *batchv1.Job) { o.Spec.Selector.MatchLabels["controller-uid"] = "c-9" }, true},
		"in another namespace":    {func(o *batchv1.Job) { o.Namespace = "bank" }, false},
		"of another name":         {func(o *batchv1.Job) { o.Name = "other" }, false},
		"with another image":      {func(o *batchv1.Job) { o.Spec.Template.Spec.Containers[0].Image = "evil" }, false},
		"with another node":       {func(o *batchv1.Job) { o.Spec.Template.Spec.NodeSelector = map[string]string{"a": "b"} }, false},
		"with a volume":           {func(o *batchv1.Job) { o.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "a"}} }, false},
		"with more pods":          {func(o *batchv1.Job) { o.Spec.Parallelism = new(int32(5)) }, false},
		"of another Job": {func(o *batchv1.Job) {
			o.Annotations[copyAnnotation] = strings.Replace(o.Annotations[copyAnnotation], "u-1", "u-2", 1)
		}, false},
		"with a signature of nothing": {func(o *batchv1.Job) { o.Annotations[signedAnnotation] = "" }, false},
		"with none":                   {func(o *batchv1.Job) { delete(o.Annotations, signedAnnotation) }, false},
	} {
		for _, of := range []*batchv1.Job{made, noted} {
			o := of.DeepCopy()
			tc.change(o)
			read, err := ReadCopy(o)
			if err != nil || read.SignedBy(testKey()) != tc.signed {
				t.Errorf("%s: signed %v, %v; want %v", about, err == nil && read.SignedBy(testKey()), err, tc.signed)
			}
			if read.SignedBy(digest.Key{}) {
				t.Errorf("%s: signed by no key", about)
			}
		}
	}
	// A note of the deletion needs a signature of its own, which another object cannot take over.
	for about, change := range map[string]func(*batchv1.Job){
		"without the note":  func(o *batchv1.Job) { delete(o.Annotations, deletesAnnotation) },
		"of another object": func(o *batchv1.Job) { o.UID = "c-2" },
	} {
		o := noted.DeepCopy()
		change(o)
		if read, err := ReadCopy(o); err != nil || read.SignedBy(testKey()) {
			t.Errorf("%s: it is signed, or %v", about, err)
		}
	}
	o := made.DeepCopy()
	o.Annotations[deletesAnnotation] = string(of.UID)
	if read, err := ReadCopy(o); err != nil || read.SignedBy(testKey()) {
		t.Errorf("a note that somebody else has written is signed, or %v", err)
	}
}

func TestTheSignatureOfARunIsAboutItsWorkloadAndItsLedger(t *testing.T) {
	yes := true
	job := runOf(load())
	job.OwnerReferences[0].Controller, job.Annotations[annotations.Ledger] = &yes, ledger.Ledger{UID: "u-9", Counter: 4}.String()
	SignRun(job, testKey())
	for about, tc := range map[string]struct {
		change func(*batchv1.Job)
		signed bool
	}{
		"as it was":            {func(*batchv1.Job) {}, true},
		"let go":               {func(o *batchv1.Job) { delete(o.Annotations, heldAnnotation) }, true},
		"of another number":    {func(o *batchv1.Job) { o.Labels[workload.RunLabel] = "5" }, false},
		"of another owner":     {func(o *batchv1.Job) { o.OwnerReferences[0].UID = "u-8" }, false},
		"of another ledger":    {func(o *batchv1.Job) { o.Annotations[annotations.Ledger] = "{}" }, false},
		"of another name":      {func(o *batchv1.Job) { o.Name = "other" }, false},
		"in another namespace": {func(o *batchv1.Job) { o.Namespace = "bank" }, false},
		"without a signature":  {func(o *batchv1.Job) { delete(o.Annotations, signedAnnotation) }, false},
	} {
		o := job.DeepCopy()
		tc.change(o)
		if run, ok := ReadRun(o); !ok || run.SignedBy(testKey()).Signed != tc.signed || run.SignedBy(digest.Key{}).Signed {
			t.Errorf("%s: signed %v, want %v", about, run.SignedBy(testKey()).Signed, tc.signed)
		}
	}
}
