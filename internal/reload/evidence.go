package reload

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// SourceSeen is what a watch without a gap has shown of a source. Versions are resource versions,
// which order all events of a cluster; 0 means unknown.
type SourceSeen struct {
	// Content is the version in which the data last changed.
	Content uint64
	// Edited reports whether the watch has shown a change of the data, and not only its creation.
	Edited bool
	// Timeless reports whether the API server recorded no time for that change: mostly, it only
	// removed keys.
	Timeless bool
	// Created is the version in which the source was created.
	Created uint64
	// Departed is the version in which it was deleted before that; 0 if no watch has shown that.
	Departed uint64
	// Absent is the version of a snapshot without it, after which a watch has shown its creation.
	Absent uint64
	// Written is the data time before that deletion if the source was created again as it was: the data
	// is no newer.
	Written time.Time
	// Annotations is the version in which it was created, or was no longer ignored or unselected.
	// Matched is the version in which it began to match searches.
	Annotations, Matched uint64
	// Relabeled are the latest changes of its labels; nil without any.
	Relabeled *Changes[source.Labels]
	// Allowed are the latest changes of the namespaces that it allows; nil without any.
	Allowed *Changes[annotations.AllowFrom]
	// Version is the resource version: the data cannot be newer. Of a union of bundles in a snapshot,
	// it is that of the snapshot. Bound is an earlier version for which that holds, too, if the watch
	// has shown only changes of labels and annotations since.
	Version, Bound uint64
}

// latest is a version that the data cannot be newer than.
func (s SourceSeen) latest() uint64 { return cmp.Or(s.Content, s.Bound, s.Version) }

// LaterThan reports whether the data may be from after a version.
func (s SourceSeen) LaterThan(version uint64) bool {
	latest := s.latest()
	return latest == 0 || latest > version
}

// WorkloadSeen is what a watch without a gap has shown of a workload.
type WorkloadSeen struct {
	// Template is the version in which the pod template last changed, marks included: removing a
	// mark is a rollout like adding it.
	Template uint64
	// TemplateReverted reports whether the template was reverted, or may have been, during another
	// rollout, so that there may be Pods of it from before that version.
	TemplateReverted bool
	// Recent are the revisions that Pods may have, including the current one. Whole reports whether
	// there are no others.
	Recent []digest.Digest
	Whole  bool
	// Referenced has, by source, the version of the first template that references it, of the rollouts
	// since all Pods had one template: no Pod has referenced it before. It is 0 if some may have.
	Referenced map[source.LocalKey]uint64
	// Trusted is the digest of the marks with which the Pods were checked, so that their data is
	// known.
	Trusted digest.Digest
	// Compared reports whether the workload was compared with its sources before, so that Away
	// contains all changes since.
	Compared bool
	// ComparedAt is the newest version at the time of our last comparison, 0 if only other replicas
	// compared it. Sources of later versions did not exist then.
	ComparedAt uint64
	// Policy is the version in which its annotations began to select the current sources.
	Policy uint64
	// Adopted is the version since which its annotations select all sources in its first ledger, 0
	// if unknown.
	Adopted uint64
	// AdoptedSources are such versions of single sources, with which later ledgers began.
	AdoptedSources map[source.LocalKey]uint64
	// Widened are the later changes by which its annotations selected more sources, and WidenedBefore is the
	// version of the latest one before these, if there was any. Forgotten reports whether earlier ones
	// were too many, or too large, to be kept.
	Widened       []Widening
	WidenedBefore uint64
	Forgotten     bool
	// Recounted are the later changes by which other keys count.
	Recounted []KeysChange
	// Ready is the version in which Pods of it were first Ready, 0 if they never were.
	Ready uint64
	// Since is the version since which no event of it was missed: the template did not change
	// between an earlier version and this one.
	Since uint64
}

// Widen records that the annotations select more sources since a version. Before is the earlier
// policy, and optedInAt since when it was provably in force.
func (w *WorkloadSeen) Widen(version uint64, before policy.Policy, optedInAt time.Time) {
	w.Policy = max(w.Policy, version) // the watch of namespaces may lag behind
	all, size := append(slices.Clone(w.Widened), Widening{Version: version, Before: before, OptedInAt: optedInAt}), 0
	for i := range all {
		size += all[i].Before.Size()
	}
	for len(all) > maxWidened || len(all) > 1 && size > maxEarlier {
		size -= all[0].Before.Size()
		if at := all[0].OptedInAt; !at.IsZero() && at.Before(all[1].OptedInAt) {
			all[1].OptedInAt = at
		}
		all, w.Forgotten = slices.Delete(all, 0, 1), true
	}
	w.Widened = all
}

// ForgetPolicies forgets the earlier policies, because the workload was compared with its sources. The
// watch of a source may lag behind that of the workload, so a ledger may lack the source nevertheless.
// Then the latest of these policies shows whether the source concerned the workload before.
func (w *WorkloadSeen) ForgetPolicies(hasLedger bool) {
	last := len(w.Widened) - 1
	w.Forgotten = false
	switch {
	case !hasLedger || last < 0:
		w.Widened, w.WidenedBefore = nil, 0
		return
	case last > 0:
		w.WidenedBefore = w.Widened[last-1].Version
	}
	w.Widened = slices.Clone(w.Widened[last:])
}

// Widening is a version since which annotations select more sources, with the earlier policy, and
// since when that was provably in force; zero if nothing shows it.
type Widening struct {
	Version   uint64
	Before    policy.Policy
	OptedInAt time.Time
}

// maxWidened is more than the edits of a workload that waits for its first ledger, and maxEarlier more
// than what these keep in memory, in bytes. Beyond it, a source counts as selected before.
const (
	maxWidened = 16
	maxEarlier = 256 << 10
)

// MayHavePodsOf reports whether Pods of a revision may exist already. A workload that gets such a
// template keeps them.
func (w WorkloadSeen) MayHavePodsOf(revision digest.Digest) bool {
	return !w.Whole || slices.Contains(w.Recent, revision)
}

// Pods are the Pods of one workload that run.
type Pods struct {
	Count  int
	Oldest time.Time

	all []StartedPod
	// succeeded are Pods that have, for a Job. Count and Oldest are without them.
	succeeded []StartedPod
}

// Take adds a Pod of a LIST, unless its data does not matter any more. That of a Pod that has
// succeeded still matters for a Job, which has ended with it.
func (p *Pods) Take(pod *corev1.Pod, w *workload.Workload) {
	switch {
	case workload.PodRuns(pod):
		p.Add(ReadStart(pod))
	case w.Runs != nil && w.Runs.Once && pod.Status.Phase == corev1.PodSucceeded:
		p.succeeded = append(p.succeeded, ReadStart(pod))
	}
}

// Add adds a Pod that runs.
func (p *Pods) Add(pod StartedPod) {
	if p.Count == 0 || pod.Created.Before(p.Oldest) {
		p.Oldest = pod.Created
	}
	p.Count++
	p.all = append(p.all, pod)
}

// evidence is whether the Pods have the current data.
type evidence uint8

const (
	unknown   evidence = iota
	upToDate           // they have it, or will when they start
	outOfDate          // at least one was started with other data
)

// order compares the version of the data with the version of the template. If the template is newer
// than the data, its Pods start with the data, unless the template had Pods before.
func order(c *Concern, w WorkloadSeen) evidence {
	latest := c.Seen.latest()
	switch {
	case w.Template > latest && latest != 0 && !w.TemplateReverted:
		return upToDate
	case c.Source.Key.Kind.Reported():
		return unknown // the data may have existed before any Pod with it
	case c.Seen.Content != 0 && w.Since != 0 && c.Seen.Content > max(w.Template, w.Since):
		return outOfDate
	default:
		return unknown
	}
}

// order also considers that Pods are restarted without a change of the template. Then their age
// decides.
func (f *Facts) order(c *Concern) evidence {
	found := order(c, f.rollouts())
	if _, restarted := f.restartedByReloader(c); restarted && found == outOfDate {
		return unknown
	}
	return found
}

// lag is how much younger than the data a Pod must be to have it for sure. If the template is known
// to be newer, its own Pods have the data, and other Pods are older than the data. Pods of a
// reverted template may be from before the data, and two API servers may differ by seconds.
func lag(c *Concern, w WorkloadSeen) time.Duration {
	if latest := c.Seen.latest(); latest != 0 && w.Template > latest && !w.TemplateReverted {
		return 0
	}
	return source.StartLag
}

// unlisted reports whether the workload has Pods, or may have, although the LIST returned none,
// because the selector of some custom kinds is guessed. Nothing is known of such Pods.
// The status may not count a Pod that was created a moment ago. So with a guessed selector, there may
// be Pods as long as some are wanted.
// The selector of a built-in kind always selects its Pods. If it selects none, there are none, and
// the status still counts deleted ones.
func (f *Facts) unlisted(pods *Pods) bool {
	w := &f.Workload
	uncounted := w.SelectorGuessed && w.Runs == nil && pods.Count == 0 && w.Progress.Wanted > 0
	return uncounted || (w.Custom || w.SelectorGuessed) && w.Hides(pods.Count)
}

// report reports whether there are Pods and each of them shows whether it started with the data.
func (p Pods) report(c *Concern) bool {
	return p.Count > 0 && !slices.ContainsFunc(p.all, func(pod StartedPod) bool {
		_, reports := c.Source.Started[pod.Name]
		return !reports
	})
}

// older counts the Pods that may not have the data of a source, by their age. It compares only
// times of the API server, unless the Pods themselves show their data. If there are no Pods, none
// is out of date, and new ones start with the current data.
func (p Pods) older(c *Concern, w WorkloadSeen) int {
	sure := c.Source.DataTime.Add(lag(c, w))
	n := 0
	for _, pod := range p.all {
		started, reports := c.Source.Started[pod.Name]
		switch {
		case reports:
			if !started {
				n++
			}
		case c.onlyStartedWith() && pod.Started.IsZero():
			// It waits for its volumes. The versions that it starts with are not a rotation.
		case c.Seen.Timeless:
			n++ // its age shows nothing
		case !pod.Created.After(sure):
			n++
		}
	}
	return n
}

// onlyStartedWith reports whether no running Pod was given the data of a class that the workload
// mounts. Then each Pod with a report counts as one that has the data, whatever its versions are. A
// running Pod without a report may have lost it, and the driver may never rotate what it has.
func (c *Concern) onlyStartedWith() bool {
	return c.Source.Key.Kind.Reported() && c.Source.EditedAt == 0 && len(c.Uses) > 0
}

// left counts the Pods that may not have the data and that a restart of all Pods created before a
// time does not replace. Such times are whole seconds, so a Pod of the second of the change may be
// from before it.
func (p Pods) left(c *Concern, restart time.Time) int {
	n := 0
	for _, pod := range p.all {
		if !pod.Created.Before(restart) && !pod.Created.After(c.Source.DataTime) {
			n++
		}
	}
	return n
}

// olderThanSource reports whether a Pod was started before the source was created.
func (p Pods) olderThanSource(c *Concern) bool {
	return p.Count > 0 && p.Oldest.Before(c.Source.Created)
}

// readyBefore reports whether a Pod was provably Ready before a time.
func (p Pods) readyBefore(t time.Time) bool {
	return slices.ContainsFunc(p.all, func(pod StartedPod) bool { return pod.readyBefore(t) })
}

// missed reports whether a Pod may have started while the source had other data, or did not exist.
func (p Pods) missed(c *Concern, w WorkloadSeen) bool {
	if c.Source.Key.Kind.Reported() {
		return p.older(c, w) > 0
	}
	// If the deletion was not seen, Pods that ran before the creation may have started without it. And
	// if other data came before, they may have started with that.
	mayLack := c.Away.Made && workload.Optional(c.Uses) || c.wasAwayBefore()
	return slices.ContainsFunc(p.all, func(pod StartedPod) bool {
		switch {
		case pod.Unscheduled, !mayLack && pod.ranBefore(c.Away.Version, c.Away.Time):
			return false
		case c.Away.Noted && pod.Created.After(c.Source.DataTime.Add(source.StartLag)):
			return false
		default:
			return true
		}
	})
}

// edited reports whether the data changed since the source was created.
func edited(c *Concern) bool {
	if c.Seen.Content != 0 {
		return c.Seen.Edited
	}
	return c.Source.DataTime.After(c.Source.Created)
}
