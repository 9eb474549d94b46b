package controller

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/reroll-dev/reroll/test/simapi"
)

// Nothing is owed to a CronJob that has only been made, that is suspended, or of which a user has just deleted a run. A content
// from such a time that comes back before a pod has started with another one was read by no pod that would have to be replaced.

// span is from one version to another, both included.
type span struct{ from, to uint64 }

func newCronTruth(obj *batchv1.CronJob, version uint64) *cronTruth {
	return &cronTruth{
		workloadTruth: newTruth(obj, version), spared: []span{{version, version}},
		started: map[simapi.Source]uint64{}, begun: map[simapi.Source]uint64{}, had: map[simapi.Source]string{},
	}
}

// spare notes that nothing is owed from a version to another one.
func (c *cronTruth) spare(from, to uint64) { c.spared = append(c.spared, span{from, to}) }

// suspended takes that the CronJob was suspended before a version, and that it is by it.
func (c *cronTruth) suspended(before, now bool, version uint64) {
	switch {
	case now && !before:
		c.spare(version, never)
	case before && !now:
		for i := range c.spared {
			c.spared[i].to = min(c.spared[i].to, version)
		}
	}
}

// owesNothing reports whether there was the present content of a source when nothing was owed, and since a pod has last started.
func (c *cronTruth) owesNothing(s *sourceTruth, started uint64) bool {
	return slices.ContainsFunc(c.spared, func(t span) bool {
		return t.to > started && s.had(max(t.from, started), t.to)
	})
}

// had reports whether a source had its present content at a version, or came to have it until another one.
func (s *sourceTruth) had(from, to uint64) bool {
	at := s.first
	for _, c := range s.changes {
		if c.version <= from {
			at = c.content
		}
	}
	return at == s.content || slices.ContainsFunc(s.changes, func(c change) bool {
		return from < c.version && c.version <= to && c.content == s.content
	})
}
