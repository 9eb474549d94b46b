package inspect

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

// history prints what the controller did, and the next step.
func (x *Explanation) history(p *pageText) {
	if !x.Workload.Policy.OptedIn(x.Settings.AutoReloadAll) && !x.Ledger.There {
		return
	}
	p.entry("ledger", x.ledger())
	for _, text := range x.Windows {
		p.entry("window", text)
	}
	for _, text := range x.Waves {
		p.entry("waves", text)
	}
	if x.Pods != nil && x.Pods.Count > 0 {
		p.entry("pods", fmt.Sprintf("%s, the oldest from %s", counted(int64(x.Pods.Count), "Pod"), ago(x.Pods.Oldest, x.Now)))
	}
	if x.Last != nil {
		p.entry("last event", fmt.Sprintf("%s, %s: %s", x.Last.Reason, ago(x.Last.At, x.Now), oneLine(strings.TrimPrefix(x.Last.Note, x.Last.Reason+": "))))
	}
	if x.OnlySource == nil || x.rolls(x.OnlySource) {
		p.entry("next", x.next())
	}
}

func (x *Explanation) ledger() string {
	l := &x.Ledger
	switch {
	case !l.There:
		return "none: the controller has not recorded which data its Pods started with"
	case l.Err != nil:
		return l.Err.Error()
	}
	text := counted(l.Counter, "reload")
	if l.Counter == 0 {
		text = "no reload yet"
	}
	var marks []string
	for _, m := range x.Workload.Marks.Env {
		marks = append(marks, m.Variable)
	}
	if x.Workload.Marks.ReloadedFrom != "" {
		marks = append(marks, "annotation "+x.Settings.Names.LastReloadedFrom)
	}
	if len(marks) > 0 {
		text += "; marks: " + listed(marks, "and")
	}
	return text
}

func (x *Explanation) next() string {
	d := &x.Decision
	quiet := x.Settings.Rules.SettlePeriod(&x.Workload)
	if text := x.nextTold(quiet); text != "" {
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
	case d.Action == reload.Reload && x.State == Waiting && (x.Gate.By == gate.Waves || x.Gate.By == gate.Halted):
		return x.nextTurn()
	case d.Action == reload.Reload && x.State == Waiting && x.Gate.By == gate.Window:
		return x.nextOpening()
	case d.Action == reload.Reload && x.State == Waiting && !x.Gate.Open():
		return fmt.Sprintf("Reroll rolls it with the newest data at %s; to change the limit, set %s", x.Gate.Until.UTC().Format(time.RFC3339), annotations.Churn)
	case x.State == OutOfDate && d.Action == reload.Reload && x.Settings.gone(x.Now):
		return untilInstalled()
	case x.State == OutOfDate && d.Action == reload.Reload:
		return "the controller has to reload it"
	case d.Action == reload.Reload:
		text := fmt.Sprintf("Reroll rolls it %s after the last change, and at most %s after the first", quiet, x.Settings.Rules.Longest(&x.Workload))
		if x.Settings.Controller == "" {
			text += ", if a controller runs: none was found"
		}
		return text
	case d.Action == reload.AwaitRun && x.Workload.Runs.Begun:
		return "when it is resumed, Reroll recreates it; if its Pods end before, it starts with the current data"
	case d.Action == reload.AwaitRun:
		return "when that Job has ended, Reroll creates another one"
	case d.Action == reload.AwaitRollout:
		return "when its rollout has ended, Reroll checks the age of its Pods"
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
		return "nothing, while it is paused: " + resume(&x.Workload)
	case x.Cause != "":
		return "its rollout waits for that; see " + buildinfo.Doc("how-to/stuck-rollouts.md#"+string(x.Cause))
	case x.State == Stuck:
		return "its rollout has exceeded its deadline; see " + buildinfo.Doc("explanation/rollout-tracking.md#the-deadline")
	case x.State == InProgress:
		return "its rollout continues"
	case x.Settings.Webhook != nil:
		return fmt.Sprintf("waiting for changes; Reroll notifies the receiver %s after the last one", quiet)
	default:
		return fmt.Sprintf("waiting for changes; Reroll rolls it %s after the last one", quiet)
	}
}

func untilInstalled() string {
	return "nothing, until a controller runs: to install one, see " + buildinfo.Doc("how-to/install.md")
}

// resume returns how to resume a paused workload.
func resume(w *workload.Workload) string {
	key := w.Key
	switch {
	case key.Kind == "Rollout":
		return "kubectl argo rollouts promote -n " + key.Namespace + " " + key.Name
	case w.Custom:
		return "set spec.paused to false"
	}
	return "kubectl rollout resume -n " + key.Namespace + " " + ref(key)
}

// resumes explains when Reroll ends a pause that it started.
func (x *Explanation) resumes() string {
	if until, ok := x.Workload.PauseUntil(); ok && until.After(x.Now) {
		return fmt.Sprintf("in %s Reroll resumes it, and one rollout brings all changes until then", until.Sub(x.Now).Round(time.Second))
	}
	return "the controller has to resume it"
}

// settings prints the settings of the controller.
func (x *Explanation) settings(p *pageText) { x.Settings.describe(p, x.Now) }

// describe prints the settings and their origin.
func (s *Settings) describe(p *pageText, now time.Time) {
	text := "it was not found (" + s.Assumed + "); assumed are the defaults"
	if s.Assumed != "" && len(s.Beyond) > 0 {
		text += " and " + strings.Join(s.Beyond, " ")
	}
	if s.Assumed == "" {
		text = s.presence(now)
	}
	p.entry("controller", text)
	if s.Webhook != nil {
		p.entry("", "it "+rollsNothing)
	}
	if len(s.Beside) > 0 {
		p.entry("", s.beside())
	}
}

// presence names the controller of the settings, and reports whether it runs.
func (s *Settings) presence(now time.Time) string {
	options, text := strings.Join(s.Beyond, " "), "in namespace "+s.Controller
	if s.life(now) == lifeEnded {
		return s.absence(now) + "; this answer uses its settings, " + cmp.Or(options, "the defaults")
	}
	switch {
	case !s.Heard.IsZero():
		text += ", last active " + ago(s.Heard, now)
	case s.unsure != "":
		text += "; unknown whether it runs: " + s.unsure
	}
	return text + "; " + cmp.Or(options, "its settings are the defaults")
}

// lack returns why no controller is known to run.
func (s *Settings) lack(now time.Time) string {
	switch {
	case s.Assumed != "":
		return "it was not found: " + s.Assumed
	case s.life(now) == lifeEnded:
		return s.absence(now)
	default:
		return "unknown whether it runs: " + s.unsure
	}
}

// absence reports that no controller runs, as far as the user could search for one.
func (s *Settings) absence(now time.Time) string {
	none, last := "none is running", "the last one, in namespace "+s.Controller+","
	switch {
	case s.wanted.named:
		none, last = "none is running in namespace "+s.Controller, "the last one there"
	case s.wanted.partly:
		none = "none is running where you may look"
	case s.wanted.watches != "":
		none = "none that watches namespace " + s.wanted.watches + " is running"
	}
	return none + ": " + last + " " + s.ending(now)
}

// mostBeside is the largest number of other controllers that are named.
const mostBeside = 3

// beside names the controllers that were not chosen, and shows how to choose one.
func (s *Settings) beside() string {
	named := s.Beside[:min(len(s.Beside), mostBeside)]
	text := "another one is in namespace " + named[0]
	if len(named) > 1 {
		text = "others are in the namespaces " + listed(named, "and")
	}
	if more := len(s.Beside) - len(named); more > 0 {
		text = fmt.Sprintf("others are in the namespaces %s and %d more", strings.Join(named, ", "), more)
	}
	return text + "; use --controller-namespace=" + named[0] + " to select that one"
}
