package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func listen(t *testing.T, ready func() error) (address string, registry *prometheus.Registry) {
	t.Helper()
	registry = prometheus.NewRegistry()
	s, err := Listen("127.0.0.1:0", registry, ready)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	return s.Address(), registry
}

func run(t *testing.T, s *Server) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the end of the context is an error: %v", err)
		}
	})
}

func ask(t *testing.T, method, url string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestServedPaths(t *testing.T) {
	var ready atomic.Bool
	address, registry := listen(t, func() error {
		if ready.Load() {
			return nil
		}
		return errors.New("the caches are not synced yet")
	})
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "said_total", Help: "Said."})
	registry.MustRegister(counter)
	counter.Inc()
	serves := func(method, path string, status int, text string) {
		t.Helper()
		got, body := ask(t, method, "http://"+address+path)
		if got != status || !strings.Contains(body, text) {
			t.Errorf("%s %s answers %d %q, want %d %q", method, path, got, body, status, text)
		}
	}
	serves("GET", "/live", 200, "alive")
	serves("GET", "/healthz", 200, "alive")
	serves("GET", "/metrics", 200, "said_total 1")
	serves("GET", "/readyz", 503, "the caches are not synced yet")
	ready.Store(true)
	serves("GET", "/readyz", 200, "ready")
	ready.Store(false)
	serves("GET", "/readyz", 503, "the caches are not synced yet")

	serves("GET", "/debug/pprof/", 404, "")
	serves("GET", "/", 404, "")
	serves("POST", "/metrics", 405, "")
}

func TestUnusableListenAddresses(t *testing.T) {
	taken, _ := listen(t, func() error { return nil })
	for address, want := range map[string]string{
		taken:            taken + " is in use by another program: set another address with --listen-address",
		"nowhere":        `listen on "nowhere" (--listen-address): `,
		"127.0.0.1:port": `listen on "127.0.0.1:port" (--listen-address): `,
	} {
		_, err := Listen(address, prometheus.NewRegistry(), func() error { return nil })
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", address, err, want)
		}
	}
}

func TestProfilesAreServedByThemselves(t *testing.T) {
	s, err := ListenProfiles("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		"/debug/pprof/":                  {200, "goroutine"},
		"/debug/pprof/goroutine?debug=1": {200, "goroutine profile:"},
		"/debug/pprof/cmdline":           {200, "server.test"},
		"/debug/pprof/symbol":            {200, "num_symbols"},
		"/debug/pprof/nothing":           {404, "Unknown profile"},
		"/metrics":                       {404, ""},
		"/live":                          {404, ""},
	} {
		if status, text := ask(t, "GET", "http://"+s.Address()+path); status != want.status || !strings.Contains(text, want.text) {
			t.Errorf("%s answers %d %.200q, want %d %q", path, status, text, want.status, want.text)
		}
	}
	if _, err := ListenProfiles(s.Address()); err == nil || !strings.Contains(err.Error(), "set another address with --pprof-addr") {
		t.Errorf("the same address once more: %v", err)
	}
}
