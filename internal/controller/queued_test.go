package controller

import (
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A queueing controller decides when a Job may run that has its label: what it holds is left to it.
func TestAJobThatAQueueHoldsStaysSuspendedWhenRerollUnsuspendsIt(t *testing.T) {
	queued := func(o *batchv1.Job) { o.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "all"} }
	for about, tc := range map[string]struct {
		of func(*batchv1.Job)
		// made is what a webhook does to what is made, and held what another does while it is held.
		made, held func(*batchv1.Job)
		suspended  bool
	}{
		"in a queue":                {queued, nil, nil, true},
		"put into one by a webhook": {unchanged, queued, nil, true},
		"managed by somebody else":  {func(o *batchv1.Job) { o.Spec.ManagedBy = new("example.org/queue") }, nil, nil, true},
		"managed as all are":        {func(o *batchv1.Job) { o.Spec.ManagedBy = new(batchv1.JobControllerName) }, nil, nil, false},
		"in none":                   {unchanged, nil, nil, false},
		"suspended by somebody else meanwhile": {unchanged, nil, func(o *batchv1.Job) {
			o.ManagedFields = append(o.ManagedFields, metav1.ManagedFieldsEntry{
				Manager: "queue", Operation: metav1.ManagedFieldsOperationApply, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:suspend":{}}}`),
			})
		}, true},
	} {
		t.Run(about, func(t *testing.T) {
			s := newJobStage(t)
			s.run("load", tc.of)
			s.writes, s.made = nil, tc.made
			s.reads = func(o *batchv1.Job) {
				if _, ok := o.Annotations["reroll.dev/held"]; ok && tc.held != nil {
					tc.held(o)
				}
			}
			s.edit("load", "2")
			s.play(time.Minute)
			s.heard("made again", "load reloaded")
			load := s.jobNamed("load")
			for _, key := range []string{"reroll.dev/held", "reroll.dev/signed"} {
				if _, ok := load.Annotations[key]; ok {
					t.Errorf("%s is left on it", key)
				}
			}
			if *load.Spec.Suspend != tc.suspended || !slices.Equal(s.jobNames(), []string{"load"}) {
				t.Errorf("suspended %v, want %v; there are %v", *load.Spec.Suspend, tc.suspended, s.jobNames())
			}
			o := batchv1.Job{}
			tc.of(&o)
			for key, value := range o.Labels {
				if load.Labels[key] != value {
					t.Errorf("it has come back with the labels %v", load.Labels)
				}
			}
			s.writes = nil
			s.changeJob("load", func(o *batchv1.Job) { o.Spec.Suspend = new(true) })
			s.play(time.Hour)
			if len(s.writes) != 0 {
				t.Errorf("it is fought over: %v", s.writes)
			}
		})
	}
}

func TestARunThatAQueueHoldsStaysSuspendedWhenRerollUnsuspendsIt(t *testing.T) {
	s := newJobStage(t)
	s.cronJob("report", func(o *batchv1.CronJob) {
		o.Spec.JobTemplate.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "all"}
	})
	s.edit("load", "2")
	s.play(time.Minute)
	s.heard("made", "report reloaded")
	run := s.jobNamed(s.jobNames()[0])
	if _, held := run.Annotations["reroll.dev/held"]; held || !*run.Spec.Suspend || run.Labels["kueue.x-k8s.io/queue-name"] != "all" {
		t.Errorf("it is %+v, %+v", run.ObjectMeta, run.Spec.Suspend)
	}
	// The queue admits it.
	s.changeJob(run.Name, func(o *batchv1.Job) { o.Spec.Suspend = new(false) })
	s.writes = nil
	s.play(time.Hour)
	if len(s.writes) != 0 {
		t.Errorf("written: %v", s.writes)
	}
}
