// Package gate decides whether a reload may start now. A gate delays a reload, and never drops it:
// the ledger stays behind meanwhile, and the newest data is rolled when the gate opens. The package
// does not know why a workload has to be reloaded, or how that is written.
package gate

import (
	"time"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
)

// Name is the name of a gate.
type Name string

const (
	// Window is the window in which reloads may start.
	Window Name = "window"
	// Churn limits how often one workload is reloaded.
	Churn Name = "churn"
	// Waves rolls the workloads of a source one after the other, and stops if one fails.
	Waves Name = "waves"
)

// Names are all gates.
func Names() []Name { return []Name{Window, Churn, Waves} }

// Answer reports whether a reload may start.
type Answer struct {
	// By is the gate that is closed; empty if all gates are open.
	By Name
	// Until is when the gate opens; zero if no time opens it. For Window, it is in its time zone.
	Until time.Time
	// Why is a phrase for users.
	Why string
	// Source is the source whose workloads are rolled one after the other, for Waves. Stopped reports
	// whether no further one starts because others failed.
	Source  source.Key
	Stopped bool
}

// Open reports whether the reload may start.
func (a Answer) Open() bool { return a.By == "" }

// Check reports whether a workload may be reloaded now. The answer depends on the facts and the
// fleets alone, so the controller and the commands that explain its decisions give the same one.
func Check(f *reload.Facts, d *reload.Decision, find Find) Answer {
	if a := checkWindow(f, d); !a.Open() {
		return a
	}
	if a := checkChurn(f, d); !a.Open() {
		return a
	}
	return checkWaves(f.Workload.Key, fleetsOf(d, find))
}

// Pass reserves the turn of a reload that starts now, and notes in its ledger that it does.
func Pass(f *reload.Facts, d *reload.Decision, find Find) {
	passChurn(f, d)
	passWaves(f, d, fleetsOf(d, find))
}
