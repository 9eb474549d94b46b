package report

import (
	"net/http"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/notice"
)

// held is a notice that a restart must not repeat.
func held(once string) notice.Notice {
	w := web()
	return notice.Notice{About: notice.Workload(w), Subject: w.Key.String(), SubjectKind: "workload", Reason: notice.ReloadHeld, Alert: true, Text: "It waits.", Once: once}
}

// alerted is a desk whose alerts are kept.
func alerted(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t, false)
	d.alerts = &Alerts{wake: make(chan struct{}, 1)}
	return d
}

// names are the names of the events.
func (d *desk) names() []string {
	d.server.mu.Lock()
	defer d.server.mu.Unlock()
	var names []string
	for i := range d.server.events {
		names = append(names, d.server.events[i].Name)
	}
	return names
}

func TestControllersThatFollowEachOtherGiveAnEventOneName(t *testing.T) {
	first, next := alerted(t), alerted(t)
	for _, d := range []*desk{first, next} {
		d.Notify(held("window 1"))
		d.Notify(held("window 1"))
		d.Notify(held("window 2"))
		d.published()
	}
	a, b := first.names(), next.names()
	if len(a) != 3 || len(b) != 3 || a[0] != b[0] || a[2] != b[2] {
		t.Errorf("%q, then %q", a, b)
	}
	if a[0] == a[1] || a[0] == a[2] || !strings.HasPrefix(a[0], "web.") {
		t.Errorf("%q", a)
	}
	if n := first.alerts.count(); n != 3 {
		t.Errorf("%d alerts", n)
	}
}

func TestAnEventThatExistsIsNoOtherAlert(t *testing.T) {
	for about, tc := range map[string]struct{ status, alerts, failures int }{
		"it exists":     {http.StatusConflict, 0, 0},
		"it is refused": {http.StatusForbidden, 1, 1},
		"it is created": {http.StatusCreated, 1, 0},
	} {
		d := alerted(t)
		d.server.status = tc.status
		d.Notify(held("window 1"))
		d.published()
		if n := d.alerts.count(); n != tc.alerts {
			t.Errorf("%s: %d alerts", about, n)
		}
		if n := strings.Count(d.log.String(), "an event could not be emitted"); n != tc.failures {
			t.Errorf("%s: the log says %q", about, d.log.String())
		}
	}
}

func TestAnEventThatIsDroppedIsAnAlert(t *testing.T) {
	d := alerted(t)
	for range maxPending {
		d.events.publish(notice.Workload(web()), normal, "Reloaded", "note")
	}
	d.Notify(held("window 1"))
	if n := d.alerts.count(); n != 1 {
		t.Errorf("%d alerts", n)
	}
}
