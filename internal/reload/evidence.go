package reload

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
)

// SourceSeen is what was seen of a source on a watch without a gap. Versions
// are those of the API server, which order all events of a cluster; 0 means
// that it was not seen.
type SourceSeen struct {
	// Content is the version in which the content became what it is.
	Content uint64
	// Edited reports whether the content was seen to change, and not only to appear.
	Edited bool
	// Timeless reports whether the API server recorded no time for that change: it only removed
	// keys.
	Timeless bool
	// Created is the version in which it was made.
	Created uint64
	// Annotations is the version in which it was created, or ceased to be ignored or unselected, and Matched the one in which it came
	// to match searches.
	Annotations, Matched uint64
	// Version is that of the object: its data cannot be newer. Bound is an earlier one of which that is true as well, if
	// nothing but labels and annotations were seen to change since.
	Version, Bound uint64
}

// latest is a version that the content cannot be newer than.
func (s SourceSeen) latest() uint64 { return cmp.Or(s.Content, s.Bound, s.Version) }

// Left is when a source was seen to leave the content that a workload was last
// compared with. It may have come back since.
type Away struct {
	// Version is the first that may have had another content; 0 if there was none.
	Version uint64
	// Time is the data time of that version, zero if the API server noted none.
	Time time.Time
	// Noted reports whether the data time of the current data is when it came back.
	Noted bool
	// Made reports whether the workload was compared while the source did not exist, and Version is that of its creation. It did not
	// leave anything as long as its data are those that it was created with.
	Made bool
}

// wasAway reports whether the source may have had other data than now since the workload was compared with it.
func (c *Concern) wasAway() bool {
	return c.Away.Version != 0 && (!c.Away.Made || c.Seen.Content != c.Away.Version)
}

// WorkloadSeen is what was seen of a workload on a watch without a gap.
type WorkloadSeen struct {
	// Template is the version in which the pod template became what it is,
	// marks included: taking one back is a rollout like setting it.
	Template uint64
	// Returned reports whether there may be pods of the template from before that
	// version: it came back, or may have, while others were rolled out.
	Returned bool
	// Recent are the revisions that pods may be of, the present one among them.
	// Whole reports whether there are no others.
	Recent []digest.Digest
	Whole  bool
	// Trusted is the digest of the marks with which the Pods were checked, so that their data is
	// known.
	Trusted digest.Digest
	// Compared reports whether the workload was compared with its sources before, so that Left
	// contains all that changed since.
	Compared bool
	// ComparedAt is the newest version that was known when we compared it last, 0
	// if only others did. What was made in a later one was not there then.
	ComparedAt uint64
	// Policy is the version in which its annotations began to ask for the sources
	// that they ask for, and Earlier what they asked for when it was compared last,
	// nil if it was not or if nothing is known of that.
	Policy  uint64
	Earlier *policy.Policy
	// Adopted is the version from which it asked for all that its first ledger names, 0 if that is not known.
	Adopted uint64
	// Widened is how it came to ask for more since then, step by step.
	Widened []Widening
	// Ready is the version in which pods of it were first seen to be available, 0 if they never were.
	Ready uint64
	// Since is the version from which nothing about it was missed. Its template
	// was not changed between an earlier version and this one unseen.
	Since uint64
}

// Widen notes that the workload asks for more from a version on. Before is what it asked for until then.
func (w *WorkloadSeen) Widen(version uint64, before policy.Policy) {
	w.Policy = version
	if w.Earlier == nil {
		w.Earlier = &before
	}
	if len(w.Widened) == maxWidened {
		w.Widened = w.Widened[1:]
	}
	w.Widened = append(slices.Clone(w.Widened), Widening{Version: version, Before: before})
}

// Widening is a version from which a workload asks for more, and what it asked for until then.
type Widening struct {
	Version uint64
	Before  policy.Policy
}

// maxWidened is more than a workload that waits for its first ledger is edited. Past it a source counts as asked for before.
const maxWidened = 16

// MayHavePods reports whether pods of a revision may be there already. A workload
// that gets such a template keeps them.
func (w WorkloadSeen) MayHavePods(revision digest.Digest) bool {
	return !w.Whole || slices.Contains(w.Recent, revision)
}

// Pods are the pods of one workload that are not about to end.
type Pods struct {
	Count  int
	Oldest time.Time

	all []StartedPod
}

// StartedPod holds the fields of a Pod that show which data it started with.
type StartedPod struct {
	Name    string
	Created time.Time
	// Started is when a container of it was last started, by the clock of its node. It is zero unless all containers run:
	// one that does not may still start with what its sources had before.
	Started time.Time
	// Version is that of the object: it was created no later.
	Version uint64
	// Unscheduled reports that no node has the pod yet, so that it has read nothing.
	Unscheduled bool
}

// ReadStart returns the fields of a Pod that show which data it started with.
func ReadStart(pod *corev1.Pod) StartedPod {
	version, _ := strconv.ParseUint(pod.ResourceVersion, 10, 64) // one that is no number proves nothing
	return StartedPod{
		Name: pod.Name, Created: pod.CreationTimestamp.Time, Started: lastStart(pod), Version: version, Unscheduled: pod.Spec.NodeName == "" && len(pod.Status.ContainerStatuses) == 0,
	}
}

// lastStart is zero unless all regular containers run.
func lastStart(pod *corev1.Pod) time.Time {
	if len(pod.Status.ContainerStatuses) < len(pod.Spec.Containers) {
		return time.Time{}
	}
	var last time.Time
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if r := statuses[i].State.Running; r != nil && r.StartedAt.After(last) {
				last = r.StartedAt.Time
			}
		}
	}
	if slices.ContainsFunc(pod.Status.ContainerStatuses, func(s corev1.ContainerStatus) bool { return s.State.Running == nil }) {
		return time.Time{}
	}
	return last
}

// Add counts a pod in.
func (p *Pods) Add(pod StartedPod) {
	if p.Count == 0 || pod.Created.Before(p.Oldest) {
		p.Oldest = pod.Created
	}
	p.Count++
	p.all = append(p.all, pod)
}

// evidence is an answer to the question whether pods have a content already.
type evidence uint8

const (
	unknown evidence = iota
	fresh            // they have it, or will when they start
	stale            // at least one was started with another
)

// order compares when a content and a template became what they are. A template
// that is younger than the content is rolled out to pods that start with it,
// unless it had pods before.
func order(c *Concern, w WorkloadSeen) evidence {
	latest := c.Seen.latest()
	switch {
	case w.Template > latest && latest != 0 && !w.Returned:
		return fresh
	case c.Source.Key.Kind.Reported():
		return unknown // it may have been there before any pod was seen to have it
	case c.Seen.Content != 0 && w.Since != 0 && c.Seen.Content > max(w.Template, w.Since):
		return stale
	default:
		return unknown
	}
}

// order also knows that pods are restarted while their template stays as it is.
// Then their age decides.
func (f *Facts) order(c *Concern) evidence {
	found := order(c, f.rollouts())
	if _, restarted := f.restartedByReloader(c); restarted && found == stale {
		return unknown
	}
	return found
}

// lag is by how much a pod must be younger than a content to have it for sure.
// Where the template is known to be the younger one, its own pods have it, and
// those that are left from before are older than the content.
func lag(c *Concern, w WorkloadSeen) time.Duration {
	if latest := c.Seen.latest(); latest != 0 && w.Template > latest {
		return 0
	}
	return source.StartLag
}

// unlisted reports whether the workload has pods, or may have, although a list of its pods came back empty: the selector
// of some custom kinds can only be guessed. Nothing can be said of such pods.
func (f *Facts) unlisted(pods *Pods) bool { return f.Workload.Hides(pods.Count) }

// report reports whether there are pods, and that each of them says whether it has started
// with a content.
func (p Pods) report(c *Concern) bool {
	return p.Count > 0 && !slices.ContainsFunc(p.all, func(pod StartedPod) bool {
		_, reports := c.Source.Started[pod.Name]
		return !reports
	})
}

// older counts the Pods that may not have the data of a source, by their age. It compares only times of
// the API server, unless the Pods themselves show their data. If there are no Pods, none is out of date,
// and new ones start with the current data.
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
		case c.Seen.Timeless:
			n++ // its age says nothing
		case !pod.Created.After(sure):
			n++
		}
	}
	return n
}

// left counts the pods that may not have a content and are not replaced by a
// restart of all that were made before a time. Such times are whole seconds, so
// that a pod of the second of the change may be from before it.
func (p Pods) left(c *Concern, restart time.Time) int {
	n := 0
	for _, pod := range p.all {
		if !pod.Created.Before(restart) && !pod.Created.After(c.Source.DataTime) {
			n++
		}
	}
	return n
}

// olderThanSource reports whether a pod was started before the source was made.
func (p Pods) olderThanSource(c *Concern) bool {
	return p.Count > 0 && p.Oldest.Before(c.Source.Created)
}

// ranBefore reports whether all containers of a pod were started before a version of the API server and a time. A pod that
// waits for a source, or pulls an image, may have mounted what the source had meanwhile; a container that ends is started
// again with what its sources have by then.
func (p *StartedPod) ranBefore(version uint64, t time.Time) bool {
	if p.Started.IsZero() {
		return false
	}
	return p.Version != 0 && p.Version < version || p.Created.Before(t) && p.Started.Add(source.StartLag).Before(t)
}

// missed reports whether a Pod may have started while the source had other data.
func (p Pods) missed(c *Concern, w WorkloadSeen) bool {
	if c.Source.Key.Kind.Reported() {
		return p.older(c, w) > 0
	}
	return slices.ContainsFunc(p.all, func(pod StartedPod) bool {
		switch {
		case pod.Unscheduled, pod.ranBefore(c.Away.Version, c.Away.Time):
			return false
		case c.Away.Noted && pod.Created.After(c.Source.DataTime.Add(source.StartLag)):
			return false
		default:
			return true
		}
	})
}

// edited reports whether the content was changed since the source was made.
func edited(c *Concern) bool {
	if c.Seen.Content != 0 {
		return c.Seen.Edited
	}
	return c.Source.DataTime.After(c.Source.Created)
}
