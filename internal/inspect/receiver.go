package inspect

import (
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/reload"
)

// rollsNothing is said where a receiver is told of changes instead.
const rollsNothing = "rolls nothing, and tells a receiver of changes instead (--webhook-url)"

// receiver is whom the controller tells of changes instead of rolling anything, without what may be a token; empty if it rolls.
func (s *Settings) receiver() string {
	if s.Webhook == nil {
		return ""
	}
	return config.WithoutToken(s.Webhook.String())
}

// does is what a source does whose changes are acted upon.
func (s *Settings) does() string {
	if s.Webhook != nil {
		return "is told to the receiver when it changes"
	}
	return "rolls it"
}

// beforeTold says what shows that pods may not have what a receiver was told of, empty if nothing does: the ledger has the new
// content from when the receiver has taken the message, whatever it does then. It does not matter whether there still is a
// receiver.
func (e *Evaluation) beforeTold(a *Answer) string {
	if !a.Ledger.There || a.Ledger.Err != nil || a.Ledger.Told == 0 {
		return ""
	}
	told := time.Unix(a.Ledger.Told, 0)
	if runs := a.Workload.Runs; runs != nil {
		if runs.Suspended || !runs.Last.Before(told) {
			return ""
		}
		return "its latest run began before the receiver was told"
	}
	if a.Pods == nil && e.ask(a) == nil {
		return "" // it is unknown then
	}
	n := 0
	for i := range a.Pods.all {
		if a.Pods.all[i].Created.Before(told) {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d pods are from before the receiver was told", n, a.Pods.Count)
}

// nextTold is what happens next where a receiver is told, as far as that differs from where workloads are rolled.
func (x *Explanation) nextTold(quiet time.Duration) string {
	d := &x.Decision
	if x.LeftOut != "" || x.State == NotOptedIn {
		return ""
	}
	switch {
	case x.Settings.Webhook == nil && x.toldBefore():
		return "it is rolled when a source changes again: of the change before, a receiver was told, and there is none now"
	case x.Settings.Webhook == nil:
		return ""
	case d.Action == reload.Reload && x.State == Waiting:
		return fmt.Sprintf("the receiver is told when its sources were quiet for %s, %s at most", quiet, x.Settings.Rules.Longest(&x.Workload))
	case d.Action == reload.Reload:
		return "as soon as the controller acts, the receiver is told, and again until it takes the message"
	case d.Action == reload.AwaitRun && !x.Workload.Runs.Begun:
		return "when that Job has ended, the receiver is told"
	case x.toldBefore():
		return "nothing by the controller: what follows is up to the receiver, which has taken the message"
	default:
		return ""
	}
}

// toldBefore reports whether pods are from before a receiver was told.
func (x *Explanation) toldBefore() bool {
	return x.State == Stale && x.Ledger.Told != 0 && x.Since.Equal(time.Unix(x.Ledger.Told, 0))
}

// told is what a plan says where a receiver is told.
func (p *Plan) told(verb string) string {
	if len(p.Rolled) == 0 {
		return fmt.Sprintf("%s %s rolls nothing, and the receiver is told of no workload (--webhook-url).", verb, p.Source)
	}
	return fmt.Sprintf("%s %s rolls nothing by itself. The receiver is told of %s (--webhook-url):", verb, p.Source, counted(int64(len(p.Rolled)), "workload"))
}
