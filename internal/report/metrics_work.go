package report

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/reroll-dev/reroll/internal/controller"
)

// work are the metrics of the loop: received objects, queue, and reconciliations with their
// results.
type work struct {
	taken           *prometheus.CounterVec
	adds            prometheus.Counter
	wait            prometheus.Histogram
	reconciliations *prometheus.CounterVec
	durations       *prometheus.HistogramVec
	skips           *prometheus.CounterVec
	scanned         *prometheus.CounterVec
	matched         *prometheus.CounterVec
}

func newWork(kinds []string) work {
	w := work{
		taken: counter(namespace, "events_processed_total", "Objects received from the API server and processed.", "event_type", "resource_type", "result"),
		adds: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: namespace, Name: "workqueue_adds_total", Help: "Workloads that were added to the queue.",
		}),
		wait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: namespace, Name: "workqueue_latency_seconds", Help: "Time that a due workload waited to be reconciled.", Buckets: prometheus.DefBuckets,
		}),
		reconciliations: counter(namespace, "reconcile_total", "Reconciliations of workloads by result.", "result"),
		durations:       histogram(namespace, "reconcile_duration_seconds", "Duration of reconciliations of workloads.", "result"),
		skips:           counter(namespace, "skipped_total", "Reconciliations that rolled nothing, and changes that need none, by reason.", "reason"),
		scanned:         counter(namespace, "workloads_scanned_total", "Workloads that were reconciled.", "kind"),
		matched:         counter(namespace, "workloads_matched_total", "Workloads that needed a reload.", "kind"),
	}
	for _, result := range controller.Results() {
		w.reconciliations.WithLabelValues(string(result))
		w.durations.WithLabelValues(string(result))
	}
	for _, reason := range controller.SkipReasons() {
		w.skips.WithLabelValues(string(reason))
	}
	for _, kind := range kinds {
		w.scanned.WithLabelValues(kind)
		w.matched.WithLabelValues(kind)
	}
	return w
}

func (w *work) register(on prometheus.Registerer) {
	on.MustRegister(w.taken, w.adds, w.wait, w.reconciliations, w.durations, w.skips, w.scanned, w.matched)
}

func (w *work) processed(event, resource string) {
	w.taken.WithLabelValues(event, resource, "success").Inc()
}

func (w *work) spared(workloads int) {
	w.skips.WithLabelValues(string(controller.SkippedKeys)).Add(float64(workloads))
}

func (w *work) queued() { w.adds.Inc() }

func (w *work) waited(late time.Duration) { w.wait.Observe(late.Seconds()) }

func (w *work) reconciled(l controller.Reconciliation) {
	w.reconciliations.WithLabelValues(string(l.Result)).Inc()
	w.durations.WithLabelValues(string(l.Result)).Observe(l.Took.Seconds())
	if l.Skipped != "" {
		w.skips.WithLabelValues(string(l.Skipped)).Inc()
	}
	if l.Scanned {
		w.scanned.WithLabelValues(l.Kind).Inc()
	}
	if l.Matched {
		w.matched.WithLabelValues(l.Kind).Inc()
	}
}
