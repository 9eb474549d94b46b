package controller

import (
	"errors"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

func suspend(o *batchv1.Job) { o.Spec.Suspend = new(true) }

// A Job that is created suspended does not show whether an admission controller suspends each Job
// that is created. Kueue does so without any label, with manageJobsWithoutQueueName.
func TestAJobThatAnAdmissionControllerSuspendsStaysSuspended(t *testing.T) {
	for about, tc := range map[string]struct {
		// of is the Job of the user, and made is what admission does to a created one.
		of, made func(*batchv1.Job)
		refuses  error
		// tries is how many dry runs it takes.
		tries     int
		suspended bool
	}{
		"admission suspends it":       {unchanged, suspend, nil, 1, true},
		"admission does not":          {unchanged, unchanged, nil, 1, false},
		"dry runs are not supported":  {unchanged, suspend, apierrors.NewBadRequest("admission webhook does not support dry run"), 1, false},
		"a queue has it in any case":  {func(o *batchv1.Job) { o.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "all"} }, suspend, nil, 0, true},
		"a webhook hands it to Kueue": {unchanged, func(o *batchv1.Job) { o.Labels = map[string]string{"kueue.x-k8s.io/queue-name": "all"} }, nil, 1, true},
	} {
		t.Run(about, func(t *testing.T) {
			s := newJobStage(t)
			s.run("load", tc.of)
			s.writes, s.made, s.refusesTries = nil, tc.made, tc.refuses
			s.edit("load", "2")
			s.play(time.Minute)
			s.heard("made again", "load reloaded")
			if want := "create copy, patch copy, delete load, create load, patch load, delete copy, patch load"; s.written() != want {
				t.Errorf("written: %s", s.written())
			}
			load := s.jobNamed("load")
			for _, key := range []string{"reroll.dev/held", "reroll.dev/signed", "reroll.dev/stays-suspended"} {
				if _, ok := load.Annotations[key]; ok {
					t.Errorf("%s is left on it", key)
				}
			}
			if *load.Spec.Suspend != tc.suspended {
				t.Errorf("suspended %v, want %v", *load.Spec.Suspend, tc.suspended)
			}
			if len(s.tries) != tc.tries {
				t.Fatalf("%d dry runs, want %d", len(s.tries), tc.tries)
			}
			for _, tried := range s.tries {
				if tried.Name != "load" || *tried.Spec.Suspend {
					t.Errorf("tried was %s, suspended %v", tried.Name, *tried.Spec.Suspend)
				}
			}
			s.writes = nil
			s.play(time.Hour)
			if len(s.writes) != 0 {
				t.Errorf("it is fought over: %v", s.writes)
			}
		})
	}
}

// An answer that may be another one in a moment decides nothing, so that the queue is not bypassed.
func TestADryRunThatFailsForAMomentIsTriedAgain(t *testing.T) {
	for about, err := range map[string]error{
		"too many requests": apierrors.NewTooManyRequests("later", 1),
		"a server error":    apierrors.NewInternalError(errors.New("webhook is down")),
		"no answer":         errors.New("connection refused"),
	} {
		t.Run(about, func(t *testing.T) {
			s := newJobStage(t)
			s.run("load", unchanged)
			s.writes, s.made, s.refusesTries = nil, suspend, err
			s.edit("load", "2")
			s.play(time.Minute)
			if want := "create copy, patch copy, delete load"; s.written() != want || len(s.tries) < 2 {
				t.Fatalf("written: %s, after %d dry runs", s.written(), len(s.tries))
			}
			s.refusesTries = nil
			s.play(time.Hour)
			if load := s.jobNamed("load"); !*load.Spec.Suspend {
				t.Error("it is unsuspended")
			}
		})
	}
}

func TestTheJobOfACronJobThatAnAdmissionControllerSuspendsStaysSuspended(t *testing.T) {
	for about, tc := range map[string]struct {
		made      func(*batchv1.Job)
		suspended bool
	}{
		"admission suspends it": {suspend, true},
		"admission does not":    {unchanged, false},
	} {
		t.Run(about, func(t *testing.T) {
			s := newJobStage(t)
			s.cronJob("report", func(*batchv1.CronJob) {})
			s.writes, s.made = nil, tc.made
			s.edit("load", "2")
			s.play(time.Minute)
			s.heard("made", "report reloaded")
			names := s.jobNames()
			if len(names) != 1 || len(s.tries) != 1 || s.tries[0].Name != names[0] {
				t.Fatalf("there are %v, after %d dry runs", names, len(s.tries))
			}
			run := s.jobNamed(names[0])
			if _, held := run.Annotations["reroll.dev/held"]; held || *run.Spec.Suspend != tc.suspended {
				t.Errorf("it is %+v, suspended %v", run.ObjectMeta, *run.Spec.Suspend)
			}
			s.writes = nil
			s.play(time.Hour)
			if len(s.writes) != 0 {
				t.Errorf("written: %s", strings.Join(s.writes, ", "))
			}
		})
	}
}

// The user suspends it, so nothing has to be found out.
func TestASuspendedTemplateTakesNoDryRun(t *testing.T) {
	s := newJobStage(t)
	s.cronJob("report", func(o *batchv1.CronJob) { o.Spec.JobTemplate.Spec.Suspend = new(true) })
	s.edit("load", "2")
	s.play(time.Minute)
	if run := s.jobNamed(s.jobNames()[0]); !*run.Spec.Suspend || len(s.tries) != 0 {
		t.Errorf("suspended %v, after %d dry runs", *run.Spec.Suspend, len(s.tries))
	}
}
