package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

func TestAWeekShowsTheHoursInTheZoneOfTheReader(t *testing.T) {
	now := time.Date(2026, 3, 2, 9, 20, 0, 0, time.UTC) // a Monday
	w := weekOf("", "allow 22:30-02:00 mon UTC", now)
	if w.Open || w.Zone != "UTC" || !w.Opens.Equal(time.Date(2026, 3, 2, 22, 30, 0, 0, time.UTC)) {
		t.Errorf("open %t in %s, opens %s", w.Open, w.Zone, w.Opens)
	}
	for at, want := range map[[2]int]string{{0, 9}: "shut here", {0, 22}: "part", {0, 23}: "open", {1, 1}: "open", {1, 2}: "shut", {1, 22}: "shut"} {
		if got := w.Days[at[0]].Hours[at[1]].Class; got != want {
			t.Errorf("%s %d: %s, want %s", w.Days[at[0]].Name, at[1], got, want)
		}
	}
	if w.Days[0].Name != "Mon" || len(w.Days) != 7 {
		t.Errorf("%d days from %s", len(w.Days), w.Days[0].Name)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	if got := weekOf("", "allow 22:00-23:00 mon UTC", now.In(berlin)).Days[0].Hours[23].Class; got != "open" {
		t.Errorf("an hour later in Berlin it is %s", got)
	}
	if got := weekOf("", "allow never", now); got.Err == "" || got.Days != nil {
		t.Errorf("a bad window is %+v", got)
	}
}

// A request names the zone of the browser, which the process may not share.
func TestTheWeekIsInTheZoneThatTheBrowserNames(t *testing.T) {
	site := New([]Cluster{shop(t, "")}, func(*http.Request) (Reader, error) { return everything, nil }, Options{Clock: clock.RealClock{}})
	for zone, want := range map[string]string{"Asia/Tokyo": "Asia/Tokyo", "": "", "../../etc/passwd": "", "Local": "", "<b>": ""} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/gates", http.NoBody)
		r.Header.Set("Time-Zone", zone)
		w := httptest.NewRecorder()
		site.ServeHTTP(w, r)
		if want == "" {
			has(t, w.Body.String(), "data-zone", "!Asia", "!passwd", "!<b>")
			continue
		}
		has(t, w.Body.String(), `data-zone="`+want+`"`, "Hours in "+want)
		// 22:00 UTC is 07:00 there.
		has(t, w.Body.String(), "Tue 07:00: open", "Mon 22:00: closed")
	}
}
