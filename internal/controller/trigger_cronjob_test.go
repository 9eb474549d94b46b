package controller

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
	"github.com/reroll-dev/reroll/test/simapi"
)

// A scheduled run has begun, and neither the status of the CronJob nor the watch of our own Jobs
// shows it yet.
func TestNoRunIsCreatedBesideARunMissingInTheStatus(t *testing.T) {
	s := newJobStage(t)
	s.cronJob("report", func(o *batchv1.CronJob) { o.Spec.ConcurrencyPolicy = batchv1.ForbidConcurrent })
	of, err := s.server.Get("cronjobs", inShop("report"))
	if err != nil {
		t.Fatal(err)
	}
	isController := true
	scheduled := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "report-28", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "batch/v1", Kind: "CronJob", Name: "report", UID: of.GetUID(), Controller: &isController},
	}}}
	if _, err := s.server.Create(scheduled, "kube-controller-manager"); err != nil {
		t.Fatal(err)
	}
	s.writes = nil
	s.edit("load", "2")
	s.play(time.Minute)
	if len(s.writes) != 0 {
		t.Fatalf("written beside it: %v", s.writes)
	}
	if _, err := s.server.Edit("jobs", inShop("report-28"), "kube-controller-manager", func(o simapi.Object) {
		o.(*batchv1.Job).Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	}); err != nil {
		t.Fatal(err)
	}
	s.play(10 * time.Minute)
	if len(s.writes) != 3 {
		t.Errorf("written when it has ended: %v", s.writes)
	}
	if own := s.controller.jobs.runs[workload.Key{Kind: "CronJob", Namespace: namespace, Name: "report"}]; len(own) != 1 {
		t.Errorf("known: %v", own)
	}
}

// The user deletes the Job of a reload, and the watch shows that before the response to our write.
func TestAResponseDoesNotBringADeletedRunBack(t *testing.T) {
	of := workload.Key{Kind: "CronJob", Namespace: namespace, Name: "report"}
	run := kinds.OwnRun{Of: of, Name: "report-1", UID: "uid-1"}
	for name, tc := range map[string]struct {
		known    bool
		deletion uint64 // of whichever run
		answer   uint64
		want     int
	}{
		"the watch has shown it and its deletion":           {false, 7, 6, 0},
		"the watch has not shown it yet":                    {false, 5, 6, 1},
		"it is known, and another one was deleted":          {true, 7, 6, 1},
		"no version is known, because they are no numbers":  {false, 0, 0, 1},
		"the version of the response alone is not a number": {false, 7, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOwnJobs()
			o.dropRuns(namespace, tc.deletion, func(*kinds.OwnRun) bool { return true })
			if tc.known {
				o.putRun(run)
			}
			o.putAnswer(run, tc.answer)
			if got := o.runsOf(of); len(got) != tc.want {
				t.Errorf("%d runs are known, want %d", len(got), tc.want)
			}
		})
	}
}

func TestASnapshotOfJobsShowsWhichRunsAreDeleted(t *testing.T) {
	for name, h := range map[string]func(*Controller) *handler{
		"with the Jobs of users": func(c *Controller) *handler { return c.jobHandler(c.workloads(kinds.Jobs(), namespace), namespace) },
		"of Reroll alone":        func(c *Controller) *handler { return c.runHandler(namespace) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newJobStage(t)
			jobs := h(s.controller)
			jobs.firstSynced = func() {}
			jobs.SnapshotComplete(nil, "900")
			s.controller.jobs.putAnswer(kinds.OwnRun{Of: workload.Key{Kind: "CronJob", Namespace: namespace, Name: "report"}, Name: "report-1", UID: "uid-1"}, 899)
			if got := s.controller.jobs.runsOf(workload.Key{Kind: "CronJob", Namespace: namespace, Name: "report"}); len(got) != 0 {
				t.Errorf("a run that the snapshot lacks is known: %v", got)
			}
		})
	}
}

// The schedule was due before the change, and its run had to wait for another one, so that it began
// after the change.
func TestADelayedScheduledRunHasTheChange(t *testing.T) {
	s := newJobStage(t)
	s.cronJob("report", func(o *batchv1.CronJob) { o.Spec.ConcurrencyPolicy = batchv1.ForbidConcurrent })
	of, err := s.server.Get("cronjobs", inShop("report"))
	if err != nil {
		t.Fatal(err)
	}
	job := func(name string) {
		isController := true
		if _, err := s.server.Create(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "batch/v1", Kind: "CronJob", Name: "report", UID: of.GetUID(), Controller: &isController},
		}}}, "kube-controller-manager"); err != nil {
			t.Fatal(err)
		}
	}
	end := func(name string) {
		if _, err := s.server.Edit("jobs", inShop(name), "kube-controller-manager", func(o simapi.Object) {
			o.(*batchv1.Job).Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
		}); err != nil {
			t.Fatal(err)
		}
	}
	job("report-28")
	s.writes = nil
	s.server.Advance(time.Minute)
	s.edit("load", "2")
	s.play(time.Minute)
	end("report-28")
	s.server.Advance(time.Minute)
	job("report-29")
	end("report-29")
	s.play(10 * time.Minute)
	if len(s.writes) != 1 {
		t.Errorf("written beside the ledger: %v", s.writes)
	}
}

// An instance before this one has ended between the ledger and the last write.
func TestADryRunLetsNoJobGo(t *testing.T) {
	s := newJobStage(t)
	s.cronJob("report", func(*batchv1.CronJob) {})
	s.writes = nil
	s.leadsWhile(func() bool { return len(s.writes) < 2 })
	s.edit("load", "2")
	s.play(time.Minute)
	s.leadsWhile(nil)
	s.opts().DryRun = true
	s.edit("load", "3")
	s.play(time.Minute)
	if len(s.writes) != 2 {
		t.Errorf("written: %v", s.writes)
	}
	s.opts().DryRun = false
	s.edit("load", "4")
	s.play(time.Minute)
	if len(s.writes) != 4 || !strings.HasPrefix(s.writes[2], "patch report-") { // it begins after these changes

		t.Errorf("written when it is over: %v", s.writes)
	}
}

// For example, a newer version has created it, and was rolled back before the ledger recorded it.
func TestAnUnreadableHeldJobIsReported(t *testing.T) {
	for about, ledger := range map[string]string{
		"of a newer version": `{"v":99}`,
		"damaged":            "{",
		"of another CronJob": `{"v":1,"uid":"another"}`,
		"taken away":         "",
	} {
		t.Run(about, func(t *testing.T) {
			s := newJobStage(t)
			s.cronJob("report", func(*batchv1.CronJob) {})
			s.refuses = errors.New("etcd is away")
			s.edit("load", "2")
			s.play(time.Minute)
			name := s.jobNames()[0]
			held, err := s.server.Edit("jobs", inShop(name), "kubectl", func(o simapi.Object) {
				o.GetAnnotations()[annotations.Ledger] = ledger
				kinds.SignRun(o.(*batchv1.Job), s.installation().Key)
			})
			if err != nil {
				t.Fatal(err)
			}
			s.jobHandler().arrives(held)
			s.refuses, s.failures = nil, nil
			s.play(workqueue.LastRetry)
			if len(s.failures) < 2 || len(s.failures) > 12 || !strings.Contains(s.failures[0], "Job "+name) {
				t.Fatalf("%d failures: %v", len(s.failures), s.failures)
			}
			t.Log(s.failures[0])
			if err := s.server.Delete("jobs", inShop(name)); err != nil {
				t.Fatal(err)
			}
			s.jobHandler().departs(inShop(name), "")
			s.play(5 * time.Minute)
			run, err := s.server.Get("jobs", inShop(name))
			if err != nil || *run.(*batchv1.Job).Spec.Suspend {
				t.Errorf("it is made again by %v, and is %+v, %v", s.writes, run, err)
			}
		})
	}
}

// A rule of the cluster may keep labels and annotations that it does not know from whatever is
// made.
func TestAJobThatAWebhookChangedIsReported(t *testing.T) {
	suspended := func(o *batchv1.CronJob) { o.Spec.JobTemplate.Spec.Suspend = new(true) }
	plain := func(*batchv1.CronJob) {}
	for about, tc := range map[string]struct {
		of    func(*batchv1.CronJob)
		strip func(*batchv1.Job)
		lost  string
	}{
		"without the label":                    {plain, func(o *batchv1.Job) { delete(o.Labels, workload.RunLabel) }, "lacks its label reroll.dev/run:"},
		"without what holds it":                {plain, func(o *batchv1.Job) { delete(o.Annotations, "reroll.dev/held") }, "lacks its annotation reroll.dev/held:"},
		"without its ledger":                   {plain, func(o *batchv1.Job) { delete(o.Annotations, annotations.Ledger) }, "lacks its annotation reroll.dev/ledger:"},
		"without an owner":                     {plain, func(o *batchv1.Job) { o.OwnerReferences = nil }, "lacks its ownerReference:"},
		"without anything":                     {plain, func(o *batchv1.Job) { o.Labels, o.Annotations = nil, nil }, "reroll.dev/run, annotation reroll.dev/held, annotation reroll.dev/ledger, annotation reroll.dev/signed:"},
		"without its signature":                {plain, func(o *batchv1.Job) { delete(o.Annotations, "reroll.dev/signed") }, "lacks its annotation reroll.dev/signed:"},
		"one that its user begins, unlabelled": {suspended, func(o *batchv1.Job) { o.Labels = nil }, "lacks its label reroll.dev/run:"},
		"one that its user begins, not held":   {suspended, func(o *batchv1.Job) { delete(o.Annotations, "reroll.dev/held") }, "lacks its annotation reroll.dev/held:"},
	} {
		t.Run(about, func(t *testing.T) {
			s := newJobStage(t)
			s.cronJob("report", tc.of)
			s.strips = tc.strip
			s.edit("load", "2")
			s.play(workqueue.LastRetry)
			if len(s.failures) < 2 || len(s.failures) > 12 || !strings.Contains(s.failures[0], tc.lost) || s.failures[0] != s.failures[len(s.failures)-1] {
				t.Fatalf("%d failures: %v", len(s.failures), s.failures)
			}
			t.Log(s.failures[0])
			names := s.jobNames()
			if len(names) != 1 {
				t.Fatalf("it is made again and again: %v", names)
			}
			s.says = slices.DeleteFunc(s.says, func(said string) bool { return strings.HasPrefix(said, names[0]+" ") })
			if len(s.says) != 0 {
				t.Errorf("told: %v", s.says)
			}
			s.says = nil
			if err := s.server.Delete("jobs", inShop(names[0])); err != nil {
				t.Fatal(err)
			}
			s.jobHandler().departs(inShop(names[0]), "")
			s.strips = nil
			s.play(workqueue.LastRetry)
			s.heard("when the rule is gone", "report reloaded")
			if now := s.jobNames(); len(now) != 1 || now[0] != names[0] {
				t.Errorf("there are %v", now)
			}
		})
	}
}

// The API server was slow to make it; another one was made meanwhile, has run, and is cleaned away.
func TestALateRunIsReportedOnce(t *testing.T) {
	s := newJobStage(t)
	s.cronJob("report", func(*batchv1.CronJob) {})
	var late *batchv1.Job
	s.made = func(job *batchv1.Job) { late = job.DeepCopy() }
	s.edit("load", "2")
	s.play(time.Minute)
	s.heard("one is made", "report reloaded")
	if err := s.server.Delete("jobs", inShop(late.Name)); err != nil {
		t.Fatal(err)
	}
	s.jobHandler().departs(inShop(late.Name), "")
	landed, err := s.server.Create(late, workload.FieldManager)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s.jobHandler().arrives(landed)
		s.play(time.Minute)
	}
	s.heard("another lands", late.Name+" StaysHeld: for CronJob report")
	s.jobHandler().departs(inShop(late.Name), "")
	s.play(time.Minute) // so that the CronJob is reconciled once more
	if s.kept() != (kept{}) {
		t.Errorf("%+v are kept", s.kept())
	}
}

// Nobody asks any more for what it was made for. It does not begin either when the CronJob is opted
// in again for other changes.
func TestAHeldJobOfAnOptedOutCronJobDoesNotStart(t *testing.T) {
	s := newJobStage(t)
	s.cronJob("report", func(*batchv1.CronJob) {})
	s.writes = nil
	s.leadsWhile(func() bool { return len(s.writes) < 2 })
	s.edit("load", "2")
	s.play(time.Minute)
	held := s.jobNames()[0]
	s.leadsWhile(nil)
	opt := func(in string) {
		o, err := s.server.Edit("cronjobs", inShop("report"), "kubectl", func(o simapi.Object) {
			o.GetAnnotations()["reloader.stakater.com/auto"] = in
		})
		if err != nil {
			t.Fatal(err)
		}
		s.workloadsOf("CronJob").arrives(o)
		s.play(time.Minute)
	}
	for range 2 {
		opt("false")
		opt("true")
	}
	if job := s.jobNamed(held); !*job.Spec.Suspend || len(s.jobNames()) != 1 {
		t.Errorf("it begins: %v", s.writes)
	}
	s.heard("it is opted out twice", "report reloaded", held+" StaysHeld: for CronJob report", "report Watching", "report Watching")
	s.edit("load", "3")
	s.play(time.Minute)
	if names := s.jobNames(); len(names) != 2 {
		t.Errorf("the next change makes %v", names)
	}
}

// Every look asks twice whether there are Jobs to let go. That must cost nothing where there are
// none.
func TestNoFactsAreCollectedForWorkloadsWithoutJobs(t *testing.T) {
	c := &Controller{} // without a state that facts could come from
	if err := c.unsuspendRuns(t.Context(), &workload.Workload{Key: workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"}}); err != nil {
		t.Error(err)
	}
}
