package controller

import (
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// The knowledge of the oracle about CronJobs.
//
// Terms: a run is a Job that a CronJob owns. Runs of the schedule begin when they are created, and
// ours when they are unsuspended.
//
//  1. No change is lost. At rest, a Pod of a run has started after each change, or with the data
//     that has returned. Data from a time when nothing was owed, since the last Pod started, is
//     excepted: see histories_spared_test.go.
//  2. Nothing runs without a change. Each run of ours has a change that the controller had been
//     shown, that no earlier run of ours had, and that is later than the latest run of the schedule
//     at the time of the decision. That run may be later across a gap, or if the two are no more
//     than startLag apart. A run that was deleted before its end does not count.
//  3. At rest, no run of ours is suspended, unless its CronJob is suspended or not opted in.

const cronJobKind = "CronJob"

// cronTruth is the knowledge about a CronJob.
type cronTruth struct {
	*workloadTruth
	// scheduled has the versions and times in which runs of the schedule began, and undone the
	// versions in which they were deleted before their end, by the version of their beginning. gone has
	// those in which they were deleted after it.
	scheduled    []dated
	undone, gone map[uint64]uint64
	// ordered is when a run of ours last began.
	ordered dated
	// started has, by source, the version in which a Pod last started. had is the data of that Pod,
	// and begun the version in which its run began.
	started, begun map[simapi.Source]uint64
	had            map[simapi.Source]string
	spared         []span
	// wiped is when another client last removed the ledger, and dropped when a run of ours was last
	// deleted.
	wiped, dropped uint64
	// unnoted is the reconciliation that decided on a run which the ledger does not record yet. The
	// ledger gets what that run was decided with.
	unnoted *look
	// unwanted has, by source, the version with which a run of ours was decided on that a user has
	// deleted since a Pod last started.
	unwanted map[simapi.Source]uint64
	// meanwhile has, by source, the data that came back while a Pod started with other data.
	meanwhile map[simapi.Source]dataSince
}

// dataSince is the data of a source, and the version in which a Pod last started.
type dataSince struct {
	started uint64
	data    string
}

// ownRun is a run of ours: the reconciliation that decided on it, and what its CronJob covered and
// had recorded at that time.
type ownRun struct {
	look           *look
	covered, wrote map[simapi.Source]uint64
	unreadable     map[simapi.Source]bool
	noted          time.Time
}

// cronJobs are the CronJobs at the beginning.
func cronJobs() []drawnWorkload {
	names := annotations.DefaultNames()
	return []drawnWorkload{
		{"cronjobs", "report", []int{0, 2}, map[string]string{names.Auto: "true"}},
		{"cronjobs", "backup", []int{0, 1, 3}, map[string]string{names.ConfigMap: "settings, routes", names.Secret: "cert"}},
	}
}

func (u *users) cronJob() drawnWorkload { return cronJobs()[u.h.rand.IntN(len(cronJobs()))] }

// cronJobSteps are the actions of users with CronJobs.
func (u *users) cronJobSteps() []step {
	return append(u.sourceSteps(), []step{
		{"let a while go by", 12, func() bool { u.h.elapse(time.Duration(1+u.h.rand.IntN(40)) * time.Second); return true }},
		{"suspend a CronJob or not", 10, func() bool { return u.suspendCronJob(u.cronJob()) }},
		{"forbid it to run beside itself or not", 4, func() bool { return u.forbid(u.cronJob()) }},
		{"end a run", 10, func() bool { return u.endRun() }},
		{"delete a run", 4, func() bool { return u.deleteRun() }},
		{"delete a CronJob", 2, func() bool { w := u.cronJob(); return u.h.server.Delete(w.resource, inShop(w.name)) == nil }},
		{"create a CronJob again", 8, func() bool { return u.createCronJobAgain() }},
		{"opt out or in", 4, func() bool { return u.opt(u.cronJob()) }},
		{"label a CronJob", 4, func() bool { return u.labelJob(u.cronJob()) }},
		{"take the ledger away", 3, func() bool { return u.wipe(u.cronJob()) }},
	}...)
}

func (u *users) createCronJobAgain() bool { return u.createMissing(cronJobs(), u.createCronJob) }

func (u *users) createCronJob(w drawnWorkload) bool {
	template := u.runTemplate(w)
	policy := []batchv1.ConcurrencyPolicy{batchv1.AllowConcurrent, batchv1.ForbidConcurrent}[u.h.rand.IntN(2)]
	_, err := u.h.server.Create(&batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: w.name, Annotations: maps.Clone(w.annotations)},
		Spec: batchv1.CronJobSpec{
			Schedule: "* * * * *", ConcurrencyPolicy: policy, JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: template}},
		},
	}, u.manager())
	return err == nil
}

func (u *users) suspendCronJob(w drawnWorkload) bool {
	return u.edit(w, func(obj simapi.Object) {
		c := obj.(*batchv1.CronJob)
		c.Spec.Suspend = new(!*c.Spec.Suspend)
	})
}

func (u *users) forbid(w drawnWorkload) bool {
	return u.edit(w, func(obj simapi.Object) {
		c := obj.(*batchv1.CronJob)
		if c.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent {
			c.Spec.ConcurrencyPolicy = batchv1.AllowConcurrent
			return
		}
		c.Spec.ConcurrencyPolicy = batchv1.ForbidConcurrent
	})
}

// endRun completes a Pod of a run.
func (u *users) endRun() bool {
	for _, obj := range u.h.server.List("pods") {
		if u.h.pods.Finish(obj.(*corev1.Pod)) {
			return true
		}
	}
	return false
}

func (u *users) deleteRun() bool {
	jobs := u.h.jobs()
	if len(jobs) == 0 {
		return false
	}
	job := jobs[u.h.rand.IntN(len(jobs))]
	if c := u.h.oracle.crons[ownerOf(job)]; c != nil {
		c.spare(u.h.server.Version()+1, u.h.server.Version()+1)
	}
	return u.h.server.Delete("jobs", inShop(job.Name)) == nil
}

// ownerOf returns the uid of the owner of an object.
func ownerOf(obj simapi.Object) types.UID {
	if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
		return owner.UID
	}
	return ""
}

// cronJob receives every write of a CronJob.
func (o *oracle) cronJob(e simapi.Event) {
	obj := e.Object.(*batchv1.CronJob)
	o.h.say("%s: %s CronJob %s at %d, suspended %t, %s, %d active", e.Manager, e.Type, obj.Name, e.Version, *obj.Spec.Suspend, obj.Spec.ConcurrencyPolicy, len(obj.Status.Active))
	if e.Type == watch.Deleted {
		delete(o.crons, obj.UID)
		return
	}
	c := o.crons[obj.UID]
	if c == nil {
		c = newCronTruth(obj, e.Version)
		o.crons[obj.UID] = c
	}
	old, before := e.Old.(*batchv1.CronJob)
	c.suspended(before && *old.Spec.Suspend, *obj.Spec.Suspend, e.Version)
	if e.Manager != workload.FieldManager && e.Manager != "kube-controller-manager" {
		c.written = e.Version
	}
	switch {
	case e.Manager == workload.FieldManager && changesLedger(e):
		o.noteRunShown(c)
		noted := c.noted
		o.ours(c.workloadTruth, e, false)
		if c.unnoted != nil {
			c.noted = noted
			o.noteDates(c.workloadTruth, c.unnoted)
			c.unnoted = nil
		}
	case changesLedger(e):
		c.tampered++
		c.wiped = e.Version
		clear(c.adopted)
		c.forget(sources()...)
	}
	o.cover(c.workloadTruth, obj, turn{e.Version, byWorkload}, e.Version)
}

// noteRunShown records for which sources the latest run is younger than the time that the API
// shows, which may be that of a label.
func (o *oracle) noteRunShown(c *cronTruth) {
	l := o.h.landing.look
	last := c.latestScheduled(l.at)
	if c.ordered.version > last.version && c.ordered.version <= l.at {
		last = c.ordered
	}
	for src := range c.covered {
		if date := o.sources[src].dateAt(l.known[src]); date.After(c.noted) && last.date.After(date.Add(startLag)) {
			c.labeled[src] = l.known[src]
		}
	}
}

// notedFor is the newest time of data that the ledger shows with which the data was compared for a run.
// That of a reload that waits may show a later one than the last ledger with data.
func (o *oracle) notedFor(c *cronTruth, run *batchv1.Job) time.Time {
	obj, err := o.h.server.Get("cronjobs", inShop(run.OwnerReferences[0].Name))
	if err != nil {
		return c.noted
	}
	if at := time.Unix(ledgerOn(obj).DataTime, 0); at.After(c.noted) {
		return at
	}
	return c.noted
}

// cronRun receives every write of a run.
func (o *oracle) cronRun(e simapi.Event) {
	job := e.Object.(*batchv1.Job)
	o.h.say("%s: %s run %s at %d, suspended %t, held %t, ended %t", e.Manager, e.Type, job.Name, e.Version, *job.Spec.Suspend, isHeld(job), simapi.Over(job))
	c := o.crons[ownerOf(job)]
	if c == nil {
		return
	}
	_, own := job.Labels[workload.RunLabel]
	if e.Type == watch.Deleted {
		if simapi.Over(job) {
			c.gone[o.began[job.UID]] = e.Version
		} else {
			c.undone[o.began[job.UID]] = e.Version
		}
		if own {
			if c.ordered.version == o.began[job.UID] {
				c.ordered = dated{}
			}
			c.dropped = e.Version
			maps.Copy(c.unwanted, o.own[job.UID].look.known)
		}
		return
	}
	old, before := e.Old.(*batchv1.Job)
	switch {
	case !before && own:
		c.unnoted = o.h.landing.look
		o.own[job.UID] = ownRun{o.h.landing.look, maps.Clone(c.covered), maps.Clone(c.wrote), maps.Clone(c.unreadable), o.notedFor(c, job)}
	case !before:
		c.scheduled = append(c.scheduled, dated{version: e.Version, date: o.h.server.Now()})
		o.began[job.UID] = e.Version
	case own && *old.Spec.Suspend && !*job.Spec.Suspend:
		o.began[job.UID] = e.Version
		c.ordered = dated{version: e.Version, date: o.h.server.Now()}
		o.judgeOwnRun(c, job, e.Version)
	}
}

// podOfRun records the data that a Pod has started with.
func (o *oracle) podOfRun(pod *corev1.Pod, version uint64) {
	content, started := o.h.pods.Content(pod)
	job, err := o.h.server.Get("jobs", inShop(pod.OwnerReferences[0].Name))
	if !started || err != nil {
		return
	}
	if c := o.crons[ownerOf(job)]; c != nil && !o.podsBegun[pod.UID] {
		o.podsBegun[pod.UID] = true
		for src, had := range content {
			c.started[src], c.had[src], c.begun[src] = version, had, o.began[job.GetUID()]
			delete(c.unwanted, src)
			delete(o.pardoned[c.uid], src) // it was for earlier Pods
		}
	}
}

// cronJobsAtRest judges the state after all runs have ended.
func (o *oracle) cronJobsAtRest() {
	for _, job := range o.h.jobs() {
		if slices.ContainsFunc(o.h.jobs(), func(other *batchv1.Job) bool {
			return other.UID != job.UID && ownerOf(other) == ownerOf(job) && !isHeld(other) && !simapi.Over(other)
		}) {
			o.excused(runWaits)
			continue
		}
		if owner, err := o.h.server.Get("cronjobs", inShop(job.OwnerReferences[0].Name)); err == nil && isHeld(job) && !*owner.(*batchv1.CronJob).Spec.Suspend && len(o.crons[owner.GetUID()].covered) > 0 {
			o.fail("at rest, run %s is held, and nobody was told of it", job.Name)
		}
	}
	for _, obj := range o.h.server.List("cronjobs") {
		c := o.crons[obj.GetUID()]
		waits := false
		for src, needed := range simapi.Needs(obj) {
			waits = waits || needed && !o.sources[src].exists
		}
		if waits {
			o.excused(podWaits)
			continue
		}
		for src := range simapi.InOrder(c.covered) {
			o.judgeCronJob(c, src)
			if s := o.sources[src]; c.adopted[src] == 0 && s.exists && c.tampered < 2 {
				c.adopted[src] = o.h.server.Version() + 1
			}
		}
	}
	o.since, o.steps, o.keyless = o.h.server.Version(), 0, false
}

func (o *oracle) judgeCronJob(c *cronTruth, src simapi.Source) {
	s := o.sources[src]
	if len(s.changes) == 0 || !s.exists {
		return
	}
	last := s.changes[len(s.changes)-1]
	away, back := s.away()
	judged := dataSince{c.started[src], s.content}
	switch {
	case c.started[src] > last.version, c.had[src] == s.content:
	case c.owesNothing(s, c.started[src]):
		o.excused(owedNothing)
	case c.deletedFor(src, s):
		o.excused(runDeleted)
	case away > 0 && away < c.begun[src] && c.undone[c.begun[src]] > 0 && c.undone[c.begun[src]] < back:
		o.excused(backMeanwhile) // a user deleted the only run that used the other data
	case c.meanwhile[src] == judged, away > 0 && c.begun[src] < away && away < c.started[src] && c.started[src] < back:
		c.meanwhile[src] = judged // the ledger has this data, also if it goes and comes back again
		o.excused(backMeanwhile)
	case c.started[src] == 0 && last.deleted > 0 && (c.adopted[src] == 0 || c.adopted[src] > last.version):
		o.excused(neverRan)
	case o.undetectable(c.workloadTruth, src, c.uid), o.askedLater(c.workloadTruth, src):
	default:
		o.fail("at rest, no run of %s has begun since the change of %s at %d, but at %d", c.name, src, last.version, c.started[src])
	}
}
