package reload

import (
	"cmp"
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
	// Annotations is the version in which the annotations became what they are.
	Annotations uint64
	// Version is that of the object: its content cannot be newer.
	Version uint64
}

// latest is a version that the content cannot be newer than.
func (s SourceSeen) latest() uint64 { return cmp.Or(s.Content, s.Version) }

// WorkloadSeen is what was seen of a workload on a watch without a gap.
type WorkloadSeen struct {
	// Template is the version in which the pod template became what it is,
	// marks included: taking one back is a rollout like setting it.
	Template uint64
	// Policy is the version in which its annotations began to ask for what they
	// ask for.
	Policy uint64
	// Since is the version from which nothing about it was missed. Its template
	// was not changed between an earlier version and this one unseen.
	Since uint64
}

// Pods are the pods of one workload that are not about to end.
type Pods struct {
	Count  int
	Oldest time.Time
}

// Add counts a pod in.
func (p *Pods) Add(created time.Time) {
	if p.Count == 0 || created.Before(p.Oldest) {
		p.Oldest = created
	}
	p.Count++
}

// evidence is an answer to the question whether pods have a content already.
type evidence uint8

const (
	unknown evidence = iota
	fresh            // they have it, or will when they start
	stale            // at least one was started with another
)

// order compares when a content and a template became what they are. A template
// that is younger than the content is rolled out to pods that start with it.
func order(c *Concern, w WorkloadSeen) evidence {
	latest := c.Seen.latest()
	switch {
	case w.Template > latest && latest != 0:
		return fresh
	case c.Seen.Content != 0 && w.Since != 0 && c.Seen.Content > max(w.Template, w.Since):
		return stale
	default:
		return unknown
	}
}

// startLag is how long after a change a starting pod may still be given the
// content before it: kubelets learn of changes by a watch of their own.
const startLag = 5 * time.Second

// have tells from the age of the pods whether they have a content. What is
// compared are times of the API server alone.
func (p Pods) have(c *Concern) evidence {
	switch {
	case p.Count == 0:
		return fresh // none is stale, and those that come start with it
	case p.Oldest.After(c.Source.DataTime.Add(startLag)):
		return fresh
	default:
		return stale
	}
}

// edited tells whether the content was changed since the source was made.
func edited(c *Concern) bool {
	if c.Seen.Content != 0 {
		return c.Seen.Edited
	}
	return c.Source.DataTime.After(c.Source.Created)
}
