package report

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reroll-dev/reroll/internal/clientset"
	"github.com/reroll-dev/reroll/internal/notice"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// hanging is an API server that does not answer to all it is sent.
type hanging struct {
	taken
	hangs func(nth int) bool
	last  time.Time
}

// RoundTrip implements http.RoundTripper.
func (h *hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	h.ServeHTTP(answer, r)
	h.mu.Lock()
	nth := len(h.events)
	h.last = time.Now()
	h.mu.Unlock()
	if h.hangs(nth) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return answer.Result(), nil
}

func TestAHangingEventIsDropped(t *testing.T) {
	const end = 30 * time.Second
	for about, tc := range map[string]struct {
		hangs func(nth int) bool
		ends  time.Duration // when the process does
		// took is how long that takes, and last when the last one was sent.
		took, last time.Duration
		failed     int
	}{
		"none":                        {func(int) bool { return false }, end, 0, 0, 0},
		"the first":                   {func(nth int) bool { return nth == 1 }, end, 0, tryTimeout, 1},
		"it is on its way at the end": {func(nth int) bool { return nth == 1 }, time.Second, flush, 0, 4},
		"all of them, at the end":     {func(int) bool { return true }, 0, flush, 0, 4},
	} {
		t.Run(about, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &hanging{taken: taken{status: http.StatusCreated}, hangs: tc.hangs}
				config := &rest.Config{
					Host: "http://kubernetes.example", QPS: -1, Transport: server, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON},
				}
				client, err := clientset.NewForConfig(config)
				if err != nil {
					t.Fatal(err)
				}
				e := NewEvents(client, clock.RealClock{}, slog.New(slog.DiscardHandler), "reroll-0")
				var failed atomic.Int32
				e.failed = func() { failed.Add(1) }
				// All of them wait for one publisher, as those about one object do.
				for i := range 4 {
					w := web()
					w.Key.Name = fmt.Sprintf("web-%d", i)
					e.publish(notice.Workload(w), normal, "Reloaded", "note")
				}
				one := e.pending[0]
				for _, other := range e.pending[1:] {
					for len(other) > 0 {
						one <- <-other
					}
				}
				began := time.Now()
				stop := make(chan struct{})
				time.AfterFunc(tc.ends, func() { close(stop) })
				e.Run(stop)
				if took := time.Since(began) - tc.ends; took != tc.took {
					t.Errorf("it ended after %s, want %s", took, tc.took)
				}
				last := server.last.Sub(began)
				if last != tc.last || int(failed.Load()) != tc.failed {
					t.Errorf("the last one was sent after %s, %d have failed; want %s and %d", last, failed.Load(), tc.last, tc.failed)
				}
			})
		})
	}
}

func TestEventsLetWritesGoFirst(t *testing.T) {
	for name, tc := range map[string]struct {
		writes  time.Duration // how long workloads are being written
		old     time.Duration // how old the event is
		pending int
		grow    time.Duration // when so many come to wait that some may go
		stops   bool
		least   time.Duration
		most    time.Duration
	}{
		"nothing is written":         {},
		"until nothing is written":   {writes: 3 * time.Second, least: 3 * time.Second, most: 3100 * time.Millisecond},
		"not for ever":               {writes: time.Hour, least: maxEventDelay, most: maxEventDelay + 100*time.Millisecond},
		"from when it was made":      {writes: time.Hour, old: maxEventDelay - time.Second, least: time.Second, most: 1100 * time.Millisecond},
		"so many that some may go":   {writes: time.Hour, pending: maxPending / 2},
		"so many come meanwhile":     {writes: time.Hour, grow: time.Second, least: time.Second, most: 1100 * time.Millisecond},
		"the process ends":           {writes: time.Hour, stops: true},
		"one that has waited enough": {writes: time.Hour, old: maxEventDelay},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := NewEvents(nil, clock.RealClock{}, nil, "reroll-0")
				var done atomic.Bool
				time.AfterFunc(tc.writes, func() { done.Store(true) })
				e.GiveWayTo(func() bool { return tc.writes > 0 && !done.Load() })
				pending := make(chan pendingEvent, maxPending)
				add := func(n int) {
					for range n {
						pending <- pendingEvent{}
					}
				}
				add(tc.pending)
				if tc.grow > 0 {
					time.AfterFunc(tc.grow, func() { add(maxPending / 2) })
				}
				stop := make(chan struct{})
				if tc.stops {
					close(stop)
				}
				began := time.Now()
				e.giveWay(pendingEvent{Event: &eventsv1.Event{EventTime: metav1.NewMicroTime(began.Add(-tc.old))}}, pending, stop)
				if took := time.Since(began); took < tc.least || took > tc.most {
					t.Errorf("it waited %s, and had to between %s and %s", took, tc.least, tc.most)
				}
			})
		})
	}
}
