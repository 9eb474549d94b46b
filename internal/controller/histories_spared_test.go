package controller

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/reroll-dev/reroll/test/simapi"
)

// The controller owes nothing to a CronJob that was only created, that is suspended, or from which
// a user has just deleted a run. If data from such a time returns before a Pod has started with
// other data, no Pod has read the other data.

// span is from one version to another, both included.
type span struct{ from, to uint64 }

func newCronTruth(obj *batchv1.CronJob, version uint64) *cronTruth {
	return &cronTruth{
		workloadTruth: newTruth(obj, version), spared: []span{{version, version}}, undone: map[uint64]uint64{}, gone: map[uint64]uint64{},
		started: map[simapi.Source]uint64{}, begun: map[simapi.Source]uint64{}, had: map[simapi.Source]string{}, unwanted: map[simapi.Source]uint64{}, meanwhile: map[simapi.Source]dataSince{},
	}
}

// spare records that nothing is owed from one version to another.
func (c *cronTruth) spare(from, to uint64) { c.spared = append(c.spared, span{from, to}) }

// suspended receives whether the CronJob was suspended before a version, and whether it is
// suspended since.
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

// owesNothing reports whether a source had its current data at a time when nothing was owed, and
// since a Pod last started.
func (c *cronTruth) owesNothing(s *sourceTruth, started uint64) bool {
	return slices.ContainsFunc(c.spared, func(t span) bool {
		return t.to > started && s.had(max(t.from, started), t.to)
	})
}

// deletedFor reports whether a user has deleted a run for the current data of a source.
func (c *cronTruth) deletedFor(src simapi.Source, s *sourceTruth) bool {
	known, deleted := c.unwanted[src]
	return deleted && s.had(known, known)
}

// had reports whether a source had its current data at a version, or got it before another one.
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
