package report

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// letter is a message as it came in.
type letter struct {
	contentType, text string
	at                time.Time
}

// far is a receiver of alerts.
type far struct {
	*httptest.Server
	clock *clocktesting.FakeClock
	// answer gets the number of the request, from 1.
	answer func(n int, w http.ResponseWriter, r *http.Request)

	mu      sync.Mutex
	letters []letter
}

// ServeHTTP implements http.Handler.
func (f *far) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	f.mu.Lock()
	f.letters = append(f.letters, letter{r.Header.Get("Content-Type"), string(body), f.clock.Now()})
	n := len(f.letters)
	f.mu.Unlock()
	if f.answer != nil {
		f.answer(n, w, r)
	}
}

func (f *far) got() []letter {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]letter(nil), f.letters...)
}

// journal is a log that may be read while it is written.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// String implements fmt.Stringer.
func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// switchboard is a Report whose alerts go to a receiver, with a clock of its own.
type switchboard struct {
	*testing.T
	*Report
	far     *far
	log     *journal
	metrics *Metrics
	alerts  *Alerts
	clock   *clocktesting.FakeClock
	stop    func()
	ended   chan struct{}
}

const token = "hunter2"

// connect makes one that does not run yet.
func connect(t *testing.T, answer func(n int, w http.ResponseWriter, r *http.Request), change ...func(*AlertOptions)) *switchboard {
	t.Helper()
	s := &switchboard{T: t, log: &journal{}, clock: clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)), ended: make(chan struct{})}
	s.far = &far{clock: s.clock, answer: answer}
	s.far.Server = httptest.NewServer(s.far)
	t.Cleanup(s.far.Close)
	opts := AlertOptions{Sink: "raw", URL: s.address(s.far.URL)}
	for _, c := range change {
		c(&opts)
	}
	log := slog.New(slog.NewTextHandler(s.log, nil))
	s.metrics = NewMetrics(MetricOptions{Kinds: []string{"Deployment"}, ByNamespace: true})
	s.alerts = NewAlerts(opts, s.clock, log, s.metrics)
	s.Report = New(log, newDesk(t, false).events, s.metrics, s.alerts, false)
	return s
}

// address has a token wherever one may be.
func (s *switchboard) address(base string) *url.URL {
	u, err := url.Parse(strings.Replace(base, "://", "://user-"+token+":"+token+"@", 1) + "/services/" + token + "?key=" + token)
	if err != nil {
		s.Fatal(err)
	}
	return u
}

func (s *switchboard) run() *switchboard {
	stop := make(chan struct{})
	s.stop = sync.OnceFunc(func() { close(stop) })
	go func() {
		defer close(s.ended)
		s.alerts.Run(stop)
	}()
	s.Cleanup(func() {
		s.stop()
		<-s.ended
	})
	return s
}

// until lets time pass whenever a goroutine waits for it, until a condition holds. Messages go over
// a real connection, which signals nothing, so the processor is released between two checks.
func (s *switchboard) until(what string, holds func() bool) {
	s.Helper()
	for began := time.Now(); ; {
		waits := s.clock.HasWaiters() // before the condition, which may be about that
		switch {
		case holds():
			return
		case waits:
			s.clock.Step(time.Second)
		default:
			time.Sleep(time.Millisecond)
		}
		if time.Since(began) > 2*time.Minute {
			s.Fatalf("waited for %s; %d letters came, the log is\n%s", what, len(s.far.got()), s.log)
		}
	}
}

func (s *switchboard) counted(name string) float64 { return series(s.T, s.metrics)[name] }

func (s *switchboard) sent() float64     { return s.counted(`reloader_alerts_total{result="sent"}`) }
func (s *switchboard) dropped() float64  { return s.counted(`reloader_alerts_total{result="dropped"}`) }
func (s *switchboard) failures() float64 { return s.counted("reloader_alert_failures_total") }

func (s *switchboard) told(n int) {
	s.until(fmt.Sprint(n, " to be told"), func() bool { return s.sent() == float64(n) })
}
func (s *switchboard) lost(n int) {
	s.until(fmt.Sprint(n, " to be dropped"), func() bool { return s.dropped() == float64(n) })
}

func (s *switchboard) reload(n int) {
	for i := range n {
		w := web()
		w.Key.Name = fmt.Sprintf("web-%04d", i)
		s.Reloaded(w, reloadFor("greeting"), time.Millisecond)
	}
}

// alertLines are the lines of the log that are not about a single reload.
func (s *switchboard) alertLines() []string {
	var lines []string
	for line := range strings.Lines(s.log.String()) {
		if !strings.Contains(line, "Changes detected in") {
			lines = append(lines, line)
		}
	}
	return lines
}
