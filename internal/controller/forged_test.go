package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
	"github.com/reroll-dev/reroll/test/simapi"
)

// change edits a Job as another client does, and brings the event.
func (s *jobStage) changeJob(name string, change func(*batchv1.Job)) {
	s.Helper()
	o, err := s.server.Edit("jobs", inShop(name), "kubectl", func(o simapi.Object) { change(o.(*batchv1.Job)) })
	if err != nil {
		s.Fatal(err)
	}
	s.jobHandler().arrives(o)
}

func (s *jobStage) jobNamed(name string) *batchv1.Job {
	s.Helper()
	o, err := s.server.Get("jobs", inShop(name))
	if err != nil {
		s.Fatal(err)
	}
	return o.(*batchv1.Job)
}

// otherKey is what an installation has that has lost its own.
func otherKey(t *testing.T) digest.Key {
	t.Helper()
	key, err := digest.NewKey([]byte(strings.Repeat("o", 32)))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func ofCronJob(s *jobStage, name string) []metav1.OwnerReference {
	s.Helper()
	of, err := s.server.Get("cronjobs", inShop(name))
	if err != nil {
		s.Fatal(err)
	}
	isController := true
	return []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: name, UID: of.GetUID(), Controller: &isController}}
}

func TestAForgedCopyDeletesNoJobAndMakesNone(t *testing.T) {
	for about, of := range map[string]string{"of a Job that is not opted in": "victim", "of a Job that is gone": "gone"} {
		t.Run(about, func(t *testing.T) {
			s := newJobStage(t)
			s.run("victim", func(o *batchv1.Job) { o.Annotations = nil })
			victim := s.jobNamed("victim")
			uid := victim.UID
			s.writes = nil
			s.run("forged", func(o *batchv1.Job) {
				o.Spec.Suspend = new(true)
				o.Spec.Template.Spec.Containers[0].Image = "evil:1.0"
				o.Annotations = map[string]string{
					"reroll.dev/replaces": fmt.Sprintf(`{"name":%q,"uid":%q,"generation":%d,"ledger":%q,"changed":[]}`, of, uid, victim.Generation, ledger.Ledger{UID: uid, Counter: 1}.String()),
					"reroll.dev/deletes":  string(uid),
				}
			})
			s.play(time.Minute)
			if len(s.writes) != 0 || s.jobNamed("victim").UID != uid || !slices.Equal(s.jobNames(), []string{"forged", "victim"}) {
				t.Errorf("written: %v; there are %v", s.writes, s.jobNames())
			}
			s.changeJob("forged", func(o *batchv1.Job) { o.Labels = map[string]string{"more": "x"} })
			s.play(time.Minute)
			s.heard("once", "forged NotSigned: reroll.dev/replaces")
			if s.remade() != 0 || s.controller.Depth() != 0 {
				t.Errorf("%d are being made again, %d wait", s.remade(), s.controller.Depth())
			}
		})
	}
}

func TestAnEditedCopyDeletesAndRunsNothing(t *testing.T) {
	image := func(o *batchv1.Job) { o.Spec.Template.Spec.Containers[0].Image = "evil:1.0" }
	for about, tc := range map[string]struct {
		writes int
		change func(*batchv1.Job)
	}{
		"its image, before it was noted": {1, image},
		"its image, when it was noted":   {2, image},
		"the name in it": {2, func(o *batchv1.Job) {
			o.Annotations["reroll.dev/replaces"] = strings.Replace(o.Annotations["reroll.dev/replaces"], `"name":"load"`, `"name":"other"`, 1)
		}},
		"the labels in it": {1, func(o *batchv1.Job) {
			o.Annotations["reroll.dev/replaces"] = strings.Replace(o.Annotations["reroll.dev/replaces"], `"ledger":`, `"labels":{"a":"b"},"ledger":`, 1)
		}},
		"what it deletes": {1, func(o *batchv1.Job) { o.Annotations["reroll.dev/deletes"] = "uid-000002" }},
	} {
		t.Run(about, func(t *testing.T) {
			s := newJobStage(t)
			s.run("load", unchanged)
			uid := s.jobNamed("load").UID
			s.writes = nil
			s.leadsWhile(func() bool { return len(s.writes) < tc.writes })
			s.edit("load", "2")
			s.play(time.Minute)
			name := s.jobNames()[1]
			s.changeJob(name, tc.change)
			s.leadsWhile(nil)
			s.play(time.Minute)
			if len(s.writes) != tc.writes+len(s.failures) || s.jobNamed("load").UID != uid || len(s.jobNames()) != 2 {
				t.Errorf("written: %v; there are %v", s.writes, s.jobNames())
			}
			s.heard("once", name+" NotSigned: reroll.dev/replaces")
			if len(s.failures) == 0 || !strings.Contains(s.failures[0], "Delete that Job") {
				t.Errorf("told of the change: %v", s.failures)
			}
			// Its user follows the notice: the change is not lost.
			if err := s.server.Delete("jobs", inShop(name)); err != nil {
				t.Fatal(err)
			}
			s.jobHandler().departs(inShop(name), "")
			s.play(workqueue.LastRetry)
			s.heard("when it is gone", "load reloaded")
			if s.jobNamed("load").UID == uid || s.jobNamed("load").Spec.Template.Spec.Containers[0].Image == "evil:1.0" {
				t.Error("the Job was not made again as it was")
			}
		})
	}
}

// The same content by the same name, from an earlier time: only the UID differs.
func TestARestoredOldCopyCreatesNoJob(t *testing.T) {
	s := newJobStage(t)
	s.run("load", unchanged)
	var noted *batchv1.Job
	s.leadsWhile(func() bool {
		if len(s.jobNames()) == 2 {
			noted = s.jobNamed(s.jobNames()[1]).DeepCopy()
		}
		return true
	})
	s.edit("load", "2")
	s.play(time.Minute)
	s.heard("made again", "load reloaded")
	if noted == nil || noted.Annotations["reroll.dev/deletes"] == "" {
		t.Fatalf("kept: %+v", noted)
	}
	if err := s.server.Delete("jobs", inShop("load")); err != nil {
		t.Fatal(err)
	}
	s.jobHandler().departs(inShop("load"), "")
	s.play(time.Minute)
	s.writes = nil
	back, err := s.server.Create(noted, "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	s.jobHandler().arrives(back)
	s.play(time.Minute)
	if len(s.writes) != 0 {
		t.Errorf("written: %v", s.writes)
	}
	s.heard("it is back", noted.Name+" NotSigned: reroll.dev/replaces")
}

// Mutating webhooks of the cluster may change what is made. That is what is signed then, in one
// write more.
func TestACopyChangedByAWebhookIsSignedAsStored(t *testing.T) {
	s := newJobStage(t)
	s.run("load", unchanged)
	s.writes = nil
	s.made = func(job *batchv1.Job) { job.Spec.Template.Spec.Containers[0].Image = "mirror.example.org/app" }
	s.edit("load", "2")
	s.play(time.Minute)
	s.heard("made again", "load reloaded")
	if len(s.writes) != 8 || s.jobNamed("load").Spec.Template.Spec.Containers[0].Image != "mirror.example.org/app" {
		t.Errorf("written: %v", s.writes)
	}
}

func TestAForgedHeldJobIsNotUnsuspended(t *testing.T) {
	s := newJobStage(t)
	s.run("forged", func(o *batchv1.Job) {
		o.Annotations, o.Spec.Suspend = map[string]string{"reroll.dev/held": "true"}, new(true)
	})
	s.heard("without a ledger", "forged NotSigned: reroll.dev/held")
	s.changeJob("forged", func(o *batchv1.Job) {
		o.Annotations[annotations.Ledger] = ledger.Ledger{UID: o.UID, Counter: 4}.String()
	})
	s.play(time.Minute)
	if len(s.writes) != 0 || !*s.jobNamed("forged").Spec.Suspend {
		t.Errorf("written: %v", s.writes)
	}
	s.heard("once more")
}

func TestAForgedRunPoisonsNoCronJob(t *testing.T) {
	for about, tc := range map[string]struct {
		counter string
		change  func(*batchv1.Job)
	}{
		"the highest number, held":    {"9223372036854775807", func(o *batchv1.Job) { o.Annotations["reroll.dev/held"], o.Spec.Suspend = "true", new(true) }},
		"the highest number, running": {"9223372036854775807", unchanged},
		"the next number, held":       {"1", func(o *batchv1.Job) { o.Annotations["reroll.dev/held"], o.Spec.Suspend = "true", new(true) }},
		"a number below all, held":    {"-5", func(o *batchv1.Job) { o.Annotations["reroll.dev/held"], o.Spec.Suspend = "true", new(true) }},
		"a large number, held":        {"1000000", func(o *batchv1.Job) { o.Annotations["reroll.dev/held"], o.Spec.Suspend = "true", new(true) }},
	} {
		t.Run(about, func(t *testing.T) {
			s := newJobStage(t)
			s.cronJob("report", func(*batchv1.CronJob) {})
			before, err := s.server.Get("cronjobs", inShop("report"))
			if err != nil {
				t.Fatal(err)
			}
			s.run("forged", func(o *batchv1.Job) {
				o.OwnerReferences = ofCronJob(s, "report")
				o.Labels = map[string]string{workload.RunLabel: tc.counter}
				o.Annotations = map[string]string{annotations.Ledger: strings.Replace(before.GetAnnotations()[annotations.Ledger], `"n":0`, `"n":9`, 1)}
				tc.change(o)
			})
			s.play(time.Minute)
			after, err := s.server.Get("cronjobs", inShop("report"))
			if err != nil || after.GetResourceVersion() != before.GetResourceVersion() {
				t.Fatalf("the CronJob was written to: %v, %v", after, err)
			}
			key := workload.RunLabel
			if tc.counter == "-5" || len(tc.counter) > 10 && len(s.says) > 0 && strings.Contains(s.says[0], "This Job has reroll.dev/held") {
				key = "reroll.dev/held" // what has no number is no run
			}
			if len(s.says) > 0 || s.jobNamed("forged").Annotations["reroll.dev/held"] != "" {
				s.heard("once", "forged NotSigned: "+key)
			}
			s.writes = nil
			for n := range 3 {
				s.edit("load", fmt.Sprint(n+2))
				s.play(time.Minute)
			}
			s.heard("for each change", "report reloaded", "report reloaded", "report reloaded")
			now, err := s.server.Get("cronjobs", inShop("report"))
			if err != nil {
				t.Fatal(err)
			}
			ledger, err := ledger.Parse(now.GetAnnotations()[annotations.Ledger])
			if err != nil || ledger.Counter != 3 || len(s.jobNames()) != 4 || s.jobNamed("forged").Generation > 1 {
				t.Errorf("the ledger is %+v, %v; there are %v", ledger, err, s.jobNames())
			}
			for _, w := range s.writes {
				if strings.HasSuffix(w, " forged") {
					t.Errorf("written: %s", w)
				}
			}
		})
	}
}

// What takes the name of a run keeps no change away.
func TestAForgedRunOfTheNextNameIsPassedOver(t *testing.T) {
	s := newJobStage(t)
	s.cronJob("report", func(*batchv1.CronJob) {})
	s.refuses = errors.New("etcd is away")
	s.edit("load", "2")
	s.play(time.Minute)
	name := s.jobNames()[0]
	s.changeJob(name, func(o *batchv1.Job) { o.Annotations["reroll.dev/signed"] = strings.Repeat("0", 32) })
	s.refuses, s.writes, s.failures = nil, nil, nil
	s.play(workqueue.LastRetry)
	s.heard("another is made", name+" NotSigned: reroll.dev/run", "report reloaded")
	if len(s.jobNames()) != 2 || len(s.writes) > 6 || !*s.jobNamed(name).Spec.Suspend {
		t.Errorf("there are %v; written: %v", s.jobNames(), s.writes)
	}
}

// No signature can be verified then. That is reported, and a new run makes up for a change.
func TestJobsSignedByALostKeyAreReportedAndNotUsed(t *testing.T) {
	for writes, want := range map[int][]string{
		1: {"reroll.dev/replaces", "load"}, 2: {"reroll.dev/replaces", "load"}, 3: {"reroll.dev/replaces", ""},
		4: {"reroll.dev/held", "load"}, 6: {"reroll.dev/held", "load"},
	} {
		t.Run(fmt.Sprint("after ", writes), func(t *testing.T) {
			s := newJobStage(t)
			s.run("load", unchanged)
			s.writes = nil
			s.leadsWhile(func() bool { return len(s.writes) < writes })
			s.edit("load", "2")
			s.play(time.Minute)
			s.installation().Key = otherKey(t)
			before := s.jobNames()
			s.leadsWhile(nil)
			s.play(time.Minute)
			var told bool
			for _, said := range s.says {
				told = told || strings.Contains(said, " NotSigned: This Job has "+want[0])
			}
			if !told || len(s.writes) != writes+len(s.failures) || !slices.Equal(before, s.jobNames()) {
				t.Errorf("told %v, %v; written %v; there were %v and are %v", s.says, s.failures, s.writes, before, s.jobNames())
			}
			if there := slices.Contains(s.jobNames(), "load"); there != (want[1] != "") {
				t.Errorf("there are %v", s.jobNames())
			}
		})
	}
}
