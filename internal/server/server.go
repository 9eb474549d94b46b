// Package server answers probes and serves metrics.
package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Server listens on one address.
type Server struct {
	listener net.Listener
	http     *http.Server
	what     string
}

// Listen opens the address, so that the start fails early if it is not available. Ready returns
// nil, or the reason why the controller is not ready, which is shown to clients.
func Listen(address string, registry *prometheus.Registry, ready func() error) (*Server, error) {
	listener, err := listenOn(address, "listen-address")
	if err != nil {
		return nil, err
	}
	alive := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "alive") }
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /live", alive)
	mux.HandleFunc("GET /healthz", alive)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "ready")
	})
	return On(listener, mux, "metrics and probes"), nil
}

// On returns a server on an open listener. What names it in errors.
func On(listener net.Listener, handler http.Handler, what string) *Server {
	return &Server{
		listener: listener,
		http:     &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second},
		what:     what,
	}
}

// listenOn adds the flag for another address to the error.
func listenOn(address, flag string) (net.Listener, error) {
	listener, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is in use by another program: set another address with --%s, such as 127.0.0.1:0 for a free port", address, flag)
	case err != nil:
		return nil, fmt.Errorf("listen on %q (--%s): %w", address, flag, err)
	}
	return listener, nil
}

// Address returns the address of the listener.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Run serves until the context ends.
func (s *Server) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = s.http.Close() })
	defer stop()
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", s.what, err)
	}
	return nil
}
