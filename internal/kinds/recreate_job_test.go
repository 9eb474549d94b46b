package kinds

import (
	"regexp"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/workload"
)

func TestTheNextStepFollowsFromWhatIsThere(t *testing.T) {
	old := load()
	copyJob, of := copied(t, old)
	patch, err := of.NoteDelete(old, testKey())
	if err != nil || !regexp.MustCompile(`^{"metadata":{"uid":"c-1","annotations":{"reroll.dev/deletes":"u-1@7","reroll.dev/signed":"[0-9a-f]{32}"}}}$`).Match(patch.Body) {
		t.Errorf("the copy is noted by %s, %v", patch.Body, err)
	}
	del := notedFor(copyJob, "u-1@7")
	as := func(change func(*batchv1.Job)) *batchv1.Job {
		o := old.DeepCopy()
		change(o)
		return o
	}
	next := of.Replacement(testKey())
	next.UID = "u-2"
	noted := next.DeepCopy()
	l := ledger.Ledger{UID: "u-2", Counter: 4}.String()
	noted.Annotations[annotations.Ledger], noted.Annotations[signedAnnotation] = l, signHeld(testKey(), noted, "u-2", l)
	let := noted.DeepCopy()
	delete(let.Annotations, heldAnnotation)
	deleting := metav1.Now()
	for about, tc := range map[string]struct {
		of   *Copy
		job  *batchv1.Job
		want RecreateStep
	}{
		"the copy was made":                       {of, old, NoteDelete},
		"its user has deleted it":                 {of, nil, DropCopy},
		"its user has it deleted":                 {of, deletingOf(old), DropCopy},
		"noted for another one":                   {notedFor(copyJob, "u-0@7"), nil, DropCopy},
		"an earlier version of it was noted":      {notedFor(copyJob, "u-1@6"), old, NoteDelete},
		"no version of it was noted":              {notedFor(copyJob, "u-1"), old, NoteDelete},
		"no version was noted, and it is gone":    {notedFor(copyJob, "u-1"), nil, CreateJob},
		"its user has changed it before the note": {of, as(func(o *batchv1.Job) { o.Generation = 2 }), DropCopy},
		"somebody owns it by now":                 {del, ownedOf(old), DropCopy},
		"somebody owns it before the note":        {of, ownedOf(old), DropCopy},
		"another finalizer is on it": {del, as(func(o *batchv1.Job) {
			o.Finalizers = append(o.Finalizers, "example.com/more")
		}), DropCopy},
		"a finalizer has left it":          {del, as(func(o *batchv1.Job) { o.Finalizers = nil }), DropCopy},
		"nothing is there":                 {nil, nil, Finished},
		"a Job that nobody makes again":    {nil, old, Finished},
		"the copy was noted":               {del, old, DeleteJob},
		"its status was written meanwhile": {del, as(func(o *batchv1.Job) { o.ResourceVersion, o.Status.Active = "8", 1 }), NoteDelete},
		"its ledger was written meanwhile": {del, as(func(o *batchv1.Job) { o.Annotations[annotations.Ledger] = "other" }), DeleteJob},
		"it has ended meanwhile": {del, as(func(o *batchv1.Job) {
			o.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		}), DropCopy},
		"its user has changed an annotation":          {del, as(func(o *batchv1.Job) { o.Annotations["note"] = "other" }), DropCopy},
		"its user has changed the spec":               {del, as(func(o *batchv1.Job) { o.Generation = 2 }), DropCopy},
		"it is being deleted":                         {del, as(func(o *batchv1.Job) { o.DeletionTimestamp = &deleting }), AwaitEnd},
		"it is gone":                                  {del, nil, CreateJob},
		"its user was quicker":                        {del, as(func(o *batchv1.Job) { o.UID = "u-3" }), DropCopy},
		"it was made again":                           {del, next, NoteJob},
		"it was noted":                                {del, noted, DropCopy},
		"the copy is gone":                            {nil, noted, Unsuspend},
		"it was let go":                               {nil, let, Finished},
		"let go, and another copy has landed late":    {del, let, DropCopy},
		"made once more by a write that landed late":  {nil, next, Finished},
		"and its copy by another one":                 {of, next, DropCopy},
		"its user deletes it before it was noted":     {del, deletingOf(next), DropCopy},
		"its user deletes it before it was let go":    {nil, deletingOf(noted), Finished},
		"a Job of a CronJob that is held by its name": {nil, runOf(noted), Finished},
		"held, of another name":                       {nil, renamed(noted), Finished},
		"held, not signed":                            {nil, unsigned(noted), Finished},
		"made again, not signed":                      {del, unsigned(next), DropCopy},
		"somebody owns it before it was noted":        {del, ownedOf(next), NoteJob},
		"somebody owns it before it was let go":       {nil, ownedOf(noted), Unsuspend},
	} {
		if got := Next(tc.of, tc.job, testKey()); got != tc.want {
			t.Errorf("%s: step %d, want %d", about, got, tc.want)
		}
	}
	patch, err = Note(next, testKey())
	want := ledger.Ledger{UID: "u-2", Counter: 4}.String()
	if err != nil || !strings.Contains(string(patch.Body), `"uid":"u-2"`) || !strings.Contains(string(patch.Body), strings.ReplaceAll(want, `"`, `\"`)) {
		t.Errorf("noted by %s, %v", patch.Body, err)
	}
}

func notedFor(copyJob *batchv1.Job, uid string) *Copy {
	o := copyJob.DeepCopy()
	o.Annotations[deletesAnnotation] = uid
	of, _ := ReadCopy(o)
	return of
}

func deletingOf(o *batchv1.Job) *batchv1.Job {
	o, now := o.DeepCopy(), metav1.Now()
	o.DeletionTimestamp = &now
	return o
}

func ownedOf(o *batchv1.Job) *batchv1.Job {
	o = o.DeepCopy()
	o.OwnerReferences = []metav1.OwnerReference{{Kind: "CronJob", Name: "report", UID: types.UID("u-9")}}
	return o
}

func renamed(o *batchv1.Job) *batchv1.Job {
	o = o.DeepCopy()
	o.Name = "another"
	return o
}

func unsigned(o *batchv1.Job) *batchv1.Job {
	o = o.DeepCopy()
	delete(o.Annotations, signedAnnotation)
	return o
}

func runOf(o *batchv1.Job) *batchv1.Job {
	o = ownedOf(o)
	isController := true
	o.OwnerReferences[0].Controller, o.Labels[workload.RunLabel] = &isController, "4"
	return o
}
