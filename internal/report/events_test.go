package report

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
)

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
		"not for ever":               {writes: time.Hour, least: mostBehind, most: mostBehind + 100*time.Millisecond},
		"from when it was made":      {writes: time.Hour, old: mostBehind - time.Second, least: time.Second, most: 1100 * time.Millisecond},
		"so many that some may go":   {writes: time.Hour, pending: maxPending / 2},
		"so many come meanwhile":     {writes: time.Hour, grow: time.Second, least: time.Second, most: 1100 * time.Millisecond},
		"the process ends":           {writes: time.Hour, stops: true},
		"one that has waited enough": {writes: time.Hour, old: mostBehind},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := NewEvents(nil, clock.RealClock{}, nil, "reroll-0")
				var done atomic.Bool
				time.AfterFunc(tc.writes, func() { done.Store(true) })
				e.GiveWayTo(func() bool { return tc.writes > 0 && !done.Load() })
				pending := make(chan *eventsv1.Event, maxPending)
				add := func(n int) {
					for range n {
						pending <- nil
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
				e.giveWay(&eventsv1.Event{EventTime: metav1.NewMicroTime(began.Add(-tc.old))}, pending, stop)
				if took := time.Since(began); took < tc.least || took > tc.most {
					t.Errorf("it waited %s, and had to between %s and %s", took, tc.least, tc.most)
				}
			})
		})
	}
}
