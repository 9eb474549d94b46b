package report

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/controller"
	"github.com/reroll-dev/reroll/internal/reload"
)

// series reads all that is served: the value by name and labels, and of histograms count and sum.
func series(t *testing.T, m *Metrics) map[string]float64 {
	t.Helper()
	families, err := m.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName() + labels(metric)
			if h := metric.GetHistogram(); h != nil {
				all[name+" count"], all[name+" sum"] = float64(h.GetSampleCount()), h.GetSampleSum()
				continue
			}
			all[name] = metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
		}
	}
	return all
}

func labels(m *dto.Metric) string {
	var pairs []string
	for _, pair := range m.GetLabel() {
		pairs = append(pairs, pair.GetName()+"="+strconv.Quote(pair.GetValue()))
	}
	if pairs == nil {
		return ""
	}
	slices.Sort(pairs)
	return "{" + strings.Join(pairs, ",") + "}"
}

func TestReportsAreCounted(t *testing.T) {
	d := newDesk(t, false)
	for about, tc := range map[string]struct {
		tell func()
		want map[string]float64 // by how much it grows
	}{
		"a reload": {func() { d.Reloaded(web(), reloadFor("greeting"), 250*time.Millisecond) }, map[string]float64{
			`reloader_reload_executed_total{success="true"}`:                               1,
			`reloader_reload_executed_total_by_namespace{namespace="shop",success="true"}`: 1,
			`reloader_action_total{result="success",workload_kind="Deployment"}`:           1,
			`reloader_action_latency_seconds{workload_kind="Deployment"} count`:            1,
			`reloader_action_latency_seconds{workload_kind="Deployment"} sum`:              .25,
		}},
		"a reload that failed": {func() { d.Failed(web(), reloadFor("greeting"), errors.New("no"), time.Second, true) }, map[string]float64{
			`reloader_reload_executed_total{success="false"}`:                               1,
			`reloader_reload_executed_total_by_namespace{namespace="shop",success="false"}`: 1,
			`reloader_action_total{result="failure",workload_kind="Deployment"}`:            1,
			`reloader_retries_total`:              1,
			`reloader_errors_total{type="write"}`: 1,
		}},
		"pods that cannot be read": {func() { d.Failed(web(), reload.Decision{Action: reload.ListPods}, errors.New("no"), time.Second, true) }, map[string]float64{
			`reloader_retries_total`:             1,
			`reloader_errors_total{type="pods"}`: 1,
		}},
		"a look that rolled": {func() {
			d.metrics.Reconciled(controller.Reconciliation{Kind: "Deployment", Result: controller.Succeeded, Scanned: true, Matched: true, Took: 500 * time.Millisecond})
		}, map[string]float64{
			`reloader_reconcile_total{result="success"}`:                  1,
			`reloader_reconcile_duration_seconds{result="success"} count`: 1,
			`reloader_reconcile_duration_seconds{result="success"} sum`:   .5,
			`reloader_workloads_scanned_total{kind="Deployment"}`:         1,
			`reloader_workloads_matched_total{kind="Deployment"}`:         1,
		}},
		"a look that found nothing to do": {func() {
			d.metrics.Reconciled(controller.Reconciliation{Kind: "Deployment", Result: controller.Succeeded, Scanned: true, Skipped: controller.SkippedUnchanged})
		}, map[string]float64{
			`reloader_reconcile_total{result="success"}`:                  1,
			`reloader_reconcile_duration_seconds{result="success"} count`: 1,
			`reloader_workloads_scanned_total{kind="Deployment"}`:         1,
			`reloader_skipped_total{reason="unchanged"}`:                  1,
		}},
		"a look at what is gone": {func() {
			d.metrics.Reconciled(controller.Reconciliation{Kind: "Deployment", Result: controller.Succeeded, Skipped: controller.SkippedGone})
		}, map[string]float64{
			`reloader_reconcile_total{result="success"}`:                  1,
			`reloader_reconcile_duration_seconds{result="success"} count`: 1,
			`reloader_skipped_total{reason="gone"}`:                       1,
		}},
		"a watch that failed": {d.metrics.WatchFailed, map[string]float64{`reloader_errors_total{type="watch"}`: 1}},
		"an object": {func() { d.metrics.Seen("add", "secrets"); d.metrics.Processed("add", "secrets") }, map[string]float64{
			`reloader_events_received_total{event_type="add",resource_type="secrets"}`:                   1,
			`reloader_events_processed_total{event_type="add",resource_type="secrets",result="success"}`: 1,
		}},
		"the queue": {func() { d.metrics.Queued(); d.metrics.Waited(2 * time.Second) }, map[string]float64{
			`reloader_workqueue_adds_total`:            1,
			`reloader_workqueue_latency_seconds count`: 1,
			`reloader_workqueue_latency_seconds sum`:   2,
		}},
		"an event that is refused": {func() {
			d.server.status = http.StatusForbidden
			d.events.create(t.Context(), pendingEvent{&eventsv1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}}, func() {}})
		}, map[string]float64{`reloader_errors_total{type="event"}`: 1}},
	} {
		t.Run(about, func(t *testing.T) {
			before := series(t, d.metrics)
			tc.tell()
			for name, value := range series(t, d.metrics) {
				if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
					continue
				}
				if grown := value - before[name]; grown != tc.want[name] {
					t.Errorf("%s grew by %v, want %v", name, grown, tc.want[name])
				}
				delete(tc.want, name)
			}
			for name := range tc.want {
				t.Errorf("%s is not served", name)
			}
		})
	}
}

func TestSeriesThatAreSummedUpAreThereFromTheStart(t *testing.T) {
	all := series(t, NewMetrics(MetricOptions{Kinds: []string{"Deployment", "DaemonSet"}}))
	for _, name := range []string{
		`reloader_reload_executed_total{success="true"}`, `reloader_reload_executed_total{success="false"}`,
		`reloader_action_total{result="failure",workload_kind="DaemonSet"}`, `reloader_action_latency_seconds{workload_kind="Deployment"} count`,
		`reloader_reconcile_total{result="requeued"}`, `reloader_reconcile_duration_seconds{result="error"} count`,
		`reloader_skipped_total{reason="dry_run"}`, `reloader_errors_total{type="watch"}`,
		`reloader_workloads_scanned_total{kind="DaemonSet"}`, `reloader_workloads_matched_total{kind="Deployment"}`,
		`reloader_workqueue_adds_total`, `reloader_workqueue_latency_seconds count`, `reloader_retries_total`,
	} {
		if value, ok := all[name]; !ok || value != 0 {
			t.Errorf("%s: there %t, %v", name, ok, value)
		}
	}
	for name := range all {
		if strings.HasPrefix(name, "reloader_reload_executed_total_by_namespace") {
			t.Errorf("%s is counted, and nobody has asked for it", name)
		}
	}
}
