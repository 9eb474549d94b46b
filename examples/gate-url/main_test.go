package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/reroll-dev/reroll/internal/controller"
	"github.com/reroll-dev/reroll/internal/report"
)

// The client is the one of the controller, and both servers listen on a port.
func TestAReloadWaitsWhileAlertsFire(t *testing.T) {
	const query = "changes=1&namespace=shop&source=configmap%2Fweb&workload=deployment%2Fweb"
	alert := func(labels, state string) string {
		return `{"status":"success","data":{"alerts":[{"labels":{` + labels + `},"state":"` + state + `","value":"1e+00"}]}}`
	}
	for about, tc := range map[string]struct {
		code         int
		alerts, want string
	}{
		"none":                        {200, `{"status":"success","data":{"alerts":[]}}`, ""},
		"one of the namespace":        {200, alert(`"alertname":"HighErrorRate","namespace":"shop"`, "firing"), "it answered 409 Conflict: alerts fire: HighErrorRate"},
		"one that is pending":         {200, alert(`"alertname":"HighErrorRate","namespace":"shop"`, "pending"), ""},
		"one of another namespace":    {200, alert(`"alertname":"HighErrorRate","namespace":"bank","severity":"critical"`, "firing"), ""},
		"a critical one of all":       {200, alert(`"alertname":"NodeDown","severity":"critical"`, "firing"), "it answered 409 Conflict: alerts fire: NodeDown"},
		"one of all that is not":      {200, alert(`"alertname":"Watchdog","severity":"none"`, "firing"), ""},
		"an error of Prometheus":      {503, "starting", "it answered 502 Bad Gateway: Prometheus does not show which alerts fire"},
		"something else at that port": {200, "{}", "it answered 502 Bad Gateway: Prometheus does not show which alerts fire"},
	} {
		t.Run(about, func(t *testing.T) {
			prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/api/v1/alerts" {
					http.NotFound(w, r)
					return
				}
				w.WriteHeader(tc.code)
				_, _ = io.WriteString(w, tc.alerts)
			}))
			defer prometheus.Close()
			gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(w, r, prometheus.URL) }))
			defer gate.Close()
			to, err := url.Parse(gate.URL)
			if err != nil {
				t.Fatal(err)
			}
			err = report.NewGateURL(to).Ask(t.Context(), controller.Question{Query: query})
			if want := tc.want; (want == "") != (err == nil) || err != nil && err.Error() != want {
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
	to, err := url.Parse("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	if report.NewGateURL(to).Ask(t.Context(), controller.Question{}) == nil {
		t.Error("a reload starts although nobody answers")
	}
}
