package controller

import (
	"maps"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/test/simapi"
)

// jobs are the Jobs of users at the beginning.
func jobs() []drawnWorkload {
	names := annotations.DefaultNames()
	return []drawnWorkload{
		{"jobs", "load", []int{0, 2}, map[string]string{names.Auto: "true"}},
		{"jobs", "migrate", []int{0, 1, 3}, map[string]string{names.ConfigMap: "settings, routes", names.Secret: "cert"}},
	}
}

func (u *users) job() drawnWorkload { return jobs()[u.h.rand.IntN(len(jobs()))] }

// sourceSteps are the actions of users on sources that runs read.
func (u *users) sourceSteps() []step {
	return []step{
		{"edit a source", 24, func() bool { return u.editSource(u.source()) }},
		{"add a key", 5, func() bool { return u.addKey(u.source()) }},
		{"take a key away", 6, func() bool { return u.removeKey(u.source()) }},
		{"put content back", 5, func() bool { return u.putBack(u.source()) }},
		{"label a source", 6, func() bool { return u.touch(u.source()) }},
		{"edit and label a source", 3, func() bool { return u.editAndTouch(u.source()) }},
		{"swap a source for a moment", 2, func() bool { return u.swap(u.source()) }},
		{"forget the managers of a source", 8 * weight(u.h.forgotten), func() bool { return u.forgetManagers(u.source()) }},
		{"delete a source", 2, func() bool { return u.deleteSource(u.source()) }},
		{"create a source again", 8, func() bool { return u.createAgain() }},
	}
}

// jobSteps are the actions of users with Jobs.
func (u *users) jobSteps() []step {
	return append(u.sourceSteps(), []step{
		{"create a Job again", 14, func() bool { return u.createJobAgain() }},
		{"create a Job and edit its source", 8, func() bool { return u.createJobAgain() && u.editSourceOf(u.job()) }},
		{"suspend a Job", 5, func() bool { return u.suspendJob(u.job(), true) }},
		{"resume a Job", 9, func() bool { return u.suspendJob(u.job(), false) }},
		{"suspend a Job for a moment", 6, func() bool { return u.suspendForAMoment(u.job()) }},
		{"end a Job", 8, func() bool { return u.endJob(u.job()) }},
		{"evict a pod", 4, func() bool { return u.evict(u.job()) }},
		{"delete a Job", 5, func() bool { return u.deleteJob(u.job()) }},
		{"opt out or in", 4, func() bool { return u.opt(u.job()) }},
		{"label a Job", 4, func() bool { return u.labelJob(u.job()) }},
		{"take the ledger away", 2, func() bool { return u.wipeJob(u.job()) }},
	}...)
}

func (u *users) createJobAgain() bool { return u.createMissing(jobs(), u.createJob) }

// createMissing creates the first workload that does not exist.
func (u *users) createMissing(all []drawnWorkload, create func(drawnWorkload) bool) bool {
	for _, w := range all {
		if _, err := u.h.server.Get(w.resource, inShop(w.name)); err != nil {
			return create(w)
		}
	}
	return false
}

// runTemplate returns the pod template of Jobs.
func (u *users) runTemplate(w drawnWorkload) corev1.PodTemplateSpec {
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": w.name}},
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{
			{Name: "app", Image: "app:" + u.value()}, {Name: "side", Image: "side:1"},
		}},
	}
	for _, i := range w.sources {
		refer(&template, sources()[i], nil)
	}
	return template
}

func (u *users) createJob(w drawnWorkload) bool {
	template := u.runTemplate(w)
	pods := int32(1 + u.h.rand.IntN(2))
	_, err := u.h.server.Create(&batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: w.name, Annotations: maps.Clone(w.annotations)},
		Spec:       batchv1.JobSpec{Parallelism: &pods, Completions: &pods, Suspend: new(u.h.rand.IntN(6) == 0), Template: template},
	}, u.manager())
	return err == nil
}

// editSourceOf edits the sources of a Job, within moments.
func (u *users) editSourceOf(w drawnWorkload) bool {
	u.moments()
	return u.editSource(sources()[w.sources[u.h.rand.IntN(len(w.sources))]])
}

// moments lets little time pass, with few other events.
func (u *users) moments() {
	u.h.elapse(time.Duration(u.h.rand.IntN(900)) * time.Millisecond)
	for range u.h.rand.IntN(4) {
		u.h.stepPods()
	}
}

func (u *users) suspendJob(w drawnWorkload, suspend bool) bool {
	return u.edit(w, func(obj simapi.Object) { obj.(*batchv1.Job).Spec.Suspend = &suspend })
}

// suspendForAMoment edits a source of a Job while the Job is suspended, which may be too short for
// its Pods to end.
func (u *users) suspendForAMoment(w drawnWorkload) bool {
	if !u.suspendJob(w, true) {
		return false
	}
	did := u.editSourceOf(w)
	for range u.h.rand.IntN(12) {
		u.h.something()
	}
	return u.suspendJob(w, false) || did
}

// endJob completes the Pods of a Job.
func (u *users) endJob(w drawnWorkload) bool {
	obj, err := u.h.server.Get(w.resource, inShop(w.name))
	if err != nil {
		return false
	}
	did := false
	for _, pod := range u.h.pods.Of(obj) {
		did = u.h.pods.Finish(pod) || did
	}
	return did
}

func (u *users) deleteJob(w drawnWorkload) bool {
	u.h.oracle.deletesJob(w.name)
	opts := metav1.DeleteOptions{}
	if u.h.rand.IntN(2) == 0 {
		opts.PropagationPolicy = new(metav1.DeletePropagationForeground)
	}
	return u.h.server.Remove(w.resource, inShop(w.name), opts) == nil
}

// wipeJob does not touch a Job that Reroll suspended, because a user who removes its ledger takes
// it over.
func (u *users) wipeJob(w drawnWorkload) bool {
	obj, err := u.h.server.Get(w.resource, inShop(w.name))
	return err == nil && !isHeld(obj.(*batchv1.Job)) && u.wipe(w)
}

func (u *users) labelJob(w drawnWorkload) bool {
	return u.edit(w, func(obj simapi.Object) { u.label(obj, "touched", u.value()) })
}

func (u *users) beingDeleted(name string) bool {
	job, err := u.h.server.Get("jobs", inShop(name))
	return err == nil && job.GetDeletionTimestamp() != nil
}

// cleanUp deletes a Job with which only its user can continue, and returns false if there is none.
func (u *users) cleanUp() bool {
	for _, job := range u.h.jobs() {
		if !u.h.oracle.odd[job.UID] || copyOf(job) == "" && !isHeld(job) {
			continue
		}
		if u.beingDeleted(copyOf(job)) {
			continue // its user checks that the Job exists, and is not being deleted
		}
		u.h.oracle.excused(leftToUsers)
		if c := u.h.oracle.crons[ownerOf(job)]; c != nil {
			c.spare(u.h.server.Version()+1, u.h.server.Version()+1)
		}
		name := job.Name
		if of := copyOf(job); of != "" {
			name = of
		}
		if _, err := u.h.server.Get("jobs", inShop(name)); name == job.Name || err != nil {
			u.h.oracle.deletesJob(name)
		}
		return u.h.server.Delete("jobs", inShop(job.Name)) == nil
	}
	return false
}
