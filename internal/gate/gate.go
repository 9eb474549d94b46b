// Package gate decides whether a reload may start now. A gate delays a reload, and never drops it:
// the ledger stays behind meanwhile, and the newest data is rolled when the gate opens. The package
// does not know why a workload has to be reloaded, or how that is written.
package gate

import (
	"time"

	"github.com/reroll-dev/reroll/internal/reload"
)

// Name is the name of a gate.
type Name string

// Churn limits how often one workload is reloaded.
const Churn Name = "churn"

// Names are all gates.
func Names() []Name { return []Name{Churn} }

// Answer reports whether a reload may start.
type Answer struct {
	// By is the gate that is closed; empty if all gates are open.
	By Name
	// Until is when the gate opens.
	Until time.Time
	// Why is a phrase for users.
	Why string
}

// Open reports whether the reload may start.
func (a Answer) Open() bool { return a.By == "" }

// Check reports whether a workload may be reloaded now. The answer depends on the facts alone, so
// the controller and the commands that explain its decisions give the same one.
func Check(f *reload.Facts, d *reload.Decision) Answer {
	return checkChurn(f, d)
}

// Pass adds to the ledger of a reload that it starts now.
func Pass(f *reload.Facts, d *reload.Decision) {
	passChurn(f, d)
}
