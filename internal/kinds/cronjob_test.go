package kinds

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/workload"
)

func report() *batchv1.CronJob {
	o := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: strings.Repeat("r", 52), UID: "u-1"}}
	o.Spec.JobTemplate.Labels = map[string]string{"team": "numbers"}
	o.Spec.JobTemplate.Annotations = map[string]string{"why": "month"}
	o.Spec.JobTemplate.Spec.Template = template()
	o.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: "0"}, {Name: "OLD", Value: "0"}}
	return o
}

func TestTheJobOfAReload(t *testing.T) {
	marking := &workload.Marking{
		Env:          []workload.EnvMark{{Container: "app", Variable: "A", Value: "1"}, {Container: "app", Variable: "B", Value: "2"}},
		Removed:      []workload.EnvMark{{Container: "app", Variable: "OLD"}},
		ReloadedFrom: "{}",
	}
	o := report()
	kind := cronJob()
	w, err := kind.Read(o, annotations.DefaultNames())
	if err != nil {
		t.Fatal(err)
	}
	run := func(counter int64) *batchv1.Job {
		job, err := kind.Adapter.(Runner).Run(o, &w, ledger.Ledger{UID: o.UID, Counter: counter}, marking, annotations.DefaultNames())
		if err != nil {
			t.Fatal(err)
		}
		return job
	}
	job := run(4)
	if again := run(4); again.Name != job.Name || len(job.Name) > 63 || !strings.HasPrefix(job.Name, o.Name+"-") || run(5).Name == job.Name {
		t.Errorf("named %s, then %s", job.Name, again.Name)
	}
	if owner := metav1.GetControllerOf(job); owner == nil || owner.UID != o.UID || owner.Kind != "CronJob" || owner.APIVersion != "batch/v1" || owner.BlockOwnerDeletion != nil {
		t.Errorf("owned by %+v", owner)
	}
	if job.Labels["team"] != "numbers" || job.Annotations["why"] != "month" || job.Annotations["cronjob.kubernetes.io/instantiate"] != "manual" {
		t.Errorf("labels %v, annotations %v", job.Labels, job.Annotations)
	}
	app := job.Spec.Template.Spec.Containers[0]
	if len(app.Env) != 2 || app.Env[0].Value != "1" || app.Env[1].Value != "2" || job.Spec.Template.Annotations["reloader.stakater.com/last-reloaded-from"] != "{}" {
		t.Errorf("marked by %v and %v", app.Env, job.Spec.Template.Annotations)
	}
	if len(o.Spec.JobTemplate.Labels) != 1 || len(o.Spec.JobTemplate.Annotations) != 1 || len(o.Spec.JobTemplate.Spec.Template.Spec.Containers[0].Env) != 2 || o.Spec.JobTemplate.Spec.Suspend != nil {
		t.Error("the CronJob itself was written to")
	}

	job.UID = "u-2"
	own, ok := ReadRun(job)
	if !ok || !own.Held || own.Ended || own.Counter != 4 || own.LedgerText != (ledger.Ledger{UID: "u-1", Counter: 4}).String() || own.Owner != "u-1" || own.Of != w.Key || !*job.Spec.Suspend {
		t.Errorf("held as %+v", own)
	}
	if patch, err := own.UnsuspendPatch(); err != nil || string(patch.Body) != `{"metadata":{"annotations":{"reroll.dev/held":null,"reroll.dev/stays-suspended":null},"uid":"u-2"},"spec":{"suspend":false}}` {
		t.Errorf("let go by %s, %v", patch.Body, err)
	}
	job.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
	delete(job.Annotations, heldAnnotation)
	if own, ok := ReadRun(job); !ok || own.Held || !own.Ended {
		t.Errorf("ended as %+v", own)
	}

	// The user creates its Jobs suspended, for another program to start them.
	suspended := true
	o.Spec.JobTemplate.Spec.Suspend = &suspended
	own, _ = ReadRun(run(4))
	if patch, err := own.UnsuspendPatch(); err != nil || strings.Contains(string(patch.Body), "spec") {
		t.Errorf("let go by %s, %v", patch.Body, err)
	}
	if _, ok := ReadRun(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{OwnerReferences: job.OwnerReferences}}); ok {
		t.Error("a Job of the schedule is taken for one of ours")
	}
}

// Kubernetes makes the host name of a pod of an index out of the name of its Job.
func TestTheNamesOfJobsLeaveRoomForAnIndex(t *testing.T) {
	spec := func(mode batchv1.CompletionMode, completions int32) *batchv1.JobSpec {
		return &batchv1.JobSpec{CompletionMode: &mode, Completions: &completions}
	}
	long := strings.Repeat("a", 63)
	for about, tc := range map[string]struct {
		of   string
		spec *batchv1.JobSpec
		want string
	}{
		"not indexed":                     {long[:52], &batchv1.JobSpec{}, long[:52]},
		"not indexed, of the longest":     {long, spec(batchv1.NonIndexedCompletion, 20), long[:52]},
		"of one completion":               {long[:52], spec(batchv1.IndexedCompletion, 1), long[:50]},
		"of ten":                          {long[:52], spec(batchv1.IndexedCompletion, 10), long[:50]},
		"of eleven":                       {long[:52], spec(batchv1.IndexedCompletion, 11), long[:49]},
		"of none":                         {long[:52], spec(batchv1.IndexedCompletion, 0), long[:50]},
		"of as many as there can be":      {long, spec(batchv1.IndexedCompletion, 1<<31-1), long[:41]},
		"short enough":                    {long[:40], spec(batchv1.IndexedCompletion, 1000), long[:40]},
		"where a dot would be at the end": {long[:51] + ".a", &batchv1.JobSpec{}, long[:51]},
	} {
		name := madeName(&workload.Workload{Key: workload.Key{Name: tc.of}, UID: "u"}, 1, tc.spec)
		if stem, _ := strings.CutSuffix(name, "-4f435f2f80"); stem != tc.want {
			t.Errorf("%s: named %s", about, name)
		}
	}
}

func TestTheRunsOfACronJob(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	o := report()
	o.CreationTimestamp = metav1.NewTime(at)
	o.Status.Active = []corev1.ObjectReference{{Name: "report-1"}}
	read := func() *workload.Runs {
		w, err := cronJob().Read(o, annotations.DefaultNames())
		if err != nil {
			t.Fatal(err)
		}
		return w.Runs
	}
	if r := read(); r.Suspended || r.Alone || len(r.Beside) != 0 || !r.Last.Equal(at) {
		t.Errorf("one that never ran: %+v", r)
	}
	last, suspended := metav1.NewTime(at.Add(time.Hour)), true
	o.Status.LastScheduleTime, o.Spec.Suspend, o.Spec.ConcurrencyPolicy = &last, &suspended, batchv1.ForbidConcurrent
	if r := read(); !r.Suspended || !r.Alone || len(r.Beside) != 1 || !r.Last.Equal(last.Time) {
		t.Errorf("one that ran: %+v", r)
	}
}

// A run whose unsuspending fails for long reads what there is when it begins at last.
func TestARunBeginsWhenItIsUnsuspended(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	minute := func(m int) *metav1.Time { return &metav1.Time{Time: at.Add(time.Duration(m) * time.Minute)} }
	isController := true
	for about, tc := range map[string]struct {
		change func(*batchv1.Job)
		want   int
		since  uint64
	}{
		"made, and held": {func(o *batchv1.Job) { o.Spec.Suspend = new(true) }, 0, 40},
		// Its Pods may run before its status says so.
		"let go, and not begun yet by its status": {func(o *batchv1.Job) {
			o.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "reroll", Time: minute(7)}}
		}, 7, 0},
		"begun": {func(o *batchv1.Job) {
			o.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "reroll", Time: minute(7)}}
			o.Status.StartTime = minute(8)
		}, 8, 0},
		"written by somebody else": {func(o *batchv1.Job) {
			o.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "reroll"}, {Manager: "kubectl", Time: minute(9)}}
		}, 0, 0},
		"ended before it began": {func(o *batchv1.Job) {
			o.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobFailed, Status: corev1.ConditionTrue}}
		}, 0, 0},
	} {
		o := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
			Name: "run", ResourceVersion: "40", CreationTimestamp: *minute(0), Labels: map[string]string{workload.RunLabel: "1"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "CronJob", Name: "report", UID: "u-1", Controller: &isController}},
		}}
		tc.change(o)
		if r, ok := ReadRun(o); !ok || !r.Begun.Equal(minute(tc.want).Time) || r.Since != tc.since {
			t.Errorf("%s: it has begun at %s, after version %d; want %s, %d", about, r.Begun, r.Since, minute(tc.want), tc.since)
		}
	}
}

func TestTheRunsThatRerollCreated(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	of := &workload.Runs{Alone: true, Beside: []string{"scheduled", "held"}, Last: at}
	own := []OwnRun{
		{Signed: true, Name: "held", Owner: "u-1", UID: "h", Begun: at.Add(3 * time.Hour), Since: 9, Counter: 5, Held: true},
		{Signed: true, Name: "runs", Owner: "u-1", Begun: at.Add(time.Hour), Counter: 4},
		{Signed: true, Name: "ended", Owner: "u-1", Begun: at.Add(2 * time.Hour), Since: 7, Counter: 3, Ended: true},
		{Name: "forged, running", Owner: "u-1", Begun: at.Add(9 * time.Hour), Since: 8, Counter: 9},
		{Name: "forged, held", Owner: "u-1", Begun: at.Add(9 * time.Hour), Counter: 9, Held: true},
		{Signed: true, Name: "of the one before", Owner: "u-0", Begun: at.Add(9 * time.Hour), Counter: 9, Held: true},
	}
	all := WithOwn(of, "u-1", slices.Values(own))
	if len(all.Own) != 3 || all.Own[2].UID != "h" || !all.Own[2].Held || strings.Join(all.Beside, " ") != "scheduled runs forged, running" || !all.Last.Equal(at.Add(2*time.Hour)) || all.Since != 7 {
		t.Errorf("%+v", all)
	}
	if len(of.Beside) != 2 || of.Own != nil {
		t.Errorf("what was given was written to: %+v", of)
	}
	of.Alone = false
	if all := WithOwn(of, "u-1", slices.Values(own)); len(all.Beside) > 0 && all.Beside[len(all.Beside)-1] == "runs" {
		t.Errorf("one that may be beside others: %+v", all)
	}
}
