package inspect

import (
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/internal/reload"
)

// rollsNothing is the message if a receiver is notified of changes instead of rollouts.
const rollsNothing = "rolls nothing, and notifies a receiver of changes instead (--webhook-url)"

// does describes the effect of a change of a source.
func (s *Settings) does() string {
	if s.Rules.NotifyOnly {
		return "is sent to the receiver when it changes"
	}
	return "rolls it"
}

// olderThanNotification returns the reason why Pods may lack the data in a notification, or empty.
// The ledger has the new data as soon as the receiver accepts the message, even if the receiver
// then does nothing. The result does not depend on whether a receiver is still configured.
func (e *Evaluation) olderThanNotification(a *Answer) string {
	if !a.Ledger.There || a.Ledger.Err != nil || a.Ledger.NotifiedAt == 0 {
		return ""
	}
	notified := time.Unix(a.Ledger.NotifiedAt, 0)
	if runs := a.Workload.Runs; runs != nil {
		if runs.Suspended || !runs.Last.Before(notified) {
			return ""
		}
		return "its latest run began before the receiver was notified"
	}
	if a.Pods == nil && e.ask(a) == nil {
		return "" // the state is unknown then
	}
	n := 0
	for i := range a.Pods.all {
		if a.Pods.all[i].Created.Before(notified) {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d Pods are older than the notification of the receiver", n, a.Pods.Count)
}

// afterNotification returns the next step if a receiver is notified, or empty if the next step is as
// for a rollout.
func (x *Explanation) afterNotification(settle time.Duration) string {
	d := &x.Decision
	if x.LeftOut != "" || x.State == NotOptedIn {
		return ""
	}
	switch {
	case !x.Settings.Rules.NotifyOnly && x.predatesNotification():
		return "Reroll rolls it when a source changes again: a receiver was notified of the previous change, and none is configured now"
	case !x.Settings.Rules.NotifyOnly:
		return ""
	case d.Action == reload.Reload && x.State == Waiting:
		return fmt.Sprintf("Reroll notifies the receiver %s after the last change, and at most %s after the first", settle, x.Settings.Rules.Longest(&x.Workload))
	case d.Action == reload.Reload:
		return "the controller has to notify the receiver, and retries until the receiver accepts the message"
	case d.Action == reload.AwaitRun && !x.Workload.Runs.Begun:
		return "when that Job has ended, Reroll notifies the receiver"
	case x.predatesNotification():
		return "nothing by Reroll: the receiver accepted the message, and has to act on it"
	default:
		return ""
	}
}

// predatesNotification reports whether Pods are older than the notification of a receiver.
func (x *Explanation) predatesNotification() bool {
	return x.State == OutOfDate && x.Ledger.NotifiedAt != 0 && x.Since.Equal(time.Unix(x.Ledger.NotifiedAt, 0))
}

// notifiedText returns the text of a plan if a receiver is notified.
func (p *Plan) notifiedText(verb string) string {
	if len(p.Rolled) == 0 {
		return fmt.Sprintf("%s %s rolls nothing, and notifies the receiver about no workload (--webhook-url).", verb, p.Source)
	}
	return fmt.Sprintf("%s %s rolls nothing. Reroll notifies the receiver about %s (--webhook-url):", verb, p.Source, counted(int64(len(p.Rolled)), "workload"))
}
