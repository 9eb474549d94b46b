package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/controller"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Smaller messages help only if the response is about the message. A receiver that is down, or
// requires a password, would otherwise get a request for each workload.
func TestWhichAnswersRefuseAMessage(t *testing.T) {
	for code, refused := range map[int]bool{
		http.StatusRequestEntityTooLarge: true, http.StatusBadRequest: true, http.StatusUnprocessableEntity: true, http.StatusForbidden: true,
		http.StatusOK: false, http.StatusUnauthorized: false, http.StatusNotFound: false, http.StatusTooManyRequests: false,
		http.StatusPermanentRedirect: false, http.StatusInternalServerError: false, http.StatusServiceUnavailable: false,
	} {
		hook, got := hookAt(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
		err := hook.Send(t.Context(), got("web"))
		if errors.Is(err, controller.ErrRefused) != refused || (err == nil) != (code == http.StatusOK) {
			t.Errorf("%d: %v", code, err)
		}
		if err != nil && code != http.StatusPermanentRedirect && !strings.Contains(err.Error(), fmt.Sprintf("it answered %d %s", code, http.StatusText(code))) {
			t.Errorf("%d: %v", code, err)
		}
	}
}

// A server that reads no more than it takes answers before the message is all sent.
func TestAServerThatReadsOnlyTheBeginningRefuses(t *testing.T) {
	hook, got := hookAt(t, func(w http.ResponseWriter, r *http.Request) {
		var into webhookMessage
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 100<<10)).Decode(&into); err != nil {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
		}
	})
	long := make([]string, 250)
	for i := range long {
		long[i] = strings.Repeat("a", 20<<10)
	}
	if err := hook.Send(t.Context(), got(long...)); !errors.Is(err, controller.ErrRefused) {
		t.Errorf("a large one: %v", err)
	}
	if err := hook.Send(t.Context(), got("web")); err != nil {
		t.Errorf("a small one: %v", err)
	}
}

func hookAt(t *testing.T, answer http.HandlerFunc) (*Webhook, func(names ...string) []controller.Notification) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	to, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, false)
	return NewWebhook(to, slog.New(slog.DiscardHandler), d.events, d.metrics), func(names ...string) []controller.Notification {
		var notifications []controller.Notification
		for _, name := range names {
			n := controller.Notification{Workload: workload.Workload{Key: workload.Key{Kind: "Deployment", Namespace: "shop", Name: name}}}
			n.Decision.Changes = []reload.Concern{{Source: source.Source{Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: name}}}}
			notifications = append(notifications, n)
		}
		return notifications
	}
}
