package permissions

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/clientset"
)

// desk is a guard with a stopped clock and a fake API server.
type desk struct {
	*testing.T
	*Guard
	clock  *clocktesting.FakeClock
	asked  atomic.Int32
	denies atomic.Bool
	breaks atomic.Bool
}

// ServeHTTP implements http.Handler.
func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.asked.Add(1)
	if d.breaks.Load() {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	var review map[string]any
	text, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(text, &review)
	review["status"] = map[string]any{"allowed": !d.denies.Load()}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(review)
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{T: t, clock: clocktesting.NewFakeClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))}
	d.Guard = NewGuard(To("", "pods", "list", "watch"), d.clock, slog.New(slog.DiscardHandler))
	return d
}

// runs asks once and returns when it waits.
func (d *desk) runs() {
	d.Helper()
	server := httptest.NewServer(d)
	d.Cleanup(server.Close)
	client, err := clientset.NewForConfig(&rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}})
	if err != nil {
		d.Fatal(err)
	}
	ctx, cancel := context.WithCancel(d.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.Guard.Run(ctx, client)
	}()
	d.Cleanup(func() { cancel(); <-done })
	d.rests()
}

func (d *desk) rests() {
	d.Helper()
	for !d.clock.HasWaiters() {
		select {
		case <-d.Context().Done():
			d.Fatal("it does not wait for its clock")
		case <-time.After(time.Millisecond):
		}
	}
}

// refused has it see a refusal, as a client does.
func (d *desk) refused() {
	d.Helper()
	answer, err := d.Over(forbidding{}).RoundTrip(&http.Request{})
	if err != nil || answer.StatusCode != http.StatusForbidden {
		d.Fatalf("%v, %v", answer, err)
	}
	_ = answer.Body.Close()
}

type forbidding struct{}

func (forbidding) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody}, nil
}

func TestForbiddenRequestsForOtherReasonsBackOff(t *testing.T) {
	d := newDesk(t)
	d.runs()
	if n := d.asked.Swap(0); n != 2 {
		t.Fatalf("asked %d times at the start, want once for each permission", n)
	}
	looks := 0
	for passed := time.Duration(0); passed < 2*time.Hour; passed += askEvery {
		d.refused()
		d.clock.Step(askEvery)
		d.rests()
		if d.asked.Swap(0) > 0 {
			looks++
		}
	}
	// 30 s, 1, 2, 4 and 8 minutes, then every ten.
	if looks < 10 || looks > 18 {
		t.Errorf("asked on %d occasions in two hours of refusals", looks)
	}
}

func TestOneQuestionIsEnoughWhileAPermissionIsMissing(t *testing.T) {
	d := newDesk(t)
	d.denies.Store(true)
	if err := d.Err(); err == nil || !strings.Contains(err.Error(), "not been checked yet") {
		t.Errorf("ready before it has asked: %v", err)
	}
	d.runs()
	d.asked.Store(0)
	d.clock.Step(askEvery)
	d.rests()
	if n := d.asked.Load(); n != 1 {
		t.Errorf("asked %d times while the first permission is missing", n)
	}
	if err := d.Err(); err == nil || !strings.Contains(err.Error(), "may not list or watch pods") {
		t.Errorf("got %v", err)
	}
	d.denies.Store(false)
	d.clock.Step(askEvery)
	d.rests()
	if err := d.Err(); err != nil || d.Missing() != "" {
		t.Errorf("the permissions are there: %v", err)
	}
}

func TestWithoutAnAnswerNothingIsMissing(t *testing.T) {
	d := newDesk(t)
	d.breaks.Store(true)
	d.runs()
	if err := d.Err(); err != nil {
		t.Errorf("got %v", err)
	}
}
