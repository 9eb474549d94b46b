package inspect

import (
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/reload"
)

// rollsNothing is printed if a receiver is notified of changes instead.
const rollsNothing = "rolls nothing, and notifies a receiver of changes instead (--webhook-url)"

// receiver is the address that the controller notifies of changes instead of rolling anything, without what may be a token;
// empty if it rolls.
func (s *Settings) receiver() string {
	if s.Webhook == nil {
		return ""
	}
	return config.WithoutToken(s.Webhook.String())
}

// does is what a source does whose changes are acted upon.
func (s *Settings) does() string {
	if s.Webhook != nil {
		return "is sent to the receiver when it changes"
	}
	return "rolls it"
}

// beforeTold returns what shows that Pods may lack the data of which a receiver was notified, empty if nothing does: the
// ledger has the new data as soon as the receiver accepted the message, whatever it does then. It does not matter whether
// there still is a receiver.
func (e *Evaluation) beforeTold(a *Answer) string {
	if !a.Ledger.There || a.Ledger.Err != nil || a.Ledger.NotifiedAt == 0 {
		return ""
	}
	told := time.Unix(a.Ledger.NotifiedAt, 0)
	if runs := a.Workload.Runs; runs != nil {
		if runs.Suspended || !runs.Last.Before(told) {
			return ""
		}
		return "its latest run began before the receiver was notified"
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
	return fmt.Sprintf("%d of %d Pods are older than the notification of the receiver", n, a.Pods.Count)
}

// nextTold is what happens next if a receiver is notified, as far as that differs from where workloads are
// rolled.
func (x *Explanation) nextTold(quiet time.Duration) string {
	d := &x.Decision
	if x.LeftOut != "" || x.State == NotOptedIn {
		return ""
	}
	switch {
	case x.Settings.Webhook == nil && x.toldBefore():
		return "Reroll rolls it when a source changes again: a receiver was notified of the previous change, and none is configured now"
	case x.Settings.Webhook == nil:
		return ""
	case d.Action == reload.Reload && x.State == Waiting:
		return fmt.Sprintf("Reroll notifies the receiver %s after the last change, and at most %s after the first", quiet, x.Settings.Rules.Longest(&x.Workload))
	case d.Action == reload.Reload:
		return "the controller has to notify the receiver, and retries until the receiver accepts the message"
	case d.Action == reload.AwaitRun && !x.Workload.Runs.Begun:
		return "when that Job has ended, Reroll notifies the receiver"
	case x.toldBefore():
		return "nothing by Reroll: the receiver accepted the message, and has to act on it"
	default:
		return ""
	}
}

// toldBefore reports whether Pods are older than the notification of a receiver.
func (x *Explanation) toldBefore() bool {
	return x.State == OutOfDate && x.Ledger.NotifiedAt != 0 && x.Since.Equal(time.Unix(x.Ledger.NotifiedAt, 0))
}

// told is the text of a plan if a receiver is notified.
func (p *Plan) told(verb string) string {
	if len(p.Rolled) == 0 {
		return fmt.Sprintf("%s %s rolls nothing, and notifies the receiver about no workload (--webhook-url).", verb, p.Source)
	}
	return fmt.Sprintf("%s %s rolls nothing. Reroll notifies the receiver about %s (--webhook-url):", verb, p.Source, counted(int64(len(p.Rolled)), "workload"))
}
