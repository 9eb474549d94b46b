package server

import (
	"net/http"
	"time"

	"golang.org/x/net/netutil"
)

const (
	// readersAtOnce limits the connections of the UI, so that clients which only connect do not take
	// memory from the controller.
	readersAtOnce = 500
	// headerBytes is enough for a token and cookies of other programs of the same host.
	headerBytes = 64 << 10
)

// ListenPages opens an address that serves only the pages of the UI.
func ListenPages(address string, pages http.Handler) (*Server, error) {
	listener, err := listenOn(address, "ui-address")
	if err != nil {
		return nil, err
	}
	s := On(netutil.LimitListener(listener, readersAtOnce), pages, "the UI")
	s.http.MaxHeaderBytes, s.http.IdleTimeout = headerBytes, 2*time.Minute
	return s, nil
}
