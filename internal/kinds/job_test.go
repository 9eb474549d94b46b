package kinds

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
)

// Kubernetes ends the pods of a suspended Job some time later. If the Job is resumed before, they
// stay, with what they have read; and what has succeeded does not run again.
func TestASuspendedJobThatHasBegun(t *testing.T) {
	ended := []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	for about, tc := range map[string]struct {
		suspend          bool
		status           batchv1.JobStatus
		suspended, begun bool
	}{
		"runs":                              {false, batchv1.JobStatus{Active: 1}, false, false},
		"suspended since it was made":       {true, batchv1.JobStatus{}, true, false},
		"suspended a moment ago":            {true, batchv1.JobStatus{Active: 1, Terminating: new(int32(0))}, false, true},
		"suspended, its pods are ending":    {true, batchv1.JobStatus{Terminating: new(int32(1))}, false, true},
		"suspended, and its pods are gone":  {true, batchv1.JobStatus{Terminating: new(int32(0)), Failed: 1}, true, false},
		"suspended, and one has succeeded":  {true, batchv1.JobStatus{Terminating: new(int32(0)), Succeeded: 1}, false, true},
		"suspended when it had ended":       {true, batchv1.JobStatus{Conditions: ended}, false, true},
		"resumed before its pods had ended": {false, batchv1.JobStatus{Active: 1, Terminating: new(int32(0))}, false, false},
	} {
		o := load()
		o.Spec.Suspend, o.Status = &tc.suspend, tc.status
		w, err := job().Read(o, annotations.DefaultNames())
		if err != nil {
			t.Fatal(err)
		}
		if w.Runs.Suspended != tc.suspended || w.Runs.Begun != tc.begun {
			t.Errorf("%s: suspended %t, begun %t", about, w.Runs.Suspended, w.Runs.Begun)
		}
	}
}

// A Pod that has succeeded may have done so before its Job was suspended. Then nothing shows when
// the Job was resumed.
func TestWhenAJobHasBegun(t *testing.T) {
	made := metav1.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	resumed := metav1.NewTime(made.Add(time.Hour))
	wasSuspended := []batchv1.JobCondition{{Type: batchv1.JobSuspended, Status: corev1.ConditionFalse}}
	for about, tc := range map[string]struct {
		status  batchv1.JobStatus
		want    metav1.Time
		atLeast bool
	}{
		"its status does not say":        {batchv1.JobStatus{}, made, true},
		"it runs":                        {batchv1.JobStatus{StartTime: &made, Succeeded: 1}, made, false},
		"it was resumed":                 {batchv1.JobStatus{StartTime: &resumed, Active: 1, Conditions: wasSuspended}, resumed, false},
		"it was resumed, and Pods ended": {batchv1.JobStatus{StartTime: &resumed, Succeeded: 1, Conditions: wasSuspended}, made, true},
	} {
		o := load()
		o.CreationTimestamp, o.Status = made, tc.status
		w, err := job().Read(o, annotations.DefaultNames())
		if err != nil {
			t.Fatal(err)
		}
		if !w.Runs.Last.Equal(tc.want.Time) || w.Runs.LastAtLeast != tc.atLeast {
			t.Errorf("%s: at %s, at least %t", about, w.Runs.Last, w.Runs.LastAtLeast)
		}
	}
}
