package reload

import (
	"cmp"
	"slices"
	"time"
)

// SourceSeen is what was seen of a source on a watch without a gap. Versions
// are those of the API server, which order all events of a cluster; 0 means
// that it was not seen.
type SourceSeen struct {
	// Content is the version in which the content became what it is.
	Content uint64
	// Edited tells that the content was seen to change, and not only to appear.
	Edited bool
	// Timeless tells that the API server noted no time for that change: all it
	// did was to take keys away.
	Timeless bool
	// Created is the version in which it was made.
	Created uint64
	// Annotations is the version in which the annotations became what they are.
	Annotations uint64
	// Version is that of the object: its content cannot be newer.
	Version uint64
}

// latest is a version that the content cannot be newer than.
func (s SourceSeen) latest() uint64 { return cmp.Or(s.Content, s.Version) }

// Left is when a source was seen to leave the content that a workload was last
// compared with. It may have come back since.
type Left struct {
	// Version is the first that may have had another content; 0 if there was none.
	Version uint64
	// Time is the data time of that version, zero if the API server noted none.
	Time time.Time
	// Noted tells that the data time of the present content is when it came back.
	Noted bool
}

// WorkloadSeen is what was seen of a workload on a watch without a gap.
type WorkloadSeen struct {
	// Template is the version in which the pod template became what it is,
	// marks included: taking one back is a rollout like setting it.
	Template uint64
	// Returned tells that there may be pods of the template from before that
	// version: it came back, or may have, while others were rolled out.
	Returned bool
	// Recent are the revisions that pods may be of, the present one among them.
	// Whole tells that there are no others.
	Recent []Digest
	Whole  bool
	// Trusted stands for marks with which the pods were asked, so that it is
	// known what they have.
	Trusted Digest
	// Compared tells that it was compared with its sources before, so that Left
	// tells of all that changed since.
	Compared bool
	// ComparedAt is the newest version that was known when we compared it last, 0
	// if only others did. What was made in a later one was not there then.
	ComparedAt uint64
	// Policy is the version in which its annotations began to ask for the sources
	// that they ask for.
	Policy uint64
	// Since is the version from which nothing about it was missed. Its template
	// was not changed between an earlier version and this one unseen.
	Since uint64
}

// MayHavePods tells whether pods of a revision may be there already. A workload
// that gets such a template keeps them.
func (w WorkloadSeen) MayHavePods(revision Digest) bool {
	return !w.Whole || slices.Contains(w.Recent, revision)
}

// Pods are the pods of one workload that are not about to end.
type Pods struct {
	Count  int
	Oldest time.Time

	all []pod
}

type pod struct {
	name             string
	created, started time.Time
	version          uint64
}

// Add counts a pod in. Started is when a container of it was last started, by the clock of its node; zero if none was.
// Version is that of the object: it was made no later.
func (p *Pods) Add(name string, created, started time.Time, version uint64) {
	if p.Count == 0 || created.Before(p.Oldest) {
		p.Oldest = created
	}
	p.Count++
	p.all = append(p.all, pod{name, created, started, version})
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

// startLag is how long after a change a starting pod may still be given the
// content before it: kubelets learn of changes by a watch of their own.
const startLag = 5 * time.Second

// lag is by how much a pod must be younger than a content to have it for sure.
// Where the template is known to be the younger one, its own pods have it, and
// those that are left from before are older than the content.
func lag(c *Concern, w WorkloadSeen) time.Duration {
	if latest := c.Seen.latest(); latest != 0 && w.Template > latest {
		return 0
	}
	return startLag
}

// report tells that there are pods, and that each of them says whether it has started
// with a content.
func (p Pods) report(c *Concern) bool {
	return p.Count > 0 && !slices.ContainsFunc(p.all, func(pod pod) bool {
		_, reports := c.Source.Started[pod.name]
		return !reports
	})
}

// older counts the pods that may not have a content, by their age. What is
// compared are times of the API server alone, unless they tell themselves. Without pods none is stale, and
// those that come start with it.
func (p Pods) older(c *Concern, w WorkloadSeen) int {
	sure := c.Source.DataTime.Add(lag(c, w))
	n := 0
	for _, pod := range p.all {
		started, reports := c.Source.Started[pod.name]
		switch {
		case reports:
			if !started {
				n++
			}
		case c.Seen.Timeless:
			n++ // its age says nothing
		case !pod.created.After(sure):
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
		if !pod.created.Before(restart) && !pod.created.After(c.Source.DataTime) {
			n++
		}
	}
	return n
}

// olderThanSource tells whether a pod was started before the source was made.
func (p Pods) olderThanSource(c *Concern) bool {
	return p.Count > 0 && p.Oldest.Before(c.Source.Created)
}

// ranBefore tells that a pod was made before a time, and no container of it was started later. One waits for sources that
// are not there, and one that ends is started again with what its sources have by then.
func (p pod) ranBefore(t time.Time) bool {
	return p.created.Before(t) && p.started.Add(startLag).Before(t)
}

// missed tells whether a pod may have been started while a content was away.
func (p Pods) missed(c *Concern, w WorkloadSeen) bool {
	if c.Source.Key.Kind.Reported() {
		return p.older(c, w) > 0
	}
	return slices.ContainsFunc(p.all, func(pod pod) bool {
		switch {
		case pod.version != 0 && pod.version < c.Left.Version, pod.ranBefore(c.Left.Time):
			return false
		case c.Left.Noted && pod.created.After(c.Source.DataTime.Add(startLag)):
			return false
		default:
			return true
		}
	})
}

// edited tells whether the content was changed since the source was made.
func edited(c *Concern) bool {
	if c.Seen.Content != 0 {
		return c.Seen.Edited
	}
	return c.Source.DataTime.After(c.Source.Created)
}
