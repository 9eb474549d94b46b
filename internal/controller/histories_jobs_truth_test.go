package controller

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// What the oracle knows of Jobs.
//
// Words: a Job of a user is wanted from when the user makes it until the user deletes it. A run is one Job object of that name, and
// begins when its pods may be made: with it, or when it is resumed and no pod of it is left. A copy is what the controller keeps of
// a Job that it makes again.
//
//  1. No change is lost. At rest, every pod of a run that is not suspended has the present content of every source that it covers,
//     also if it has ended.
//  2. Nothing runs again without a change: the controller deletes a run only if a source that it covers was changed since it began.
//     Only across a gap, when no order was seen, the run may also have begun no more than startLag after the time that the API
//     shows for the content.
//  3. No Job is lost. At every moment there is a Job of the name of one that is wanted, or a copy of it; and none that its user has
//     deleted comes back, unless it was about to be deleted by the controller, too.
//  4. At rest there are neither copies nor Jobs that are held, but for those that users were told of.

// jobTruth is what is known of all Jobs of a name.
type jobTruth struct {
	wanted bool
	// mayReturn reports whether its user has deleted it when nobody could tell any more who did.
	mayReturn bool
}

// runTruth is what is known of one of them.
type runTruth struct {
	*workloadTruth
	// begun is the version in which it began, 0 if it has not, and began is when.
	begun uint64
	began time.Time
	// before is when it had begun before it was suspended, and unclear tells that its status still counted pods when it was resumed.
	before  uint64
	unclear bool
}

// copyOf is the name of the Job of which one is a copy; empty if it is none.
func copyOf(job *batchv1.Job) string {
	var of struct{ Name string }
	_ = json.Unmarshal([]byte(job.Annotations["reroll.dev/replaces"]), &of)
	return of.Name
}

func isHeld(job *batchv1.Job) bool {
	_, held := job.Annotations["reroll.dev/held"]
	return held
}

// copies are those that there are of a Job.
func (o *oracle) copies(name string) []*batchv1.Job {
	var found []*batchv1.Job
	for _, job := range o.h.jobs() {
		if copyOf(job) == name {
			found = append(found, job)
		}
	}
	return found
}

// deletesJob is told before a user deletes a Job.
func (o *oracle) deletesJob(name string) {
	j := o.jobs[name]
	if j == nil {
		return
	}
	j.wanted = false
	for _, c := range o.copies(name) {
		_, noted := c.Annotations["reroll.dev/deletes"]
		j.mayReturn = j.mayReturn || noted || len(o.h.late)+len(o.h.looks) > 0
	}
}

// job takes every write of a Job.
func (o *oracle) job(e simapi.Event) {
	job := e.Object.(*batchv1.Job)
	o.h.say("%s: %s Job %s at %d, suspended %t, held %t, copy of %q, deleting %t, active %d", e.Manager, e.Type, job.Name, e.Version, *job.Spec.Suspend, isHeld(job), copyOf(job), job.DeletionTimestamp != nil, job.Status.Active)
	switch {
	case copyOf(job) != "":
	case e.Type == watch.Deleted:
		delete(o.runs, job.UID)
	default:
		o.run(job, e)
	}
	for name, j := range o.jobs {
		if _, err := o.h.server.Get("jobs", inShop(name)); j.wanted && err != nil && len(o.copies(name)) == 0 {
			o.fail("at %d, Job %s is lost: there is neither it nor a copy of it", e.Version, name)
		}
	}
}

// run takes a write of a Job that is no copy.
func (o *oracle) run(job *batchv1.Job, e simapi.Event) {
	r := o.runs[job.UID]
	ours := e.Manager == workload.FieldManager
	if r == nil {
		r = &runTruth{workloadTruth: newTruth(job, e.Version)}
		o.runs[job.UID] = r
		if o.jobs[job.Name] == nil {
			o.jobs[job.Name] = &jobTruth{}
		}
		if ours {
			o.h.count("reloads")
		} else {
			*o.jobs[job.Name] = jobTruth{wanted: true}
		}
		if !*job.Spec.Suspend {
			r.begins(o.h, e)
		}
	}
	if !ours && e.Manager != "kube-controller-manager" {
		r.written = e.Version
	}
	if old, ok := e.Old.(*batchv1.Job); ok {
		switch {
		case o.h.landing != nil && old.DeletionTimestamp == nil && job.DeletionTimestamp != nil:
			o.judgeDeletion(r, old, e.Version)
		case ours && changesLedger(e):
			o.ours(r.workloadTruth, e, false)
		case changesLedger(e):
			r.tampered++
			clear(r.adopted)
			r.forget(sources()...)
		}
		if *old.Spec.Suspend && !*job.Spec.Suspend && len(o.h.pods.Of(job)) == 0 {
			r.before, r.unclear = r.begun, hasPods(old)
			r.begins(o.h, e)
		}
	}
	o.cover(r.workloadTruth, job, turn{e.Version, byWorkload}, e.Version)
	if e.Type == watch.Added && ours {
		for src := range r.covered {
			r.adopted[src] = e.Version // it has its ledger from the beginning
		}
	}
}

func (r *runTruth) begins(h *history, e simapi.Event) {
	r.begun, r.began = e.Version, h.server.Now()
	h.say("%s begins at %d", r.name, e.Version)
}

// hasPods reports whether a Job has pods by its status, which may be behind.
func hasPods(job *batchv1.Job) bool {
	return job.Status.Active > 0 || job.Status.Terminating != nil && *job.Status.Terminating > 0
}

// judgeDeletion holds when the controller deletes a Job, to make it again.
func (o *oracle) judgeDeletion(r *runTruth, job *batchv1.Job, version uint64) {
	switch {
	case *job.Spec.Suspend:
		o.fail("Job %s is deleted at %d, and it is suspended", r.name, version)
	case len(o.copies(r.name)) == 0:
		o.fail("Job %s is deleted at %d, and there is no copy of it", r.name, version)
	case !o.mayRunAgain(r):
		o.fail("Job %s is deleted at %d without a change since it began at %d", r.name, version, r.begun)
	}
}

func (o *oracle) mayRunAgain(r *runTruth) bool {
	latest := map[simapi.Source]change{}
	for src, since := range r.covered {
		if all := o.sources[src].changes; len(all) > 0 {
			latest[src] = all[len(all)-1]
		}
		if c := latest[src]; c.version > r.begun && c.version > since {
			return true
		}
	}
	for src, c := range latest {
		shown := o.sources[src].dateAt(never)
		late := c.date.IsZero() || !r.began.After(shown.Add(startLag+clockSkew))
		switch {
		case c.version > r.begun && (o.lastGap >= r.first[src] || r.forgotten[src]):
			return o.excused(changedInLapse)
		case o.sources[src].made > r.begun:
			return o.excused(madeSince)
		case r.unclear && c.version > r.before:
			return o.excused(statusBehind)
		case o.lastGap >= min(r.begun, c.version) && shown.Before(c.date):
			return o.excused(showsNoTime)
		case o.lastGap >= min(r.begun, c.version) && late:
			return o.excused(podsOlder)
		}
	}
	return false
}

// jobsAtRest judges what there is when everything has come to its end.
func (o *oracle) jobsAtRest() {
	for _, job := range o.h.jobs() {
		if copyOf(job) != "" || isHeld(job) && (*job.Spec.Suspend || o.keyLostAt == 0) { // a user may have resumed one that nothing lets go
			o.fail("at rest, Job %s is left (a copy of %q), and nobody was told of it", job.Name, copyOf(job))
			continue
		}
		o.judgeRun(o.runs[job.UID], job)
	}
	o.since, o.steps, o.keyless = o.h.server.Version(), 0, false
}

// askedLater is true for what is without a ledger that was written after the last change, if nobody watched both: since when it asks, the
// API shows by the time of whoever owns its annotations, who may have written something else,
// or may have written it to a server with another clock. Or the source has lost the time of the change.
func (o *oracle) askedLater(r *workloadTruth, src simapi.Source) bool {
	all := o.sources[src].changes
	last := all[len(all)-1].version
	forgotten := o.sources[src].dateAt(never).Before(all[len(all)-1].date)
	if r.adopted[src] == 0 && (last < r.written || o.h.skewed || forgotten) && last <= o.lastGap {
		r.overwritten[src] = last
	}
	return r.overwritten[src] == last && o.excused(askedLater)
}

func (o *oracle) judgeRun(r *runTruth, job *batchv1.Job) {
	if j := o.jobs[job.Name]; !j.wanted && j.mayReturn {
		*j = jobTruth{wanted: true}
		o.excused(deletedByBoth)
	} else if !j.wanted {
		o.fail("Job %s was deleted by its user, and is there again", job.Name)
	}
	if *job.Spec.Suspend {
		return
	}
	for src, needed := range simapi.Needs(job) {
		if needed && !o.sources[src].exists {
			o.excused(podWaits)
			return
		}
	}
	for src := range r.covered {
		s := o.sources[src]
		for _, pod := range o.h.pods.Of(job) {
			content, started := o.h.pods.Content(pod)
			had, refers := content[src]
			switch {
			case !started:
				o.fail("at rest, pod %s has not started", pod.Name)
			case !refers || !s.exists || had == s.content || o.undetectable(r.workloadTruth, src, pod.UID) || o.askedLater(r.workloadTruth, src):
			default:
				o.fail("at rest, pod %s of Job %s, which has begun at %d, has %s of %s, which is %s now", pod.Name, r.name, r.begun, had, src, s.content)
			}
		}
		if r.adopted[src] == 0 && s.exists && r.tampered < 2 {
			r.adopted[src] = o.h.server.Version() + 1
		}
	}
}

// truths are those of all workloads.
func (o *oracle) truths() []*workloadTruth {
	all := slices.Collect(maps.Values(o.workloads))
	for _, r := range o.runs {
		all = append(all, r.workloadTruth)
	}
	return all
}
