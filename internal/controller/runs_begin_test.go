package controller

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// schedule has the schedule make a run of the CronJob report, which was due when the CronJob was
// made. Its status may name the run.
func (s *jobStage) schedule(name string, labels map[string]string, inStatus bool) {
	s.Helper()
	of, err := s.server.Get("cronjobs", inShop("report"))
	if err != nil {
		s.Fatal(err)
	}
	isController := true
	job, err := s.server.Create(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels, OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "batch/v1", Kind: "CronJob", Name: "report", UID: of.GetUID(), Controller: &isController},
	}}}, "kube-controller-manager")
	if err != nil {
		s.Fatal(err)
	}
	if !inStatus {
		return
	}
	told, err := s.server.Edit("cronjobs", inShop("report"), "kube-controller-manager", func(o simapi.Object) {
		status := &o.(*batchv1.CronJob).Status
		status.LastScheduleTime = new(o.GetCreationTimestamp())
		status.Active = []corev1.ObjectReference{{Name: name, UID: job.GetUID()}}
	})
	if err != nil {
		s.Fatal(err)
	}
	s.workloadsOf("CronJob").arrives(told)
}

func TestARunOfTheScheduleCountsFromWhenItBegan(t *testing.T) {
	allow := func(*batchv1.CronJob) {}
	forbid := func(o *batchv1.CronJob) { o.Spec.ConcurrencyPolicy = batchv1.ForbidConcurrent }
	for about, tc := range map[string]struct {
		change   func(*batchv1.CronJob)
		labels   map[string]string
		inStatus bool
		// before and after are the values of the ConfigMap before and after the run began, 30 s
		// from it.
		before, after string
		writes        int
	}{
		"due before the change and begun after it":                                   {allow, nil, true, "2", "", 1},
		"begun after the change, which no status tells yet":                          {allow, nil, false, "2", "", 1},
		"begun after the change, and still running where none may be beside":         {forbid, nil, true, "2", "", 1},
		"one of ours, by its label, begun after the change under a lost key":         {allow, map[string]string{workload.RunLabel: "1"}, false, "2", "", 1},
		"begun before the change":                                                    {allow, nil, true, "", "2", 3},
		"due before the data were away for a while, and begun while they were away":  {allow, nil, true, "2", "1", 3},
		"begun while the data were away, and still running where none may be beside": {forbid, nil, true, "2", "1", 0},
	} {
		t.Run(about, func(t *testing.T) {
			s := newJobStage(t)
			s.cronJob("report", tc.change)
			s.writes = nil
			s.server.Advance(time.Minute)
			if tc.before != "" {
				s.edit("load", tc.before)
			}
			s.server.Advance(30 * time.Second)
			s.schedule("report-28", tc.labels, tc.inStatus)
			s.server.Advance(30 * time.Second)
			if tc.after != "" {
				s.edit("load", tc.after)
			}
			s.play(time.Minute)
			if len(s.writes) != tc.writes {
				t.Errorf("written: %v, want %d writes", s.writes, tc.writes)
			}
		})
	}
}
