package controller

import (
	"context"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/intake"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

// jobStage is a stage with Jobs. Nothing ends one there, and each write comes back by the watch at
// once.
type jobStage struct {
	*stage
	// writes are the writes to Jobs, and failures the reported failures.
	writes   []string
	failures []string
	// lists is how often Jobs were read.
	lists int
	// tries are the Jobs of dry runs, which fail if refusesTries is set.
	tries        []*batchv1.Job
	refusesTries error
	// strips is what a rule of the cluster takes away from Jobs that are made.
	strips func(*batchv1.Job)
	// made is called for each created Job, and may change it as a webhook does.
	made func(*batchv1.Job)
	// reads may change what is read of a Job.
	reads func(*batchv1.Job)
}

type jobReport struct {
	stageReport
	on *jobStage
}

// Failed implements Report.
func (r jobReport) Failed(_ *workload.Workload, _ reload.Decision, err error, _ time.Duration, _ bool) {
	r.on.failures = append(r.on.failures, err.Error())
}

// Reloaded implements Report.
func (r jobReport) Reloaded(w *workload.Workload, _ reload.Decision, _ time.Duration) {
	r.stage.says = append(r.stage.says, w.Key.Name+" reloaded")
}

// readJobs lists Jobs as reads changes them.
type readJobs struct {
	intake.Opener
	reads func(*batchv1.Job)
}

// List implements intake.Opener.
func (l readJobs) List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	list, err := l.Opener.List(ctx, opts)
	if err != nil || l.reads == nil {
		return list, err
	}
	jobs := list.(*batchv1.JobList)
	for i := range jobs.Items {
		l.reads(&jobs.Items[i])
	}
	return jobs, nil
}

// Open implements API.
func (s *jobStage) Open(w kubeapi.Watched) intake.Opener {
	s.lists++
	return readJobs{s.memory.Open(w), s.reads}
}

func (s *jobStage) wrote(what string) {
	s.Helper()
	if s.writes = append(s.writes, what); len(s.writes) > 100 {
		s.Fatalf("it goes round and round: %s", strings.Join(s.writes[80:], ", "))
	}
}

// Create implements API.
func (s *jobStage) Create(ctx context.Context, kind kinds.Kind, namespace string, obj runtime.Object) (runtime.Object, error) {
	s.wrote("create " + obj.(*batchv1.Job).Name)
	job := obj.(*batchv1.Job).DeepCopy()
	if s.made != nil {
		s.made(job)
	}
	if s.strips != nil {
		s.strips(job)
	}
	made, err := s.memory.Create(ctx, kind, namespace, job)
	if err != nil {
		return nil, err
	}
	s.jobHandler().arrives(made)
	return made, nil
}

// TryCreate implements API.
func (s *jobStage) TryCreate(_ context.Context, _ kinds.Kind, _ string, obj runtime.Object) (runtime.Object, error) {
	job := obj.(*batchv1.Job).DeepCopy()
	s.tries = append(s.tries, job.DeepCopy())
	if s.refusesTries != nil {
		return nil, s.refusesTries
	}
	if s.made != nil {
		s.made(job)
	}
	return job, nil
}

// Delete implements API.
func (s *jobStage) Delete(_ context.Context, _ kinds.Kind, key workload.Key, _ metav1.DeleteOptions) error {
	s.wrote("delete " + key.Name)
	if err := s.server.Delete("jobs", inShop(key.Name)); err != nil {
		return err
	}
	s.jobHandler().departs(inShop(key.Name), "")
	return nil
}

// Patch implements API.
func (s *jobStage) Patch(ctx context.Context, kind kinds.Kind, key workload.Key, patch kinds.Patch) (runtime.Object, error) {
	s.wrote("patch " + key.Name)
	obj, err := s.stage.Patch(ctx, kind, key, patch)
	if err == nil && kind.Name == "Job" {
		s.jobHandler().arrives(obj)
	}
	return obj, err
}

func newJobStage(t *testing.T) *jobStage {
	t.Helper()
	s := &jobStage{stage: newStage(t)}
	s.sends(s)
	s.tells(jobReport{stageReport{stage: s.stage}, s})
	key, err := digest.NewKey([]byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	s.installation().Key = key
	source, err := s.server.Create(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "load"}, Data: map[string]string{"v": "1"},
	}, "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	s.configMaps().isListed(source)
	return s
}

// run has a Job read the ConfigMap load.
func (s *jobStage) run(name string, change func(*batchv1.Job)) {
	s.Helper()
	o := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{"reloader.stakater.com/auto": "true"}}}
	o.Spec.Template = webDeployment().Spec.Template
	o.Spec.Template.Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name = "load"
	change(o)
	made, err := s.server.Create(o, "kubectl")
	if err != nil {
		s.Fatal(err)
	}
	s.jobHandler().isListed(made)
	s.play(3 * time.Second)
}

// cronJob has a CronJob read the ConfigMap load.
func (s *jobStage) cronJob(name string, change func(*batchv1.CronJob)) {
	s.Helper()
	o := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{"reloader.stakater.com/auto": "true"}}}
	o.Spec.JobTemplate.Spec.Template = webDeployment().Spec.Template
	o.Spec.JobTemplate.Spec.Template.Spec.Containers[0].EnvFrom[0].ConfigMapRef.Name = "load"
	change(o)
	made, err := s.server.Create(o, "kubectl")
	if err != nil {
		s.Fatal(err)
	}
	s.workloadsOf("CronJob").isListed(made)
	s.play(3 * time.Second)
}

func (s *jobStage) jobNames() []string {
	var names []string
	for _, o := range s.server.List("jobs") {
		names = append(names, o.GetName())
	}
	return names
}

func unchanged(*batchv1.Job) {}

// written are the writes about the Job load and its copy.
func (s *jobStage) written() string {
	var short []string
	for _, w := range s.writes {
		verb, name, _ := strings.Cut(w, " ")
		if name != "load" {
			name = "copy"
		}
		short = append(short, verb+" "+name)
	}
	return strings.Join(short, ", ")
}
