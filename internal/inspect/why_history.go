package inspect

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// history prints what the controller did, and the next step.
func (x *Explanation) history(p *pageText) {
	if !x.Workload.Policy.OptedIn(x.Settings.Rules.AutoReloadAll) && !x.Ledger.There {
		return
	}
	p.entry("ledger", x.ledger())
	if x.Mode != "" {
		p.entry("mode", x.Mode)
	}
	for _, text := range x.Approvals {
		p.entry("approval", text)
	}
	for _, text := range x.Freezes {
		p.entry("freeze", oneLine(text))
	}
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
		marks = append(marks, "annotation "+x.Settings.Rules.Names.LastReloadedFrom)
	}
	if len(marks) > 0 {
		text += "; marks: " + listed(marks, "and")
	}
	return text
}

// settings prints the settings of the controller.
func (x *Explanation) settings(p *pageText) { x.Settings.describe(p, x.Now) }

// describe prints the settings and their origin.
func (s *Settings) describe(p *pageText, now time.Time) {
	text := "not found (" + s.Assumed + "); this answer assumes the defaults"
	if s.Assumed != "" && len(s.Beyond) > 0 {
		text += " and " + strings.Join(s.Beyond, " ")
	}
	if s.Assumed == "" {
		text = s.presence(now)
	}
	p.entry("controller", text)
	if s.Rules.NotifyOnly {
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
		text += ", last active " + s.ago(s.Heard, now)
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
		none = "none is running in the namespaces that you may read"
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
