// Package report tells what happened: in the log, as events on workloads, as metrics and as alerts.
package report

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/controller"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Report implements controller.Report.
type Report struct {
	log     *slog.Logger
	events  *Events
	metrics *Metrics
	alerts  *Alerts
	// dryRun says "would", publishes no event and sends no alert.
	dryRun bool

	onceUndecided sync.Once
}

// New returns one that tells everything to everybody. Without alerts there are none.
func New(log *slog.Logger, events *Events, metrics *Metrics, alerts *Alerts, dryRun bool) *Report {
	events.failed = func() { metrics.failed(errEvent) }
	return &Report{log: log, events: events, metrics: metrics, alerts: alerts, dryRun: dryRun}
}

// Seen counts what arrives.
func (r *Report) Seen(event, resource string) { r.metrics.seen(event, resource) }

// Processed counts what has been taken in.
func (r *Report) Processed(event, resource string) { r.metrics.work.processed(event, resource) }

// WatchFailed counts watches and lists that have to be tried again.
func (r *Report) WatchFailed() { r.metrics.failed(errWatch) }

// Queued counts workloads that come to wait.
func (r *Report) Queued() { r.metrics.work.queued() }

// Waited notes by how much later a workload was handed out than it was due.
func (r *Report) Waited(late time.Duration) { r.metrics.work.waited(late) }

// Looked counts looks at workloads.
func (r *Report) Looked(l controller.Look) { r.metrics.work.looked(l) }

// Reloaded is called after a reload was written, or would have been in a dry run.
func (r *Report) Reloaded(w *workload.Workload, d reload.Decision, took time.Duration) {
	last := d.Changes[len(d.Changes)-1].Source.Key
	if r.dryRun {
		r.log.Info(fmt.Sprintf("Changes detected in '%s' of type '%s' in namespace '%s'; would update '%s' of type '%s' in namespace '%s' (dry run)",
			sources(d), last.Kind.Type(), last.Namespace, w.Key.Name, w.Key.Kind, w.Key.Namespace))
		return
	}
	r.log.Info(fmt.Sprintf("Changes detected in '%s' of type '%s' in namespace '%s'; updated '%s' of type '%s' in namespace '%s'",
		sources(d), last.Kind.Type(), last.Namespace, w.Key.Name, w.Key.Kind, w.Key.Namespace))
	r.metrics.reloaded(w.Key, true, took)
	r.events.publish(w, normal, "Reloaded", fmt.Sprintf("Changes detected in '%s' of type '%s' in namespace '%s', Updated '%s' of type '%s' in namespace '%s'",
		sources(d), last.Kind.Type(), last.Namespace, w.Key.Name, w.Key.Kind, w.Key.Namespace))
	r.alerts.add(alert{text: say("Reloader detected changes in *%s* of type *%s* in namespace *%s*. Hence reloaded *%s* of type *%s* in namespace *%s*",
		sources(d), last.Kind.Type(), last.Namespace, w.Key.Name, w.Key.Kind, w.Key.Namespace)})
}

// LedgerTaken is called when a ledger was taken away or set back again, so soon that it is kept in memory alone.
func (r *Report) LedgerTaken(w *workload.Workload, lastWritten time.Time) {
	r.metrics.ledgerTaken()
	r.log.Warn("the ledger of a workload was taken away or set back again; it is kept in memory until it may be written once more",
		"workload", w.Key.String(), "annotation", annotations.Ledger, "lastWritten", lastWritten.UTC().Format(time.RFC3339))
}

// TooNew is called when a ledger cannot be read because a newer version of this program has written it.
func (r *Report) TooNew(w *workload.Workload) {
	r.tell(w, warning, "LedgerTooNew", fmt.Sprintf("Changes of its sources do not roll this %s: a newer version of Reroll has written its annotation %s, which this version cannot read. Run that version again, or remove the annotation",
		w.Key.Kind, annotations.Ledger))
}

// BesideReloader is called when Reloader rolls a workload, too.
func (r *Report) BesideReloader(w *workload.Workload) {
	r.tell(w, warning, otherController, besideReloader)
}

// UnreadableCopy is called for the copy of a Job that was to be made again, of which nobody can tell what it is the copy of.
func (r *Report) UnreadableCopy(w *workload.Workload, why error) {
	r.tell(w, warning, "UnreadableCopy", fmt.Sprintf("This Job is a copy, by its annotation reroll.dev/replaces, which cannot be read: %v. Nothing is done with it. "+
		"Look whether the Job is there that it was made of, whose name it begins with, make that again if not, and delete this one", why))
}

// NotSigned is called for a Job that says that Reroll has made it, and that the key of this installation has not signed.
func (r *Report) NotSigned(w *workload.Workload, by kinds.Claim) {
	what := map[kinds.Claim]string{
		kinds.ClaimsCopy: "Reroll deletes and creates no Job because of it. Check that the Job exists whose name this one begins with. Create it if it is missing, then delete this one: kubectl delete job %[1]s --namespace %[2]s",
		kinds.ClaimsHeld: "Reroll does not let it run. Delete it, or let it run: " + letRun,
		kinds.ClaimsRun:  "Reroll does not let it run and does not use its ledger. Delete it: kubectl delete job %[1]s --namespace %[2]s",
	}[by]
	r.tell(w, warning, "NotSigned", fmt.Sprintf("This Job has %[3]s, but no valid signature in reroll.dev/signed: Reroll did not create it, somebody has changed it since, or the digest key was lost. "+what,
		w.Key.Name, w.Key.Namespace, by))
}

// letRun is the command that lets a held Job run.
const letRun = `kubectl patch job %[1]s --namespace %[2]s --type merge --patch '{"metadata":{"annotations":{"reroll.dev/held":null}},"spec":{"suspend":false}}'`

// LeftToOwner is called when a workload was opted in that is left to the one that makes it, and that one is not.
func (r *Report) LeftToOwner(w *workload.Workload, owner workload.Key) {
	r.tell(w, warning, "LeftToOwner", fmt.Sprintf("Nothing rolls this %s: %s %s makes it and would be rolled in its place, but is not opted in. Write the annotations there",
		w.Key.Kind, owner.Kind, owner.Name))
}

// StaysHeld is called for a Job that was to take the place of another one, and of which nobody can tell whether it did.
func (r *Report) StaysHeld(w *workload.Workload) {
	r.tell(w, warning, "StaysHeld", fmt.Sprintf("This Job was made in the place of another one and is held by its annotation reroll.dev/held. There is no copy any more, so it may have run already under this name. "+
		"Delete it if so; else let it run: "+letRun, w.Key.Name, w.Key.Namespace))
}

// CameLate is called for a Job of another workload that stays held: that one has had another Job for the change, or is opted out.
func (r *Report) CameLate(w *workload.Workload, of workload.Key) {
	r.tell(w, warning, "StaysHeld", fmt.Sprintf("This Job was made for %s %s and is held by its annotation reroll.dev/held. Reroll does not unsuspend it any more, because another Job was made "+
		"for the same change, or because the %s was opted out. Delete it: kubectl delete job %s --namespace %s", of.Kind, of.Name, of.Kind, w.Key.Name, w.Key.Namespace))
}

// WithoutTemplate is called for the first object of a kind that has no pod template at the path of its kind, which a user may
// have given.
func (r *Report) WithoutTemplate(w *workload.Workload, path string, given bool) {
	text := fmt.Sprintf("This %s has no pod template with containers at %s, so it is not rolled, and neither are others like it", w.Key.Kind, path)
	if given {
		text += ". Where the template is, is said by --workload-kind=GROUP/VERSION/KIND:path.to.template"
	}
	r.tell(w, warning, "NoPodTemplate", text)
}

// Undecided is called when nothing could tell whether some Secrets of a workload changed. It is told once: what is lost
// concerns all workloads.
func (r *Report) Undecided(w *workload.Workload, secrets int) {
	r.metrics.undecided(secrets)
	r.onceUndecided.Do(func() {
		r.log.Warn("the digest key is another one than before: whether Secrets from before it lost keys meanwhile cannot be told, and they are taken for unchanged",
			"workload", w.Key.String(), "secrets", secrets, "metric", "reloader_secrets_undecided_total")
	})
}

// Unproven is called when sources were written after Pods of a workload started, while nobody watched, and nothing shows whether
// their data changed.
func (r *Report) Unproven(w *workload.Workload, sources []source.Key) {
	first := sources[0]
	what := fmt.Sprintf("%s '%s' was", first.Kind, first.Name)
	if len(sources) > 1 {
		what = fmt.Sprintf("%s '%s' and %d more sources were", first.Kind, first.Name, len(sources)-1)
	}
	r.tell(w, warning, "Undecided", what+" written after Pods of this "+w.Key.Object()+" started, before Reroll had recorded anything about it. Whether the data changed, or "+
		"only a label or an annotation, cannot be told, so nothing was reloaded"+restartHint(w))
}

// restartHint is the command that replaces the Pods of a workload, where kubectl has one.
func restartHint(w *workload.Workload) string {
	switch w.Key.Kind {
	case "Deployment", "StatefulSet", "DaemonSet":
		return fmt.Sprintf(". To replace the Pods: kubectl rollout restart %s %s --namespace %s", strings.ToLower(w.Key.Kind), w.Key.Name, w.Key.Namespace)
	default:
		return ""
	}
}

// Failed is called when a write failed that will be tried again. Only the first failure of a row is an event: who looks
// at the workload sees it there, and a refusal that lasts for days does not fill etcd.
func (r *Report) Failed(w *workload.Workload, d reload.Decision, err error, retryIn time.Duration, again bool) {
	r.log.Warn("writing failed, trying again", "workload", w.Key.String(), "action", d.Action.String(), "error", err.Error(), "retry in", retryIn.String())
	r.metrics.retried()
	if d.Action == reload.AskPods {
		r.metrics.failed(errPods)
	} else {
		r.metrics.failed(errWrite)
	}
	if d.Action == reload.Resume && !again {
		r.events.publish(w, warning, "ResumeFail", fmt.Sprintf("The pause of this %s is over, and it could not be resumed: %v. It is tried again", w.Key.Kind, err))
	}
	if d.Action != reload.Reload {
		return
	}
	r.metrics.reloaded(w.Key, false, 0)
	if again {
		return
	}
	r.events.publish(w, warning, "ReloadFail", fmt.Sprintf("Update for '%s' of type '%s' in namespace '%s' failed with error %v",
		w.Key.Name, w.Key.Kind, w.Key.Namespace, err))
}

// maxNames bounds the list of sources in one message.
const maxNames = 512

// sources names the source that changed last, and the others behind it.
func sources(d reload.Decision) phrase {
	last := len(d.Changes) - 1
	text := d.Changes[last].Source.Key.Name
	if last == 0 {
		return say("%s", text)
	}
	var others phrase
	length := 0
	for i := last - 1; i >= 0; i-- {
		if len(others) > 0 {
			others = append(others, ours(", ")...)
		}
		name := d.Changes[i].Source.Key.Name
		if length += len(name) + 2; length > maxNames {
			others = append(others, ours("…")...)
			break
		}
		others = append(others, say("%s", name)...)
	}
	return say("%s (and %s more: %s)", text, last, others)
}
