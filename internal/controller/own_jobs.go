package controller

import (
	"maps"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

// ownJobs contains the Jobs that claim to be created by Reroll. They are created and deleted
// independently of their workload, so they are not in its record. No method calls other code while
// it holds the lock.
type ownJobs struct {
	mu sync.Mutex
	// runs are the Jobs created from CronJobs, by CronJob and by name.
	runs map[workload.Key]map[string]kinds.OwnRun
	// departed is, by namespace, the newest version in which the watch has shown that one of them was
	// deleted. For a snapshot of all namespaces, the namespace is empty.
	departed map[string]uint64
	// recreated are the Jobs that are being recreated.
	recreated map[workload.Key]*recreation
	// stuck are Jobs that wait for an action of their user.
	stuck map[workload.Key]stuckJob
}

// recreation is a Job that is being recreated.
type recreation struct {
	// copies are the names of its copies, mostly one.
	copies map[string]struct{}
	// changes are the sources whose changes caused it, none before the copy was read. Only the
	// worker that has the Job uses them.
	changes []reload.Concern
	since   time.Time
}

// stuckJob is a Job that waits for an action of its user. Nothing is written to the Job, because a
// ledger would unsuspend it.
type stuckJob struct {
	w workload.Workload
	// unreadable is why a copy cannot be read or is not ours; nil for a Job that stays suspended.
	unreadable error
	reported   bool
}

func newOwnJobs() *ownJobs {
	return &ownJobs{
		runs: map[workload.Key]map[string]kinds.OwnRun{}, recreated: map[workload.Key]*recreation{}, stuck: map[workload.Key]stuckJob{}, departed: map[string]uint64{},
	}
}

// recreate records that a Job is being recreated, with these copies.
func (o *ownJobs) recreate(key workload.Key, now time.Time, copies ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := o.recreated[key]
	if r == nil {
		r = &recreation{copies: map[string]struct{}{}, since: now}
		o.recreated[key] = r
	}
	for _, name := range copies {
		r.copies[name] = struct{}{}
	}
}

// recreating returns the recreation of a Job; nil if there is none.
func (o *ownJobs) recreating(key workload.Key) *recreation {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.recreated[key]
}

// done records that a Job has been recreated.
func (o *ownJobs) done(key workload.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.recreated, key)
}

// copies returns the names of the copies of a Job.
func (o *ownJobs) copies(r *recreation) []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Sorted(maps.Keys(r.copies))
}

func (o *ownJobs) dropCopy(r *recreation, name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(r.copies, name)
}

// allRecreated returns the Jobs that are being recreated.
func (o *ownJobs) allRecreated() []workload.Key {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Keys(o.recreated))
}

// dropCopies forgets deleted copies, and returns the Jobs without any copy left.
func (o *ownJobs) dropCopies(gone func(namespace, name string) bool) []workload.Key {
	o.mu.Lock()
	defer o.mu.Unlock()
	var without []workload.Key
	for key, r := range o.recreated {
		maps.DeleteFunc(r.copies, func(name string, _ struct{}) bool { return gone(key.Namespace, name) })
		if len(r.copies) == 0 {
			without = append(without, key)
		}
	}
	return without
}

// unreadable records a copy that cannot be read or is not signed, and reports whether that is new.
func (o *ownJobs) unreadable(job *batchv1.Job, why error) bool {
	key := jobKey(job.Namespace, job.Name)
	o.mu.Lock()
	defer o.mu.Unlock()
	if known := o.stuck[key]; known.w.UID == job.UID && known.unreadable != nil {
		return false
	}
	o.stuck[key] = stuckJob{w: jobAsWorkload(key, job), unreadable: why}
	return true
}

// staysHeld records a Job that stays suspended, and reports whether that is new.
func (o *ownJobs) staysHeld(job *batchv1.Job) bool {
	key := jobKey(job.Namespace, job.Name)
	o.mu.Lock()
	defer o.mu.Unlock()
	known := o.stuck[key].w.UID == job.UID
	o.stuck[key] = stuckJob{w: jobAsWorkload(key, job), reported: true}
	return !known
}

func (o *ownJobs) stuckJob(key workload.Key) (stuckJob, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	job, ok := o.stuck[key]
	return job, ok
}

// reported records that the user of a stuck Job was notified.
func (o *ownJobs) reported(key workload.Key) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if job, ok := o.stuck[key]; ok {
		job.reported = true
		o.stuck[key] = job
	}
}

// notStuck forgets a Job, and reports whether it was stuck.
func (o *ownJobs) notStuck(key workload.Key) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, was := o.stuck[key]
	delete(o.stuck, key)
	return was
}

func (o *ownJobs) dropStuck(gone func(workload.Key) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.stuck, func(key workload.Key, _ stuckJob) bool { return gone(key) })
}

// putRun stores a run, and returns the newest known version: the response to a write of ours may be
// newer than the watch.
func (o *ownJobs) putRun(r kinds.OwnRun) kinds.OwnRun {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.putRunLocked(r)
}

func (o *ownJobs) putRunLocked(r kinds.OwnRun) kinds.OwnRun {
	if known, there := o.runs[r.Of][r.Name]; there && known.UID == r.UID {
		if known.After(&r) {
			return known
		}
		r.Since = max(r.Since, known.Since)
	}
	if o.runs[r.Of] == nil {
		o.runs[r.Of] = map[string]kinds.OwnRun{}
	}
	o.runs[r.Of][r.Name] = r
	return r
}

// putAnswer stores a run as the response to a write of ours shows it. The watch may have shown its
// deletion before, which it would not repeat, and then the workload would wait for its end for ever.
func (o *ownJobs) putAnswer(r kinds.OwnRun, version uint64) kinds.OwnRun {
	o.mu.Lock()
	defer o.mu.Unlock()
	gone := o.runs[r.Of][r.Name].UID != r.UID && 0 < version && version < max(o.departed[r.Of.Namespace], o.departed[""])
	if gone {
		return r
	}
	return o.putRunLocked(r)
}

// mayHaveBegun records that an attempt to unsuspend a run failed, and may have arrived nevertheless.
func (o *ownJobs) mayHaveBegun(r kinds.OwnRun) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known, there := o.runs[r.Of][r.Name]; there && known.UID == r.UID {
		known.Since = 0
		o.runs[r.Of][r.Name] = known
	}
}

func (o *ownJobs) run(of workload.Key, name string) kinds.OwnRun {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.runs[of][name]
}

// runsOf returns the Jobs that claim to be created for a workload.
func (o *ownJobs) runsOf(of workload.Key) []kinds.OwnRun {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Collect(maps.Values(o.runs[of]))
}

// dropRuns forgets runs that an event or a snapshot of a version shows to be deleted, and returns them.
// Namespace is where it shows that; empty for all namespaces.
func (o *ownJobs) dropRuns(namespace string, version uint64, gone func(*kinds.OwnRun) bool) []kinds.OwnRun {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.departed[namespace] = max(o.departed[namespace], version)
	var dropped []kinds.OwnRun
	for of, runs := range o.runs {
		maps.DeleteFunc(runs, func(_ string, r kinds.OwnRun) bool {
			if gone(&r) {
				dropped = append(dropped, r)
				return true
			}
			return false
		})
		if len(runs) == 0 {
			delete(o.runs, of)
		}
	}
	return dropped
}
