package report

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	// A message is sent at most this often. The delay between two tries begins with retryFirst and
	// grows by retryGrowth.
	maxTries    = 5
	retryFirst  = time.Second
	retryGrowth = 4

	// Alerts in quick succession are sent together: when none came for collectPause, and after
	// collectMax at the latest.
	collectPause = time.Second
	collectMax   = 10 * time.Second

	// maxWaiting bounds the texts that wait for a receiver. Beyond it, only the number is kept.
	maxWaiting = 1000
	// maxList bounds the texts in one message, in bytes: the smallest limit of the sinks is 4,096
	// characters.
	maxList = 3500
)

// AlertOptions configure the receiver of alerts.
type AlertOptions struct {
	// Sink is slack, teams or gchat; any other value means plain text.
	Sink string
	// URL and Proxy may contain tokens. An empty Proxy means none, regardless of the environment.
	URL, Proxy *url.URL
	// Info is put before every message.
	Info string
}

// Alerts notifies a chat or another receiver outside the cluster, in the background. A nil *Alerts
// does nothing.
type Alerts struct {
	sink    alertSink
	info    string
	poster  *poster
	clock   clock.Clock
	log     *slog.Logger
	metrics *Metrics
	flush   time.Duration

	mu       sync.Mutex
	waiting  []alert
	unlisted int
	wake     chan struct{}

	// Only Run uses these.
	pace    pace
	failing bool
	dropped int
}

// alert is one sentence. Failed reports that it is about a failure.
type alert struct {
	text   phrase
	failed bool
}

// NewAlerts returns alerts that are sent by Run.
func NewAlerts(opts AlertOptions, c clock.Clock, log *slog.Logger, metrics *Metrics) *Alerts {
	return &Alerts{
		sink: alertSinkOf(opts.Sink), info: opts.Info, poster: newPoster(opts.URL, opts.Proxy),
		clock: c, log: log, metrics: metrics, flush: flush,
		wake: make(chan struct{}, 1),
	}
}

// Receiver is the part of the address that is not secret.
func (a *Alerts) Receiver() string { return a.poster.receiver() }

func (a *Alerts) add(one alert) {
	if a == nil {
		return
	}
	one.text = one.text.cut()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.waiting) < maxWaiting {
		a.waiting = append(a.waiting, one)
	} else {
		a.unlisted++
	}
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

func (a *Alerts) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.waiting) + a.unlisted
}

// Run sends until stop closes, and then the waiting alerts, for a bounded time.
func (a *Alerts) Run(stop <-chan struct{}) {
	if a == nil {
		return
	}
	ctx, cancel := flushing(stop, a.flush)
	defer cancel()
	for {
		select {
		case <-a.wake:
			a.gather(stop)
			a.drain(ctx, stop)
		case <-stop:
			a.drain(ctx, stop)
			if a.dropped > 0 {
				a.log.Info("alerts were dropped", "receiver", a.Receiver(), "dropped", a.dropped)
			}
			return
		}
	}
}

// pause returns false if stop closed before its end.
func (a *Alerts) pause(d time.Duration, stop <-chan struct{}) bool {
	timer := a.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-stop:
		return false
	case <-timer.C():
		return true
	}
}

// gather waits until no more alerts come. A change that concerns a thousand workloads is reported a
// moment later, but only once.
func (a *Alerts) gather(stop <-chan struct{}) {
	for end := a.clock.Now().Add(collectMax); a.clock.Now().Before(end); {
		before := a.count()
		if !a.pause(collectPause, stop) || a.count() == before {
			return
		}
	}
}

// drain sends the waiting alerts: one message each as long as the receiver is below its limit, else
// one message for all. When the controller stops, it does not wait for the limit.
func (a *Alerts) drain(ctx context.Context, stop <-chan struct{}) {
	for n := a.count(); n > 0; n = a.count() {
		now := a.clock.Now()
		if wait := a.pace.wait(now); wait > 0 && a.pause(wait, stop) {
			continue
		}
		a.deliver(ctx, stop, a.take(n <= a.pace.free(now)))
	}
}

// message contains one alert or more.
type message struct {
	alerts   []alert
	unlisted int
}

func (m *message) count() int { return len(m.alerts) + m.unlisted }

// take returns the alert that has waited longest, or all of them.
func (a *Alerts) take(one bool) message {
	a.mu.Lock()
	defer a.mu.Unlock()
	if one {
		m := message{alerts: a.waiting[:1:1]}
		a.waiting = a.waiting[1:]
		return m
	}
	m := message{alerts: a.waiting, unlisted: a.unlisted}
	a.waiting, a.unlisted = nil, 0
	return m
}

func (m *message) text(escape func(string) string) (text string, failed bool) {
	if m.count() == 1 {
		return m.alerts[0].text.escaped(escape), m.alerts[0].failed
	}
	// Failures come first, because the end of the list may be cut off.
	alerts := slices.Clone(m.alerts)
	slices.SortStableFunc(alerts, func(a, b alert) int {
		switch {
		case a.failed == b.failed:
			return 0
		case a.failed:
			return -1
		default:
			return 1
		}
	})
	// The length of the text counts, without escape sequences. Otherwise a long text from a tenant
	// could push other alerts off the list.
	var list strings.Builder
	shownCount, length := 0, 0
	for _, one := range alerts {
		shown := len("\n- ") + len(one.text.String())
		if length+shown > maxList {
			break
		}
		shownCount, length = shownCount+1, length+shown
		list.WriteString("\n- " + one.text.escaped(escape))
	}
	if more := m.count() - shownCount; more > 0 {
		fmt.Fprintf(&list, "\n- and %d more", more)
	}
	// In Teams, the empty line starts a list.
	return fmt.Sprintf("%d alerts in one message:\n%s", m.count(), list.String()), alerts[0].failed
}

// deliver tries until the receiver accepts a message, or drops it.
func (a *Alerts) deliver(ctx context.Context, stop <-chan struct{}, m message) {
	text, failed := m.text(a.sink.escape)
	if a.info != "" {
		text = a.info + " : " + text
	}
	body := a.sink.payload(text, failed)
	delay := retryFirst
	for left := maxTries - 1; ; left-- {
		err := a.poster.send(ctx, body)
		// A message that failed may have been delivered nevertheless. It counts from the end of the
		// request, because it was delivered before that.
		a.pace.take(a.clock.Now())
		if err == nil {
			a.sent(m.count())
			return
		}
		a.failed(err)
		if left == 0 {
			a.dropped += m.count()
			a.metrics.alerted("dropped", m.count())
			return
		}
		if !a.pause(max(delay, a.pace.wait(a.clock.Now())), stop) {
			left = 1 // one last try
		}
		delay *= retryGrowth
	}
}

// sent logs before it counts: if the count is visible, the line is, too.
func (a *Alerts) sent(n int) {
	if a.failing {
		a.log.Info("alerts are delivered again", "receiver", a.Receiver(), "dropped", a.dropped)
	}
	a.failing, a.dropped = false, 0
	a.metrics.alerted("sent", n)
}

// failed warns once until an alert is delivered again, so that a receiver that is down for days
// does not fill the log.
func (a *Alerts) failed(err error) {
	a.metrics.alertFailed()
	if !a.failing {
		a.log.Warn("an alert could not be sent; retrying (further failures are not logged until an alert is delivered)",
			"receiver", a.Receiver(), "error", err.Error(), "metric", "reloader_alert_failures_total")
	}
	a.failing = true
}
