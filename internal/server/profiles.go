package server

import (
	"net/http"
	"net/http/pprof"
)

// ListenProfiles opens an address that serves only profiles of the process. Users who may read
// metrics must not see profiles.
func ListenProfiles(address string) (*Server, error) {
	listener, err := listenOn(address, "pprof-addr")
	if err != nil {
		return nil, err
	}
	// The package also registers itself in http.DefaultServeMux, which nothing serves.
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return On(listener, mux, "profiles"), nil
}
