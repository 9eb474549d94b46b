// Package report reports what happened: in the log, as events on workloads, as metrics and as
// alerts.
package report

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/reroll-dev/reroll/internal/notice"
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
	// dryRun changes texts to "would", and sends no events and no alerts.
	dryRun bool
}

// New returns a Report with all sinks. Alerts may be nil.
func New(log *slog.Logger, events *Events, metrics *Metrics, alerts *Alerts, dryRun bool) *Report {
	events.failed = func() { metrics.failed(errEvent) }
	return &Report{log: log, events: events, metrics: metrics, alerts: alerts, dryRun: dryRun}
}

// Reloaded is called after a reload was written, or would have been in a dry run.
func (r *Report) Reloaded(w *workload.Workload, d reload.Decision, took time.Duration) {
	last := d.Changes[len(d.Changes)-1].Source.Key
	if r.dryRun {
		r.log.Info(fmt.Sprintf("Changes detected in '%s' of type '%s' in namespace '%s'; would update '%s' of type '%s' in namespace '%s' (dry run)",
			sources(d), last.Kind.Type(), namespaceOf(last), w.Key.Name, w.Key.Kind, w.Key.Namespace))
		return
	}
	r.log.Info(fmt.Sprintf("Changes detected in '%s' of type '%s' in namespace '%s'; updated '%s' of type '%s' in namespace '%s'",
		sources(d), last.Kind.Type(), namespaceOf(last), w.Key.Name, w.Key.Kind, w.Key.Namespace))
	r.metrics.reloaded(w.Key, true, took)
	r.events.publish(notice.Workload(w), normal, reloadedReason, fmt.Sprintf("Changes detected in '%s' of type '%s' in namespace '%s', Updated '%s' of type '%s' in namespace '%s'",
		sources(d), last.Kind.Type(), namespaceOf(last), w.Key.Name, w.Key.Kind, w.Key.Namespace))
	r.alerts.add(alert{text: say("Reloader detected changes in *%s* of type *%s* in namespace *%s*. Hence reloaded *%s* of type *%s* in namespace *%s*",
		sources(d), last.Kind.Type(), namespaceOf(last), w.Key.Name, w.Key.Kind, w.Key.Namespace)})
}

// namespaceOf returns the namespace of a source for sentences that name one.
func namespaceOf(src source.Key) string { return cmp.Or(src.Origin().Namespace, "(none)") }

// Notify emits an event on an object, and logs it if it is a warning.
func (r *Report) Notify(n notice.Notice) {
	if n.Reason == notice.ReloadedOften {
		r.metrics.often.Inc()
	}
	kind := normal
	if n.Warning {
		kind = warning
		r.log.Warn(n.Text, n.SubjectKind, n.Subject)
	}
	if r.dryRun {
		return
	}
	send := func() {
		if n.Alert {
			r.alerts.add(alert{failed: n.Warning, text: say("Reloader reports *%s* on *%s* of type *%s* in namespace *%s*: %s", n.Reason, n.About.Name, n.About.Kind, n.About.Namespace, n.Text)})
		}
	}
	if n.Once == "" {
		r.events.publish(n.About, kind, n.Reason, n.Text)
		send()
	} else {
		r.events.publishOnce(n.About, kind, n.Reason, n.Text, n.Once, send)
	}
}

// Failed is called when a write or a LIST of Pods failed that will be retried. Only the first
// failure in a row is an event, so that a rejection that lasts for days does not fill etcd.
func (r *Report) Failed(w *workload.Workload, d reload.Decision, err error, retryIn time.Duration, again bool) {
	text := "write failed; retrying"
	if d.Action == reload.ListPods {
		text = "list of Pods failed; retrying"
	}
	r.log.Warn(text, "workload", w.Key.String(), "action", d.Action.String(), "error", err.Error(), "retry in", retryIn.String())
	r.metrics.retried()
	if d.Action == reload.ListPods {
		r.metrics.failed(errPods)
	} else {
		r.metrics.failed(errWrite)
	}
	if d.Action == reload.Resume && !again {
		r.events.publish(notice.Workload(w), warning, "ResumeFail", fmt.Sprintf("The pause of this %s has ended, but Reroll could not resume it: %v. Reroll retries", w.Key.Kind, err))
	}
	if d.Action != reload.Reload {
		return
	}
	r.metrics.reloaded(w.Key, false, 0)
	if again {
		return
	}
	r.events.publish(notice.Workload(w), warning, reloadFailReason, fmt.Sprintf("Update for '%s' of type '%s' in namespace '%s' failed with error %v",
		w.Key.Name, w.Key.Kind, w.Key.Namespace, err))
}

// maxNames bounds the list of sources in one message.
const maxNames = 512

// sources names the source that changed last, then the others.
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
