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

// The knowledge of the oracle about Jobs.
//
// Terms: a Job of a user is wanted from its creation by the user until its deletion by the user. A
// run is one Job object of that name. It begins when its Pods may be created: with the Job, or when
// the Job is resumed without Pods. A copy is the record of a Job that the controller recreates.
//
//  1. No change is lost. At rest, every Pod of a run that is not suspended has the current data of
//     every source that it covers, even if it has ended.
//  2. Nothing runs again without a change: the controller deletes a run only if a source that it
//     covers has changed since it began. Only across a gap, the run may also have begun no more
//     than startLag after the time that the API shows for the data.
//  3. No Job is lost. At every moment, a wanted Job or a copy of it exists. No Job that its user
//     has deleted returns, unless the controller was about to delete it, too.
//  4. At rest, no copy and no suspended Job of ours exists, except for those that were reported to
//     users.

// jobTruth is the knowledge about all Jobs of a name.
type jobTruth struct {
	wanted bool
	// mayReturn reports whether its user deleted it when nothing could show any more which client
	// did.
	mayReturn bool
	// copied is the data in the ledger of its latest copy.
	copied recordedData
}

// recordedData has the versions of the sources that a controller had been shown when it made a
// ledger, and their newest time.
type recordedData struct {
	versions map[simapi.Source]uint64
	date     time.Time
	// kept are the sources that only the ledger of the earlier Job has, because they are missing.
	kept map[simapi.Source]uint64
}

// has reports whether the ledger has an entry for a source.
func (d recordedData) has(src simapi.Source) bool {
	return d.versions[src] > 0 || d.kept[src] > 0
}

// runTruth is the knowledge about one of these Jobs.
type runTruth struct {
	*workloadTruth
	// begun is the version in which it began, or 0, and began is the time.
	begun uint64
	began time.Time
	// before is when it had begun before it was suspended. unclear reports whether its status still
	// counted Pods when it was resumed.
	before  uint64
	unclear bool
	// late reports whether the controller created it after its user had deleted the Job.
	late bool
	// recorded is the data in its ledger.
	recorded recordedData
}

// copyOf is the name of the Job of a copy, or empty.
func copyOf(job *batchv1.Job) string {
	var of struct{ Name string }
	_ = json.Unmarshal([]byte(job.Annotations["reroll.dev/replaces"]), &of)
	return of.Name
}

// copies returns the existing copies of a Job.
func (o *oracle) copies(name string) []*batchv1.Job {
	var found []*batchv1.Job
	for _, job := range o.h.jobs() {
		if copyOf(job) == name {
			found = append(found, job)
		}
	}
	return found
}

// deletesJob is called before a user deletes a Job.
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

// job receives every write of a Job.
func (o *oracle) job(e simapi.Event) {
	job := e.Object.(*batchv1.Job)
	o.h.say("%s: %s Job %s at %d, suspended %t, held %t, copy of %q, deleting %t, active %d", e.Manager, e.Type, job.Name, e.Version, *job.Spec.Suspend, isHeld(job), copyOf(job), job.DeletionTimestamp != nil, job.Status.Active)
	switch {
	case copyOf(job) != "" && e.Type == watch.Added:
		o.copied(copyOf(job))
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

// copied receives the creation of a copy. The new Job gets the ledger of the copy, although a
// source may change before the Job begins.
func (o *oracle) copied(name string) {
	j, l := o.jobs[name], o.h.landing.look
	if j == nil {
		return
	}
	j.copied = recordedData{versions: maps.Clone(l.known)}
	job, err := o.h.server.Get("jobs", inShop(name))
	if err != nil || o.runs[job.GetUID()] == nil {
		return
	}
	j.copied.kept = maps.Clone(o.runs[job.GetUID()].adopted)
	for src := range o.runs[job.GetUID()].covered {
		if date := o.sources[src].dateAt(l.known[src]); date.After(j.copied.date) {
			j.copied.date = date
		}
	}
}

// run receives a write of a Job that is not a copy.
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
			r.recorded, r.late = o.jobs[job.Name].copied, !o.jobs[job.Name].wanted
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
			o.noteJobShown(r, old)
			o.ours(r.workloadTruth, e, false)
			if !isHeld(job) && !r.waits { // else only the UID of the ledger changed
				r.recorded = recordedData{versions: maps.Clone(r.wrote), date: r.noted}
			}
		case changesLedger(e):
			r.tampered++
			clear(r.adopted)
			r.forget(sources()...)
		}
		if *old.Spec.Suspend && !*job.Spec.Suspend && len(o.h.pods.Of(job)) == 0 {
			if !r.unclear || !hasPods(old) {
				r.before, r.unclear = r.begun, hasPods(old)
			}
			r.begins(o.h, e)
		}
	}
	o.cover(r.workloadTruth, job, turn{e.Version, byWorkload}, e.Version)
	if e.Type == watch.Added && ours {
		for src := range r.covered {
			if r.recorded.has(src) {
				r.adopted[src] = e.Version // it has a ledger from the beginning
			}
		}
	}
}

// noteJobShown records for which sources the run is younger than the time that the API shows, which
// may be that of a label. A Job that was resumed before its Pods were gone shows a later start, with
// which it got new ones. A server with a faster clock shows a later creation.
func (o *oracle) noteJobShown(r *runTruth, job *batchv1.Job) {
	l, began := o.h.landing.look, r.began
	if at := job.Status.StartTime; at != nil && at.After(began) && !seemsResumed(job) {
		began = at.Time
	}
	if r.begun > 0 && r.made.After(began) {
		began = r.made
	}
	for src := range r.covered {
		if date := o.sources[src].dateAt(l.known[src]); date.After(r.recorded.date) && began.After(date.Add(startLag)) {
			r.labeled[src] = l.known[src]
		}
	}
}

func (r *runTruth) begins(h *history, e simapi.Event) {
	r.begun, r.began = e.Version, h.server.Now()
	h.say("%s begins at %d", r.name, e.Version)
}

// hasPods reports whether a Job has Pods by its status, which may be stale.
func hasPods(job *batchv1.Job) bool {
	return job.Status.Active > 0 || job.Status.Terminating != nil && *job.Status.Terminating > 0
}

// judgeDeletion judges the deletion of a Job by the controller, which recreates it.
func (o *oracle) judgeDeletion(r *runTruth, job *batchv1.Job, version uint64) {
	switch {
	case *job.Spec.Suspend:
		o.fail("Job %s is deleted at %d, and it is suspended", r.name, version)
	case len(o.copies(r.name)) == 0:
		o.fail("Job %s is deleted at %d, and there is no copy of it", r.name, version)
	case !o.mayRunAgain(r, job):
		o.fail("Job %s is deleted at %d without a change since it began at %d, of those that it covers, %v", r.name, version, r.begun, r.covered)
	}
}

func (o *oracle) mayRunAgain(r *runTruth, job *batchv1.Job) bool {
	latest := map[simapi.Source]change{}
	for src, since := range simapi.InOrder(r.covered) {
		if all := o.sources[src].changes; len(all) > 0 {
			latest[src] = all[len(all)-1]
		}
		if c := latest[src]; c.version > r.begun && c.version > since {
			return true
		}
	}
	began := r.began
	if seemsResumed(job) {
		began = r.made
	}
	for src := range simapi.InOrder(r.covered) {
		shown := o.sources[src].datedAt(never)
		switch {
		case r.unreadable[src] && o.sources[src].made > o.keyLostAt:
			return o.excused(unreadable) // it may have had other data before it was deleted
		case len(o.sources[src].comings) > 1 && o.sources[src].made > r.begun && o.sources[src].made <= o.lastGap:
			return o.excused(cameBackUnseen) // it may have had other data between its deletion and this creation
		case shown.misleads && (!r.recorded.has(src) || r.forgotten[src]) && !shown.date.Before(o.installedIn) && !began.After(shown.date.Add(startLag+clockSkew)):
			return o.excused(seemsEdited)
		}
	}
	for src, c := range simapi.InOrder(latest) {
		shown := o.sources[src].dateAt(never)
		late := c.date.IsZero() || !began.After(shown.Add(startLag+clockSkew))
		ended, lapsed := r.ended[src]
		unrecorded := c.version > r.recorded.versions[src] && !shown.After(r.recorded.date)
		switch {
		case c.version > r.begun && (o.lastGap >= r.first[src] || r.forgotten[src] || lapsed && r.dropped[src] < ended.version):
			return o.excused(changedInLapse)
		case o.sources[src].made > r.begun:
			return o.excused(madeSince)
		case r.unclear && c.version > r.before:
			return o.excused(statusBehind)
		case o.lastGap >= min(r.begun, c.version) && (shown.Before(c.date) || unrecorded):
			return o.excused(showsNoTime)
		case o.lastGap >= min(r.begun, c.version) && late:
			return o.excused(podsOlder)
		}
	}
	return false
}

// seemsResumed reports whether Pods of a Job may have succeeded before it was suspended and
// resumed. Then the API does not show when it first began.
func seemsResumed(job *batchv1.Job) bool {
	return job.Status.Succeeded > 0 && slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool { return c.Type == batchv1.JobSuspended })
}

// jobsAtRest judges the state after all runs have ended.
func (o *oracle) jobsAtRest() {
	for _, job := range o.h.jobs() {
		// A user has resumed it, since the controller leaves it suspended.
		resumed := isHeld(job) && !*job.Spec.Suspend && (o.keyLostAt > 0 || o.runs[job.UID].late)
		if resumed {
			o.excused(leftToUsers)
		}
		if copyOf(job) != "" || isHeld(job) && !resumed {
			o.fail("at rest, Job %s is left (a copy of %q), and nobody was told of it", job.Name, copyOf(job))
			continue
		}
		o.judgeRun(o.runs[job.UID], job)
	}
	o.since, o.steps, o.keyless = o.h.server.Version(), 0, false
}

// askedLater reports whether a Job without a ledger was written after the last change while no
// controller watched. The API shows the beginning of its cover by the time of the manager of its
// annotations. That manager may have written something else, or to a server with another clock. Or
// the source has lost the time of the change.
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
	for src := range simapi.InOrder(r.covered) {
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
