package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/clientset"
	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// taken is what arrives where an API server would be.
type taken struct {
	mu     sync.Mutex
	events []eventsv1.Event
	status int
}

// ServeHTTP implements http.Handler.
func (s *taken) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	var event eventsv1.Event
	_ = json.Unmarshal(body, &event)
	s.events = append(s.events, event)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(s.status)
	_, _ = w.Write(body)
}

// desk is a Report with all its output.
type desk struct {
	*Report
	t       *testing.T
	server  *taken
	events  *Events
	metrics *Metrics
	clock   *clocktesting.FakeClock
	log     *bytes.Buffer
}

func newDesk(t *testing.T, dryRun bool) *desk {
	t.Helper()
	d := &desk{t: t, server: &taken{status: http.StatusCreated}, log: &bytes.Buffer{}}
	server := httptest.NewServer(d.server)
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}}
	client, err := clientset.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	d.clock = clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	log := slog.New(slog.NewTextHandler(d.log, nil))
	d.events = NewEvents(client, d.clock, log, "reroll-0")
	d.metrics = NewMetrics(MetricOptions{Kinds: []string{"Deployment"}, ByNamespace: true})
	d.Report = New(log, d.events, d.metrics, nil, dryRun)
	return d
}

// published are the events that are out when everything ends.
func (d *desk) published() []eventsv1.Event {
	stop := make(chan struct{})
	close(stop)
	d.events.Run(stop)
	return d.server.events
}

// counted is the value of a counter that is served.
func (d *desk) counted(name string) float64 { return series(d.t, d.metrics)[name] }

func (d *desk) executed(success string) float64 {
	return d.counted(`reloader_reload_executed_total{success="` + success + `"}`)
}

func web() *workload.Workload {
	return &workload.Workload{Key: workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"}, UID: "u-1", ResourceVersion: "42"}
}

func reloadFor(names ...string) reload.Decision {
	d := reload.Decision{Action: reload.Reload}
	for _, name := range names {
		d.Changes = append(d.Changes, reload.Concern{Source: source.Source{
			Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: name},
		}})
	}
	return d
}

func TestAReloadIsOneLineOneEventAndCounted(t *testing.T) {
	d := newDesk(t, false)
	d.Reloaded(web(), reloadFor("greeting"), 20*time.Millisecond)
	events := d.published()
	if len(events) != 1 {
		t.Fatalf("%d events", len(events))
	}
	e := events[0]
	if e.Type != "Normal" || e.Reason != "Reloaded" || e.Regarding.UID != "u-1" || e.Regarding.Kind != "Deployment" ||
		e.Regarding.Name != "web" || e.Namespace != "shop" || e.ReportingInstance != "reroll-0" || e.Action == "" || e.EventTime.IsZero() {
		t.Errorf("the event is %+v", e)
	}
	if want := "Changes detected in 'greeting' of type 'CONFIGMAP' in namespace 'shop', Updated 'web' of type 'Deployment' in namespace 'shop'"; e.Note != want {
		t.Errorf("the event says %q", e.Note)
	}
	want := "Changes detected in 'greeting' of type 'CONFIGMAP' in namespace 'shop'; updated 'web' of type 'Deployment' in namespace 'shop'"
	if got := d.log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, want) {
		t.Errorf("the log says %q", got)
	}
	if d.executed("true") != 1 || d.executed("false") != 0 {
		t.Error("it is not counted as one that succeeded")
	}
}

func TestADryRunSaysWhatItWouldDoAndNothingElse(t *testing.T) {
	d := newDesk(t, true)
	d.Reloaded(web(), reloadFor("greeting"), 0)
	if len(d.published()) != 0 || d.executed("true") != 0 {
		t.Error("it is told as if it had been done")
	}
	if got := d.log.String(); !strings.Contains(got, "would update 'web'") || strings.Contains(got, "; updated") {
		t.Errorf("the log says %q", got)
	}
}

func TestOnlyTheFirstFailureOfARowIsAnEvent(t *testing.T) {
	d := newDesk(t, false)
	refused := errors.New("admission webhook says no")
	for try := range 5 {
		d.Failed(web(), reloadFor("greeting"), refused, time.Second<<try, try > 0)
		d.clock.Step(time.Second)
	}
	d.Reloaded(web(), reloadFor("greeting"), 0)
	d.clock.Step(time.Second)
	d.Failed(web(), reloadFor("greeting"), refused, time.Second, false)

	var reasons []string
	names := map[string]bool{}
	for _, e := range d.published() {
		reasons = append(reasons, e.Type+" "+e.Reason)
		names[e.Name] = true
	}
	if got := strings.Join(reasons, ", "); got != "Warning ReloadFail, Normal Reloaded, Warning ReloadFail" {
		t.Errorf("the events are %s", got)
	}
	if len(names) != len(reasons) {
		t.Errorf("events of the same name replace each other: %v", names)
	}
	if want := "Update for 'web' of type 'Deployment' in namespace 'shop' failed with error admission webhook says no"; d.server.events[0].Note != want {
		t.Errorf("the event says %q", d.server.events[0].Note)
	}
	if d.executed("false") != 6 || d.counted("reloader_retries_total") != 6 {
		t.Errorf("counted as %v failures and %v retries, want 6", d.executed("false"), d.counted("reloader_retries_total"))
	}
	if got := strings.Count(d.log.String(), "level=WARN"); got != 6 {
		t.Errorf("%d warnings, want one for each try", got)
	}
}

func TestAFailedLedgerWriteIsNoFailedReload(t *testing.T) {
	d := newDesk(t, false)
	d.Failed(web(), reload.Decision{Action: reload.Record}, errors.New("no"), time.Second, false)
	if len(d.published()) != 0 || d.executed("false") != 0 || d.counted("reloader_retries_total") != 1 {
		t.Error("it is told as a failed reload, or not as a retry")
	}
}

func TestALogLineOfAFailureNamesTheRequest(t *testing.T) {
	for action, want := range map[reload.Action]string{
		reload.ListPods: `msg="list of Pods failed; retrying"`,
		reload.Record:   `msg="write failed; retrying"`,
	} {
		d := newDesk(t, false)
		d.Failed(web(), reload.Decision{Action: action}, errors.New("no"), time.Second, false)
		if !strings.Contains(d.log.String(), want) {
			t.Errorf("%s: the log is %s, want %s", action, d.log.String(), want)
		}
	}
}

func TestSeveralSourcesAreNamedTheLastOneFirst(t *testing.T) {
	if got := sources(reloadFor("a", "b", "c")).String(); got != "c (and 2 more: b, a)" {
		t.Errorf("got %s", got)
	}
	many := make([]string, 5000)
	for i := range many {
		many[i] = "source-with-a-name-of-some-length"
	}
	got := sources(reloadFor(many...)).String()
	if !strings.Contains(got, "(and 4999 more: ") || !strings.HasSuffix(got, ", …)") || len(got) > 700 {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func TestANoteIsNoLongerThanTheAPIServerTakes(t *testing.T) {
	for about, note := range map[string]string{
		"letters":         strings.Repeat("a", 3000),
		"wide characters": "a" + strings.Repeat("ü", 3000),
		"wider":           strings.Repeat("世", 3000),
	} {
		got := cut(note)
		if len(got) > 1024 || len(got) < 1000 || !utf8.ValidString(got) || !strings.HasSuffix(got, "…") {
			t.Errorf("%s: %d bytes, valid: %v", about, len(got), utf8.ValidString(got))
		}
	}
	if fits := strings.Repeat("a", 1024); cut(fits) != fits {
		t.Error("a note that fits was cut")
	}
}

func TestTheNameOfAnEventIsOne(t *testing.T) {
	for about, name := range map[string]string{
		"short":          "web",
		"a long one":     strings.Repeat("n", 253),
		"cut at a dash":  strings.Repeat("n", 199) + "-" + strings.Repeat("n", 50),
		"cut at a dot":   strings.Repeat("n", 199) + "." + strings.Repeat("n", 50),
		"cut at dashes":  strings.Repeat("n", 197) + "---" + strings.Repeat("n", 50),
		"with dots":      "a.b-c.d",
		"cut behind one": strings.Repeat("n", 198) + "-n" + strings.Repeat("n", 50),
	} {
		got := eventName(name, "18b1c1d6e2a4f0c5")
		if problems := validation.IsDNS1123Subdomain(got); len(problems) != 0 {
			t.Errorf("%s: %s: %v", about, got, problems)
		}
	}
}

func TestWhatWaitsToBePublishedIsBounded(t *testing.T) {
	d := newDesk(t, false)
	for range maxPending + 3 {
		d.events.publish(notice.Workload(web()), normal, "Reloaded", "note")
	}
	waiting := 0
	for _, pending := range d.events.pending {
		waiting += len(pending)
	}
	if waiting != maxPending {
		t.Errorf("%d wait", waiting)
	}
	if got := strings.Count(d.log.String(), "an event was dropped"); got != 3 {
		t.Errorf("%d of 3 dropped ones are in the log", got)
	}
}

func TestAnEventThatIsRefusedIsAWarning(t *testing.T) {
	d := newDesk(t, false)
	d.server.status = http.StatusForbidden
	d.events.publish(notice.Workload(web()), normal, "Reloaded", "note")
	d.published()
	if got := d.log.String(); !strings.Contains(got, "an event could not be emitted") || !strings.Contains(got, "namespace=shop") {
		t.Errorf("the log says %q", got)
	}
}

func TestTheCountersOfReloadsAreThereFromTheStart(t *testing.T) {
	m := NewMetrics(MetricOptions{Kinds: []string{"Deployment"}, ByNamespace: true})
	m.WatchDepth(func() int { return 7 })
	m.WatchMissing(func(kind source.Kind) int { return map[source.Kind]int{source.Secret: 3}[kind] })
	families, err := m.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			value := metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			got[family.GetName()] = append(got[family.GetName()], fmt.Sprint(metric.GetLabel(), value))
		}
	}
	for name, want := range map[string][]string{
		"reloader_reload_executed_total": {`[name:"success" value:"false"] 0`, `[name:"success" value:"true"] 0`},
		"reloader_retries_total":         {"[] 0"},
		"reloader_workqueue_depth":       {"[] 7"},
		"reloader_workloads_missing_source": {
			`[name:"source_kind" value:"ClusterTrustBundle"] 0`, `[name:"source_kind" value:"ConfigMap"] 0`, `[name:"source_kind" value:"Secret"] 3`,
		},
	} {
		// The text of a label has a space more or less from one build to the next.
		if fmt.Sprint(strings.Join(strings.Fields(strings.Join(got[name], ", ")), " ")) != strings.Join(want, ", ") {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
}

// Alert rules are made on this line, in both formats.
func TestTheLineOfAReloadIsTheSameInBothFormats(t *testing.T) {
	const line = "Changes detected in 'greeting (and 1 more: a-b.c)' of type 'CONFIGMAP' in namespace 'shop'; updated 'web' of type 'Deployment' in namespace 'shop'"
	for format, want := range map[string]string{
		"text": ` level=info msg="` + line + "\"\n",
		"json": `,"level":"info","msg":"` + line + "\"}\n",
	} {
		d := newDesk(t, false)
		var out bytes.Buffer
		d.Report.log = (&config.Config{LogFormat: format}).Logger(&out)
		d.Reloaded(web(), reloadFor("a-b.c", "greeting"), time.Millisecond)
		if got := out.String(); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %swant an end like %s", format, got, want)
		}
	}
}
