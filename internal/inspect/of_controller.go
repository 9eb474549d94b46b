package inspect

import (
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/controller"
)

// Own is what a controller knows of itself.
type Own struct {
	Namespace, Version string
	// Flags are those that differ from the defaults.
	Flags []string
	// Lease returns who holds the Lease, and since when it is renewed; nil without a Lease.
	Lease func() (holder string, renewed time.Time)
}

// OfController returns a view of what a controller in this process knows, without a copy of its
// state. Reads is for the Pods and the events of a workload, which the controller does not keep.
func OfController(ctl *controller.Controller, cfg *config.Config, own Own, reads *Cluster, clk clock.Clock) *View {
	settings := settingsOf(cfg)
	settings.Controller, settings.Beyond, settings.Version, settings.Pages, settings.sign = own.Namespace, own.Flags, own.Version, true, sign{ready: true}
	refresh := func(s *Settings) {
		if own.Lease != nil {
			s.Holder, s.Heard = own.Lease()
		}
		in := ctl.Installation()
		s.Key, s.Installed, s.Coverage, s.Others, s.Freeze = in.Key, in.Installed, in.Coverage, in.Others, in.Freeze
		s.Halted = ctl.Halted()
	}
	ctl.State().TrackChanges()
	objects := NewObjects(settings)
	objects.live = &live{state: ctl.State(), runs: ctl.Runs, member: ctl.Member}
	objects.grants = nil // the controller reads them
	v := NewView("", clk)
	v.from = &origin{objects: objects, locked: &sync.RWMutex{}, settings: refresh, complete: ctl.Ready, cluster: reads}
	return v
}
