package inspect

import (
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
)

// next returns the next step of the controller, or of the user.
func (x *Explanation) next() string {
	d := &x.Decision
	if text := x.afterNotification(x.settlePeriod()); text != "" {
		return text
	}
	switch {
	case x.LeftOut != "" || x.State == NotOptedIn:
		return "nothing"
	case d.LeftTo != "":
		return d.Why
	case d.Reverted != nil && d.Reverted.Final:
		return "Reroll writes no further mark until the data changes again; for remedies, see " + buildinfo.Doc("how-to/gitops.md#reverted")
	case d.Reverted != nil && d.Action == reload.Reload:
		return "Reroll rolls it once more, with another mark"
	case x.Gate.By == gate.Notify:
		return x.nextByUser()
	case d.Action == reload.Reload && x.State == Waiting && !x.Gate.Open():
		return x.nextOpen()
	case d.Action == reload.Reload:
		return x.nextReload()
	case d.Action == reload.AwaitRun && x.Workload.Runs.Begun:
		return "when it is resumed, Reroll recreates it; if its Pods end before, it starts with the current data"
	case d.Action == reload.AwaitRun:
		return "when that Job has ended, Reroll creates another one"
	case d.Action == reload.AwaitRollout:
		return "when its rollout has ended, Reroll checks the age of its Pods"
	default:
		return x.nextChange()
	}
}

func (x *Explanation) settlePeriod() time.Duration { return x.Settings.Rules.SettlePeriod(&x.Workload) }

// nextOpen returns when the gate opens that a reload waits for.
func (x *Explanation) nextOpen() string {
	switch x.Gate.By {
	case gate.Waves, gate.Halted:
		return x.nextTurn()
	case gate.Approval:
		return x.nextApproval()
	case gate.Freeze:
		return x.nextThaw()
	case gate.Window:
		return x.nextOpening()
	case gate.URL:
		return "Reroll asks again every few seconds; to roll it without an answer, set " + annotations.Urgent + ": \"true\" on the changed source"
	default:
		return fmt.Sprintf("Reroll rolls it with the newest data at %s; to change the limit, set %s", x.Gate.Until.UTC().Format(time.RFC3339), annotations.Churn)
	}
}

// nextReload returns when a workload is reloaded that no gate holds.
func (x *Explanation) nextReload() string {
	if x.State == OutOfDate {
		if x.Settings.gone(x.Now) {
			return untilInstalled()
		}
		return "the controller has to reload it"
	}
	text := fmt.Sprintf("Reroll rolls it %s after the last change, and at most %s after the first", policy.Short(x.settlePeriod()), policy.Short(x.Settings.Rules.Longest(&x.Workload)))
	if url := x.Settings.gateURL; url != "" {
		text += ", if " + url + " allows it (--gate-url)"
	}
	if x.Settings.Controller == "" {
		text += ", if a controller runs: none was found"
	}
	return text
}

// nextChange returns what comes before the next change of a workload that no reload is due for.
func (x *Explanation) nextChange() string {
	switch {
	case x.State == Missing:
		return x.whenCreated()
	case !x.any():
		return "nothing, until one of its sources exists"
	case !x.Ledger.There && (x.Settings.Controller == "" || x.Settings.gone(x.Now)):
		return untilInstalled()
	case !x.Ledger.There:
		return "nothing, until the controller has recorded which data its Pods started with"
	case x.Workload.Progress.PausedByReroll && !x.Workload.RolledOut:
		return x.resumes()
	case x.Workload.Progress.Paused && !x.Workload.RolledOut:
		return "nothing, while it is paused: " + x.resume()
	case x.Cause != "":
		return "its rollout continues when this problem is solved; see " + buildinfo.Doc("how-to/stuck-rollouts.md#"+string(x.Cause))
	case x.State == Stuck:
		return "its rollout has exceeded its deadline; see " + buildinfo.Doc("explanation/rollout-tracking.md#the-deadline")
	case x.State == InProgress:
		return "its rollout continues"
	case x.Settings.Rules.NotifyOnly:
		return fmt.Sprintf("waiting for changes; Reroll notifies the receiver %s after the last one", policy.Short(x.settlePeriod()))
	case x.notifies():
		return fmt.Sprintf("waiting for changes; Reroll notifies of them %s after the last one%s", policy.Short(x.settlePeriod()), x.settleBy())
	default:
		return fmt.Sprintf("waiting for changes; Reroll rolls it %s after the last one%s", policy.Short(x.settlePeriod()), x.settleBy())
	}
}

// settleBy returns what sets the settle period, if an annotation does.
func (x *Explanation) settleBy() string {
	if _, set := x.Workload.Policy.Settle(); set {
		return " (" + x.Workload.Policy.SettleBy() + ")"
	}
	return ""
}

// notifies reports whether Reroll does not reload the workload, and users do.
func (x *Explanation) notifies() bool {
	mode, _, set := x.Workload.Policy.Mode()
	if !set {
		mode = x.Settings.Rules.Mode
	}
	return !x.Settings.Rules.NotifyOnly && mode != policy.ModeReload
}

// does describes the effect of a change of a source.
func (x *Explanation) does() string {
	if x.notifies() {
		return "is reported when it changes"
	}
	return x.Settings.does()
}

// nextByUser returns how a workload is rolled that only users reload.
func (x *Explanation) nextByUser() string {
	if command := notice.RestartCommand(&x.Workload); command != "" {
		return "nothing, until a user rolls it: " + x.Settings.on(command)
	}
	return "nothing, until a user rolls it, or " + annotations.Mode + " is " + policy.ModeReload.String()
}

func untilInstalled() string {
	return "nothing, until a controller runs: to install one, see " + buildinfo.Doc("how-to/install.md")
}

// resume returns how to resume a paused workload.
func (x *Explanation) resume() string {
	w, key := &x.Workload, x.Workload.Key
	switch {
	case key.Kind == "Rollout":
		return x.Settings.on("kubectl argo rollouts promote -n " + key.Namespace + " " + key.Name)
	case w.Custom:
		return "set spec.paused to false"
	}
	return x.Settings.on("kubectl rollout resume -n " + key.Namespace + " " + ref(key))
}

// resumes explains when Reroll ends a pause that it started.
func (x *Explanation) resumes() string {
	if until, ok := x.Workload.PauseUntil(); ok && until.After(x.Now) {
		if x.Settings.Pages {
			return "Reroll resumes it at " + until.UTC().Format(time.RFC3339) + ", and one rollout brings all changes until then"
		}
		return fmt.Sprintf("in %s Reroll resumes it, and one rollout brings all changes until then", until.Sub(x.Now).Round(time.Second))
	}
	return "the controller has to resume it"
}
