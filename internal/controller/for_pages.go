package controller

import (
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/metainfo"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/state"
	"github.com/reroll-dev/reroll/internal/workload"
)

// The methods in this file are for pages that explain decisions from the state of the controller.

// State returns the known state of the cluster.
func (c *Controller) State() *state.State { return c.state }

// Runs returns the Jobs that claim to be created for a workload.
func (c *Controller) Runs(of workload.Key) []kinds.OwnRun { return c.jobs.runsOf(of) }

// Installation returns what this installation keeps in the cluster. Call it when the controller is
// ready. A replica that has never led does not know since when the settings apply.
func (c *Controller) Installation() reload.Installation {
	in := reload.Installation{Key: c.installation.Key, Installed: c.installation.Installed, Others: c.others.known(), Freeze: c.frozenAll()}
	if c.acting.Load() {
		in.Coverage = c.installation.Coverage
	}
	return in
}

// Member returns what is known of a workload that a source rolls with others one after the other, and
// false if that is not needed now.
func (c *Controller) Member(namespace string, src *source.Source, s gate.Settings, key workload.Key) (gate.Member, bool) {
	c.fleets.mu.Lock()
	defer c.fleets.mu.Unlock()
	f := c.fleets.of[namespace][src.Key]
	if f == nil || !f.Fits(src, s) {
		return gate.Member{}, false
	}
	return f.Member(key)
}

// Halted returns where no reload starts because too many failed.
func (c *Controller) Halted() metainfo.Halted {
	halted, _ := c.haltedNow()
	return halted
}
