package report

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	clientmetrics "k8s.io/client-go/tools/metrics"

	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Metrics have the names that dashboards for Reloader expect. There are many fields because each
// metric is one.
type Metrics struct {
	registry *prometheus.Registry

	executed *prometheus.CounterVec
	actions  *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	events   *prometheus.CounterVec
	retries  prometheus.Counter
	reverted *prometheus.CounterVec
	unknown  prometheus.Counter
	taken    prometheus.Counter
	often    prometheus.Counter
	rollouts *prometheus.HistogramVec
	stuck    *prometheus.CounterVec
	alerts   *prometheus.CounterVec
	webhooks *prometheus.CounterVec
	unsent   prometheus.Counter
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	errors   *prometheus.CounterVec
	work     work
	// byNamespace is nil if reloads are not counted by namespace.
	byNamespace *prometheus.CounterVec
}

// MetricOptions select optional metrics.
type MetricOptions struct {
	// Kinds are the kinds of workload, to create their series at the start.
	Kinds []string
	// ByNamespace also counts reloads by namespace: one or two more series for each.
	ByNamespace bool
	// Build describes the program.
	Build buildinfo.Info
}

const namespace = "reloader"

// NewMetrics returns all metrics at zero, with a registry of their own.
func NewMetrics(opts MetricOptions) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		executed: counter(namespace, "reload_executed_total", "Reloads by success.", "success"),
		actions:  counter(namespace, "action_total", "Reload writes by kind of workload and result.", "workload_kind", "result"),
		latency:  histogram(namespace, "action_latency_seconds", "Duration of the writes of reloads.", "workload_kind"),
		events:   counter(namespace, "events_received_total", "Objects received from the API server.", "event_type", "resource_type"),
		retries:  total("retries_total", "Writes that failed and are retried."),
		reverted: counter(namespace, "reverted_total", "Reloads that another client reverted while old Pods still ran, by client, as far as known.", "by"),
		unknown:  total("secrets_undecided_total", "Secrets for which Reroll could not decide whether they changed, because the digest key was lost."),
		taken:    total("ledgers_taken_total", "Ledgers that another client removed or reverted again within an hour."),
		often:    total("reloaded_often_total", "Events ReloadedOften, about workloads that are reloaded too often."),
		rollouts: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Name: "rollout_duration_seconds", Help: "Time from a reload until no older Pod was left.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 13),
		}, []string{"workload_kind"}),
		stuck:    counter(namespace, "not_rolled_total", "Reloads, and rollouts by other clients, that did not replace all Pods, by cause.", "cause"),
		webhooks: counter(namespace, "webhooks_total", "Notifications to the receiver of --webhook-url, by result.", "result"),
		alerts:   counter(namespace, "alerts_total", "Alerts by result.", "result"),
		unsent:   total("alert_failures_total", "Attempts to send an alert that failed."),
		requests: counter("rest_client", "requests_total", "Requests to the API server.", "code", "method", "host"),
		duration: histogram("rest_client", "request_duration_seconds", "Duration of requests to the API server.", "verb", "host"),
		errors:   counter(namespace, "errors_total", "Failures by type.", "type"),
		work:     newWork(opts.Kinds),
	}
	m.beginAtZero(opts.Kinds)
	if opts.ByNamespace {
		m.byNamespace = counter(namespace, "reload_executed_total_by_namespace", "Reloads by success and namespace.", "success", "namespace")
		m.registry.MustRegister(m.byNamespace)
	}
	built := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "Always 1, labeled with the version and commit of the program.",
	}, []string{"version", "commit", "goversion"})
	built.WithLabelValues(opts.Build.Version, opts.Build.Commit, opts.Build.Go).Set(1)
	m.work.register(m.registry)
	m.registry.MustRegister(built, m.executed, m.actions, m.latency, m.events, m.retries, m.reverted, m.unknown, m.taken, m.often, m.rollouts, m.stuck, m.alerts, m.webhooks, m.unsent, m.requests, m.duration, m.errors,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// beginAtZero creates the series that are known from the start: an alert on a counter that does not
// exist yet never fires.
func (m *Metrics) beginAtZero(kinds []string) {
	for _, by := range reload.RevertNames() {
		m.reverted.WithLabelValues(by)
	}
	m.executed.WithLabelValues("true")
	m.executed.WithLabelValues("false")
	m.alerts.WithLabelValues("sent")
	m.alerts.WithLabelValues("dropped")
	m.webhooks.WithLabelValues("sent")
	m.webhooks.WithLabelValues("failed")
	for _, kind := range kinds {
		m.actions.WithLabelValues(kind, "success")
		m.actions.WithLabelValues(kind, "failure")
		m.latency.WithLabelValues(kind)
		m.rollouts.WithLabelValues(kind)
	}
	for _, cause := range rollout.Causes() {
		m.stuck.WithLabelValues(string(cause))
	}
	for _, failed := range []string{errWatch, errPods, errWrite, errEvent} {
		m.errors.WithLabelValues(failed)
	}
}

// The labels of failures.
const (
	errWatch = "watch"
	errPods  = "pods"
	errWrite = "write"
	errEvent = "event"
)

func total(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
}

func counter(ns, name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: ns, Name: name, Help: help}, labels)
}

func histogram(ns, name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: ns, Name: name, Help: help, Buckets: prometheus.DefBuckets}, labels)
}

// Registry is the registry to serve.
func (m *Metrics) Registry() *prometheus.Registry { return m.registry }

// WatchDepth adds the length of the queue.
func (m *Metrics) WatchDepth(depth func() int) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: "workqueue_depth", Help: "Workloads that wait to be reconciled, or are being reconciled.",
	}, func() float64 { return float64(depth()) }))
}

// WatchRollouts adds the number of rollouts that have not ended.
func (m *Metrics) WatchRollouts(following func() int) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: "rollouts_under_way", Help: "Rollouts in progress: reloads with older Pods left.",
	}, func() float64 { return float64(following()) }))
}

// WatchMissing adds how many workloads require a source that does not exist, by kind of source.
func (m *Metrics) WatchMissing(lacking func(source.Kind) int) {
	for _, kind := range source.Kinds() {
		if kind.Reported() {
			continue // its sources exist only if a Pod has mounted them
		}
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: namespace, Name: "workloads_missing_source", Help: "Workloads that require a source that does not exist, by kind of source.",
			ConstLabels: prometheus.Labels{"source_kind": kind.String()},
		}, func() float64 { return float64(lacking(kind)) }))
	}
}

// WatchHeld adds how many workloads have a reload that waits, by the gate that is closed.
func (m *Metrics) WatchHeld(heldBy func(gate.Name) int) {
	for _, name := range gate.Names() {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: namespace, Name: "workloads_held", Help: "Workloads with a reload that waits until a gate opens, by gate.",
			ConstLabels: prometheus.Labels{"gate": string(name)},
		}, func() float64 { return float64(heldBy(name)) }))
	}
}

// WatchStopped adds how many sources have data that is not rolled any further.
func (m *Metrics) WatchStopped(stopped func() int) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: "sources_stopped", Help: "Sources with data that is not rolled any further, because workloads failed with it.",
	}, func() float64 { return float64(stopped()) }))
}

// WatchHalted adds whether no reload starts because too many of the latest failed.
func (m *Metrics) WatchHalted(halted func() bool) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: "reloads_halted", Help: "Whether no reload starts, at least in some namespaces, because too many of the latest reloads failed.",
	}, func() float64 { return oneIf(halted()) }))
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// WatchState adds whether the controller is ready, and whether it is the leader.
func (m *Metrics) WatchState(ready, acting func() bool) {
	for _, g := range []struct {
		name, help string
		is         func() bool
	}{
		{"ready", "Whether the caches are synced and all required permissions are granted.", ready},
		{"acting", "Whether this replica may write: it holds the lease, or needs none.", acting},
	} {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: g.name, Help: g.help}, func() float64 { return oneIf(g.is()) }))
	}
}

// CountRequests makes client-go report its requests here. Client-go has one global hook, so only a
// main program may call this.
func (m *Metrics) CountRequests() {
	clientmetrics.Register(clientmetrics.RegisterOpts{
		RequestResult:  requestResult{m.requests},
		RequestLatency: requestLatency{m.duration},
	})
}

type requestResult struct{ counter *prometheus.CounterVec }

// Increment implements an interface of client-go.
func (r requestResult) Increment(_ context.Context, code, method, host string) {
	r.counter.WithLabelValues(code, method, host).Inc()
}

type requestLatency struct{ histogram *prometheus.HistogramVec }

// Observe implements an interface of client-go.
func (r requestLatency) Observe(_ context.Context, verb string, u url.URL, latency time.Duration) {
	r.histogram.WithLabelValues(verb, u.Host).Observe(latency.Seconds())
}

func (m *Metrics) failed(what string) { m.errors.WithLabelValues(what).Inc() }

func (m *Metrics) countReverted(by string) { m.reverted.WithLabelValues(by).Inc() }

func (m *Metrics) alerted(result string, n int) { m.alerts.WithLabelValues(result).Add(float64(n)) }

func (m *Metrics) webhook(result string) { m.webhooks.WithLabelValues(result).Inc() }

func (m *Metrics) alertFailed() { m.unsent.Inc() }

func (m *Metrics) rolled(kind string, took time.Duration) {
	m.rollouts.WithLabelValues(kind).Observe(took.Seconds())
}

func (m *Metrics) notRolled(cause rollout.Cause) { m.stuck.WithLabelValues(string(cause)).Inc() }

func (m *Metrics) retried() { m.retries.Inc() }

func (m *Metrics) reloaded(key workload.Key, success bool, took time.Duration) {
	m.executed.WithLabelValues(strconv.FormatBool(success)).Inc()
	if m.byNamespace != nil {
		m.byNamespace.WithLabelValues(strconv.FormatBool(success), key.Namespace).Inc()
	}
	if !success {
		m.actions.WithLabelValues(key.Kind, "failure").Inc()
		return
	}
	m.actions.WithLabelValues(key.Kind, "success").Inc()
	m.latency.WithLabelValues(key.Kind).Observe(took.Seconds())
}
