package controller

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/test/simapi"
)

// A standby sees all that the instance sees that acts, and looks at nothing. What waits there must
// not grow with what comes and goes.
func TestAStandbyForgetsDeletedWorkloads(t *testing.T) {
	s := newStage(t)
	names := annotations.DefaultNames()
	paused := func(name string) {
		made, err := s.server.Edit("deployments", inShop(name), "kubectl", func(obj simapi.Object) {
			d := obj.(*appsv1.Deployment)
			d.Spec.Paused = true
			d.Annotations[names.PausePeriod], d.Annotations[names.PausedAt] = "1m", s.clock.Now().Format(time.RFC3339)
		})
		if err != nil {
			t.Fatal(err)
		}
		s.deployments().arrives(made)
	}
	for i := range 100 {
		name := fmt.Sprintf("app-%d", i)
		s.add(name, i%2 == 0, "")
		s.edit(name, "2")
		paused(name)
		if s.controller.Depth() != 1 || s.controller.pauses.Depth() != 1 {
			t.Fatalf("%d wait to be looked at, and %d for the end of a pause: this shows nothing", s.controller.Depth(), s.controller.pauses.Depth())
		}
		if i%4 < 2 {
			s.deployments().departs(inShop(name), "")
		} else { // it went while the watch was broken
			s.deployments().hasOnly(map[types.NamespacedName]struct{}{})
		}
		s.configMaps().departs(inShop(name), "")
	}
	s.isForgotten(100)
}

// isForgotten checks that nothing is left of app-0 and so many others that came and went.
func (s *stage) isForgotten(workloads int) {
	s.Helper()
	if s.kept() != (kept{}) {
		s.Errorf("%+v are kept", s.kept())
	}
	for i := range workloads {
		if name := fmt.Sprintf("app-%d", i); s.tries(named(name)) != 0 {
			s.Errorf("%s was tried %d times in vain, as is remembered", name, s.tries(named(name)))
		}
	}
}

// The Jobs of a CronJob are deleted after it, and their events are about no known workload.
func TestAStandbyForgetsDeletedCronJobs(t *testing.T) {
	for about, goes := range map[string]func(jobs *handler, job simapi.Object){
		"its Job is collected": func(jobs *handler, job simapi.Object) { jobs.departs(inShop(job.GetName()), "") },
		"that was not seen":    func(jobs *handler, _ simapi.Object) { jobs.hasOnly(map[types.NamespacedName]struct{}{}) },
		"it waits for a finalizer": func(jobs *handler, job simapi.Object) {
			now := metav1.NewTime(time.Date(2026, 3, 1, 13, 0, 0, 0, time.UTC))
			ended := job.(*batchv1.Job).DeepCopy()
			ended.DeletionTimestamp, ended.ResourceVersion = &now, "1000"
			ended.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
			jobs.arrives(ended)
			jobs.departs(inShop(job.GetName()), "")
		},
	} {
		t.Run(about, func(t *testing.T) {
			s := newJobStage(t)
			s.cronJob("report", func(*batchv1.CronJob) {})
			s.edit("load", "2")
			s.play(time.Minute)
			if len(s.jobNames()) != 1 || s.controller.Depth() != 0 {
				t.Fatalf("made were %v, %d wait: this shows nothing", s.jobNames(), s.controller.Depth())
			}
			job, err := s.server.Get("jobs", inShop(s.jobNames()[0]))
			if err != nil {
				t.Fatal(err)
			}
			s.workloadsOf("CronJob").departs(inShop("report"), "")
			goes(s.jobHandler(), job)
			if s.kept() != (kept{}) {
				t.Errorf("%+v are kept", s.kept())
			}
		})
	}
}

// Jobs that another instance makes again are known here, since this one may have to go on. They are
// forgotten when the Job and its copy are gone, in whatever order and however that is seen.
func TestAStandbyForgetsTheJobsThatWereRecreated(t *testing.T) {
	job := func(name string, annotations map[string]string) *batchv1.Job {
		return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("u-" + name), ResourceVersion: "7", Annotations: annotations}}
	}
	for about, end := range map[string]func(jobs *handler){
		"the copy last": func(jobs *handler) {
			jobs.departs(inShop("load"), "")
			jobs.departs(inShop("load-0123456789"), "")
		},
		"the Job last": func(jobs *handler) {
			jobs.departs(inShop("load-0123456789"), "")
			jobs.departs(inShop("load"), "")
		},
		"while the watch was broken": func(jobs *handler) { jobs.hasOnly(map[types.NamespacedName]struct{}{}) },
		"one while it was broken": func(jobs *handler) {
			jobs.hasOnly(map[types.NamespacedName]struct{}{inShop("load-0123456789"): {}})
			jobs.departs(inShop("load-0123456789"), "")
		},
	} {
		t.Run(about, func(t *testing.T) {
			s := newStage(t)
			jobs := s.jobHandler()
			ledger := ledger.Ledger{UID: "u-load"}.String()
			copied := map[string]string{"reroll.dev/replaces": fmt.Sprintf(`{"name":"load","uid":"u-load","ledger":%q,"changed":[]}`, ledger)}
			jobs.arrives(job("load", nil))
			jobs.arrives(job("load-0123456789", copied))
			jobs.arrives(job("load", map[string]string{"reroll.dev/held": "true", "reroll.dev/ledger": ledger}))
			if s.remade() != 1 || s.controller.Depth() != 1 {
				t.Fatalf("%d are known, %d wait: this shows nothing", s.remade(), s.controller.Depth())
			}
			// As long as one of the two exists, the next leader needs it.
			jobs.departs(inShop("load"), "")
			if s.remade() != 1 || s.controller.Depth() != 1 {
				t.Errorf("it is forgotten while its copy is there: %d, %d wait", s.remade(), s.controller.Depth())
			}
			jobs.arrives(job("load", map[string]string{"reroll.dev/held": "true", "reroll.dev/ledger": ledger}))
			end(jobs)
			if s.kept() != (kept{}) {
				t.Errorf("%+v are kept", s.kept())
			}
		})
	}
}

// A standby reads nothing for a write, and after a long read the leadership is checked again.
func TestWhoDoesNotLeadReadsNothingAndWritesNothing(t *testing.T) {
	for about, tc := range map[string]struct {
		leads func(s *jobStage) bool
		reads int
	}{
		"not from the start":   {func(*jobStage) bool { return false }, 0},
		"not when it has read": {func(s *jobStage) bool { return s.lists == 0 }, 2},
	} {
		t.Run(about, func(t *testing.T) {
			s := newJobStage(t)
			s.run("load", unchanged)
			s.writes = nil
			s.leadsWhile(func() bool { return len(s.writes) < 1 })
			s.edit("load", "2")
			s.play(time.Minute)
			s.writes, s.lists = nil, 0
			s.leadsWhile(func() bool { return tc.leads(s) })
			s.play(time.Minute)
			if len(s.writes) != 0 || s.lists != tc.reads {
				t.Errorf("it read %d times, want %d, and wrote %v", s.lists, tc.reads, s.writes)
			}
			s.leadsWhile(nil)
			s.play(2 * leadAgain)
			s.heard("when it leads", "load reloaded")
		})
	}
}
