// Package gate decides whether a reload may start now. A gate delays a reload, and never drops it:
// the ledger stays behind meanwhile, and the newest data is rolled when the gate opens. The package
// does not know why a workload has to be reloaded, or how that is written.
package gate

import (
	"time"

	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Name is the name of a gate.
type Name string

const (
	// Notify is the mode in which Reroll notifies of changes, and a user reloads the workload.
	Notify Name = "notify"
	// Approval waits for the consent of a user to the data.
	Approval Name = "approval"
	// Freeze starts no reload until a time, because a user wants that.
	Freeze Name = "freeze"
	// Window is the window in which reloads may start.
	Window Name = "window"
	// Churn limits how often one workload is reloaded.
	Churn Name = "churn"
	// Waves rolls the workloads of a source one after the other, and stops if one fails.
	Waves Name = "waves"
	// URL is the program of --gate-url, outside of the cluster, which is asked before each reload.
	// Its text is in metrics, on which users have alerts.
	URL Name = "judge"
	// Halted starts no reload at all while too many of the latest fail.
	Halted Name = "halt"
)

// Names are all gates.
func Names() []Name { return []Name{Notify, Approval, Freeze, Window, Churn, Halted, URL, Waves} }

// Answer reports whether a reload may start.
type Answer struct {
	// By is the gate that is closed; empty if all gates are open.
	By Name
	// Until is when the gate opens; zero if no time opens it. For Window, it is in its time zone.
	Until time.Time
	// Why is a phrase for users.
	Why string
	// Source is the source whose workloads are rolled one after the other, for Waves. Stopped
	// reports whether no workload starts because others failed.
	Source  source.Key
	Stopped bool
	// Request is what a user has to approve, for Approval.
	Request Request
	// Asked reports, for URL, that the answer is on its way. Until is when the reload counts as
	// held, zero if it does.
	Asked bool
	// Override is when the gate holds the reload no longer, because a certificate expires. For an
	// open answer, it shows which gate it passes.
	Override Override
}

// Open reports whether the reload may start.
func (a Answer) Open() bool { return a.By == "" }

// Others are the other workloads that a reload may have to wait for. The zero Others are none.
type Others struct {
	// Find finds the workloads of a source, if they are rolled one after the other.
	Find Find
	// Halt reports whether all reloads wait, as Storm.Ask does.
	Halt func(workload.Key) Answer
	// GateURL returns what the program of --gate-url answered, and asks it if that is not known
	// and ask is true.
	GateURL func(f *reload.Facts, d *reload.Decision, ask bool) Answer
	// Failed reports whether the latest reload of a workload failed. With it, ledgers note when
	// each reload begins, because Halt needs that.
	Failed func(workload.Key) bool
}

// Check reports whether a workload may be reloaded now. The answer depends on the facts and the
// other workloads alone, so the controller and the commands that explain its decisions give the
// same one.
func Check(f *reload.Facts, d *reload.Decision, others Others) Answer {
	if a := checkNotify(f); !a.Open() {
		return a // only users reload it, whatever expires
	}
	override := overrideOf(f, d)
	if override.passed(f.Now) {
		a := checkChurn(f, d) // a program that writes certificates in a loop must not roll for ever
		if a.Open() {
			a.Override = override
			held := wouldHold(f, d, others)
			a.Override.Gate, a.Override.Why = held.By, held.Why
		}
		return a
	}
	a := firstClosed(f, d, others)
	if !a.Open() && a.By != Churn {
		a.Override = override
		a.Why += override.notLater()
	}
	return a
}

// firstClosed is the order of the gates. Waves are asked last, because a workload that may start
// takes a place.
func firstClosed(f *reload.Facts, d *reload.Decision, others Others) Answer {
	if a := checkByUsers(f, d); !a.Open() {
		return a
	}
	if a := checkChurn(f, d); !a.Open() {
		return a
	}
	if a := checkHalt(f, d, others.Halt); !a.Open() {
		return a
	}
	if a := checkGateURL(f, d, others, true); !a.Open() {
		return a
	}
	return checkWaves(f, fleetsOf(f, d, others.Find))
}

// checkByUsers checks the gates that users close.
func checkByUsers(f *reload.Facts, d *reload.Decision) Answer {
	// A user can approve a reload before its window opens.
	if a := checkApproval(f, d); !a.Open() {
		return a
	}
	if a := checkFreeze(f, d); !a.Open() {
		return a
	}
	return checkWindow(f, d)
}

// wouldHold returns the gate that holds a reload but for its override. Nothing is asked, because the
// reload starts anyway.
func wouldHold(f *reload.Facts, d *reload.Decision, others Others) Answer {
	if a := checkByUsers(f, d); !a.Open() {
		return a
	}
	if a := checkHalt(f, d, others.Halt); !a.Open() {
		return a
	}
	if a := checkGateURL(f, d, others, false); !a.Open() {
		return a
	}
	return peekWaves(f, fleetsWithout(d, others.Find))
}

// checkGateURL checks the answer of the program of --gate-url, which is asked only if all other
// gates but the waves are open, and not about an urgent change.
func checkGateURL(f *reload.Facts, d *reload.Decision, others Others, ask bool) Answer {
	if others.GateURL == nil || isUrgent(d) {
		return Answer{}
	}
	return others.GateURL(f, d, ask)
}

// Pass reserves the turn of a reload that starts now, and notes in its ledger that it does.
func Pass(f *reload.Facts, d *reload.Decision, others Others) {
	passChurn(f, d)
	passWaves(f, d, fleetsOf(f, d, others.Find), others.Failed)
}
