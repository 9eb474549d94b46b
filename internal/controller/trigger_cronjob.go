package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/state"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Reroll triggers a CronJob in three writes: it creates a suspended Job that carries the ledger,
// writes the ledger of the CronJob, and unsuspends the Job. After a crash between two of them, the
// Job shows which write is next. A suspended Job does not run, so it cannot end and be cleaned up
// before it was recorded.

// watchesRuns reports whether a kind is reloaded by creating Jobs, unless all Jobs are watched
// anyway.
func (c *Controller) watchesRuns() bool {
	if _, all := c.kinds[kinds.Jobs().Name]; all {
		return false
	}
	for _, k := range c.kinds {
		if _, ok := k.Adapter.(kinds.Runner); ok {
			return !c.opts.DryRun
		}
	}
	return false
}

// createRun creates the suspended Job of a reload and records it in the ledger of the decision.
func (c *Controller) createRun(ctx context.Context, kind kinds.Kind, runner kinds.Runner, facts *reload.Facts, d *reload.Decision) error {
	w := &facts.Workload
	obj, err := c.api.Get(ctx, kind, w.Key)
	if err != nil {
		return fmt.Errorf("read %s: %w", w.Key, err)
	}
	if m, ok := obj.(metav1.Object); !ok || m.GetUID() != w.UID || m.GetResourceVersion() != w.ResourceVersion {
		return apierrors.NewConflict(kind.Resource.GroupResource(), w.Key.Name, errors.New("the object was modified meanwhile"))
	}
	if err := c.runsBeside(ctx, w); err != nil {
		return err
	}
	m := d.Mark(w, facts.Seen, c.opts.SecretMarks, c.clock.Now())
	for ; ; d.Ledger.Counter++ {
		job, err := runner.Run(obj, w, d.Ledger, &m, c.opts.Names)
		if err != nil {
			return err
		}
		kinds.SignRun(job, c.installation.Key)
		made, err := c.createHeld(ctx, w.Key.Namespace, job)
		if apierrors.IsAlreadyExists(err) {
			if err := c.createdBefore(ctx, w, job, d.Ledger.Counter); err != nil {
				return err
			}
			continue // it is from before a ledger was lost
		}
		if err != nil {
			return fmt.Errorf("create Job %s: %w", job.Name, err)
		}
		if err := whole(job, made); err != nil {
			return err
		}
		d.Ledger.Run = c.putAnsweredRun(made, false).UID
		return nil
	}
}

// whole returns why Reroll could not find a created Job again, if the cluster removed metadata from
// it. The Job has not started, and nothing unsuspends it.
func whole(sent *batchv1.Job, made runtime.Object) error {
	kept, ok := made.(*batchv1.Job)
	if !ok {
		return fmt.Errorf("got a %T for Job %s", made, sent.Name)
	}
	lost := kinds.Lost(sent, kept)
	if len(lost) == 0 {
		return nil
	}
	return fmt.Errorf("cannot unsuspend Job %s, which Reroll created for it, because the Job lacks its %s: most likely an admission rule of the cluster removes that; "+
		"change the rule and delete the Job, and Reroll recreates it", kept.Name, strings.Join(lost, ", "))
}

// createdBefore returns retryAfter if a held Job has that name: it is this Job, whose response was
// lost, and its ledger has to be recorded. If it cannot be recorded, the user has to act.
func (c *Controller) createdBefore(ctx context.Context, w *workload.Workload, sent *batchv1.Job, counter int64) error {
	name := sent.Name
	job, err := c.jobNamed(ctx, w.Key.Namespace, name)
	if err != nil || job == nil {
		return err
	}
	if err := whole(sent, job); err != nil {
		return err // if it is not unsuspended, a second Job would not help
	}
	if !madeBy(job, w) {
		return nil
	}
	r, ok := kinds.ReadRun(job)
	if ok {
		r = c.jobs.putRun(r) // it exists
	}
	if !ok || !r.Held || !r.SignedBy(c.installation.Key).Signed {
		return nil // even if it is not signed: a Job that uses the name must not block the change
	}
	run := workload.OwnRun{Counter: r.Counter, LedgerText: r.LedgerText}
	if err := run.Notable(w, counter); err != nil {
		return fmt.Errorf("cannot unsuspend Job %s, which Reroll created for it: %w; delete that Job, and Reroll recreates it", name, err)
	}
	return retryAfter(0)
}

// runsBeside requests whether another Job of the workload still runs, beside which no other Job may
// run. The status of the workload shows that late, or not at all.
func (c *Controller) runsBeside(ctx context.Context, w *workload.Workload) error {
	if !w.Runs.Alone {
		return nil
	}
	jobs, err := c.jobsOf(ctx, w)
	if err != nil {
		return err
	}
	for _, job := range jobs {
		if own, _ := kinds.ReadRun(job); !own.Held && !kinds.Ended(job) {
			return retryAfter(rolloutMayTake) // no watch may report its end
		}
	}
	return nil
}

// withBegin decides again, if it matters, when it is known when the latest scheduled run began.
func (c *Controller) withBegin(ctx context.Context, facts *reload.Facts, d reload.Decision) (reload.Decision, error) {
	if !facts.NeedsBegin(d) {
		return d, nil
	}
	w := &facts.Workload
	jobs, err := c.jobsOf(ctx, w)
	if err != nil {
		return d, err
	}
	for _, job := range jobs { // including Jobs of ours whose signature cannot be verified, because the key was lost
		if begun, ok := kinds.Begun(job); ok && begun.After(w.Runs.Last) {
			w.Runs.Last = begun
		}
		if at := job.Status.StartTime; at != nil && at.After(w.Runs.Resumed) {
			w.Runs.Resumed = at.Time
		}
	}
	c.noteBegun(w, jobs, facts.Version)
	w.Runs.Listed = true
	return reload.Decide(*facts), nil
}

// unsuspendRuns unsuspends the held Jobs of a workload that may start now. Few workloads create
// Jobs, so facts about sources are collected for those alone.
func (c *Controller) unsuspendRuns(ctx context.Context, w *workload.Workload) error {
	if w.Runs == nil {
		return nil
	}
	key := w.Key
	for !c.opts.DryRun {
		facts, ok := c.state.Facts(key)
		if !ok || facts.Workload.Runs == nil {
			return nil
		}
		c.addRuns(&facts.Workload)
		run, ok := facts.RunToUnsuspend()
		if !ok {
			c.notifyLateRuns(&facts)
			c.notifyUnsignedRuns(&facts.Workload)
			return nil
		}
		if !c.leads() {
			return retryAfter(leadAgain)
		}
		if err := c.unsuspendRun(ctx, &facts.Workload, run); err != nil {
			return fmt.Errorf("unsuspend Job %s: %w", run.Name, err)
		}
	}
	return nil
}

// notifyLateRuns notifies of each Job that stays suspended because another Job was created instead,
// or because the workload was opted out.
func (c *Controller) notifyLateRuns(facts *reload.Facts) {
	of := facts.Workload.Key
	for _, run := range facts.Late() {
		if c.leads() {
			c.notifyOnce(of, notice.CameLate(runAsWorkload(of, run.Name, run.UID), of))
		}
	}
}

// notifyUnsignedRuns notifies of each Job that claims to be created for a workload but is not
// signed. A Job from before the latest reload is harmless, and after the digest key was lost there
// may be many of them.
func (c *Controller) notifyUnsignedRuns(w *workload.Workload) {
	known, _ := ledger.Parse(w.LedgerText) // without a ledger, any of the Jobs could be recorded in it
	for _, run := range c.runsOf(w.Key) {
		if run.Owner == w.UID && !run.Signed && (run.Held || run.Counter > known.Counter) && c.leads() {
			c.notifyOnce(w.Key, notice.UnsignedRun(runAsWorkload(w.Key, run.Name, run.UID)))
		}
	}
}

func runAsWorkload(of workload.Key, name string, uid types.UID) *workload.Workload {
	return &workload.Workload{Key: jobKey(of.Namespace, name), APIVersion: batchv1.SchemeGroupVersion.String(), UID: uid}
}

func (c *Controller) unsuspendRun(ctx context.Context, w *workload.Workload, run workload.OwnRun) error {
	own := c.jobs.run(w.Key, run.Name)
	patch, err := own.UnsuspendPatch()
	if err != nil {
		return err
	}
	job, err := c.api.Patch(ctx, kinds.Jobs(), jobKey(w.Key.Namespace, run.Name), patch)
	switch {
	case apierrors.IsNotFound(err):
		c.dropRun(types.NamespacedName{Namespace: w.Key.Namespace, Name: run.Name}, 0) // its user has deleted it
	case err != nil:
		c.jobs.mayHaveBegun(own)
		return err
	default:
		// Unless an earlier attempt may have unsuspended it, its Pods read all data written before this one.
		c.putAnsweredRun(job, own.Since != 0)
	}
	return nil
}

// runFeed watches the Jobs that Reroll created, including those of an earlier leader.
func (c *Controller) runFeed(namespace string) feed {
	watched := kubeapi.Watched{Resource: kinds.Jobs().Resource, Namespace: namespace, LabelSelector: workload.RunLabel, NewList: kinds.Jobs().NewList}
	return c.feed(watched, c.runHandler(namespace))
}

func (c *Controller) runHandler(namespace string) *handler {
	h := &handler{
		del: func(name types.NamespacedName, version string) { c.dropRun(name, state.VersionOf(version)) },
	}
	h.keep = func(named map[types.NamespacedName]struct{}) { c.keepRuns(namespace, named, h.version) }
	h.put = func(obj runtime.Object, _ bool) {
		if r, ok := readRun(obj); ok {
			if r = c.jobs.putRun(r); r.Held || r.Ended {
				c.queueOwner(r.Of)
			}
		}
	}
	return h
}

// putAnsweredRun stores a Job that Reroll created, as a response of the API server shows it. Begins
// reports whether the write was the first that could let its Pods start.
func (c *Controller) putAnsweredRun(obj runtime.Object, begins bool) kinds.OwnRun {
	r, ok := readRun(obj)
	if !ok {
		return r
	}
	version := state.VersionOf(obj.(*batchv1.Job).ResourceVersion)
	if begins {
		r.Since = version
	}
	return c.jobs.putAnswer(r, version)
}

func readRun(obj runtime.Object) (kinds.OwnRun, bool) {
	job, ok := obj.(*batchv1.Job)
	if !ok {
		return kinds.OwnRun{}, false
	}
	return kinds.ReadRun(job)
}

// dropRun forgets a Job that is deleted in a version. Another Job may have waited for its end.
func (c *Controller) dropRun(name types.NamespacedName, version uint64) {
	c.dropRuns(name.Namespace, version, func(r *kinds.OwnRun) bool { return r.Of.Namespace == name.Namespace && r.Name == name.Name })
}

// keepRuns forgets the Jobs that a snapshot of a version lacks.
func (c *Controller) keepRuns(namespace string, named map[types.NamespacedName]struct{}, version string) {
	absent := absentFrom(namespace, named)
	c.dropRuns(namespace, state.VersionOf(version), func(r *kinds.OwnRun) bool {
		return absent(types.NamespacedName{Namespace: r.Of.Namespace, Name: r.Name})
	})
}

func (c *Controller) dropRuns(namespace string, version uint64, gone func(*kinds.OwnRun) bool) {
	for _, run := range c.jobs.dropRuns(namespace, version, gone) {
		c.with(run.Of, func(r *record) { r.emitted = r.emitted.without(func(e *emitted) bool { return e.about == run.UID }) })
		c.queueOwner(run.Of)
	}
}

// queueOwner queues the workload that a Job was created from. A standby queues none, because it
// reconciles nothing and the entry of a deleted workload would stay for ever.
func (c *Controller) queueOwner(of workload.Key) {
	if _, there := c.state.Workload(of); there || c.acting.Load() {
		c.queue.Add(of, 0, 0)
	}
}

// addRuns adds the Jobs that Reroll created to the runs of a workload: its status does not name
// them.
func (c *Controller) addRuns(w *workload.Workload) {
	if w.Runs == nil {
		return
	}
	w.Runs = kinds.WithOwn(w.Runs, w.UID, slices.Values(c.runsOf(w.Key)))
}

// runsOf are the Jobs that claim to be created for a workload, with whether their signature is
// valid.
func (c *Controller) runsOf(key workload.Key) []kinds.OwnRun {
	all := c.jobs.runsOf(key)
	for i := range all {
		all[i] = all[i].SignedBy(c.installation.Key)
	}
	return all
}
