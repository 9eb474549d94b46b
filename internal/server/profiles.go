package server

import (
	"net/http"
	"net/http/pprof"
)

// ListenProfiles takes the address for profiles of the process, and for nothing else: what is in them is not for everybody
// who may read metrics.
func ListenProfiles(address string) (*Server, error) {
	listener, err := listenOn(address, "pprof-addr")
	if err != nil {
		return nil, err
	}
	// The package puts itself into http.DefaultServeMux too, which is served nowhere.
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return newServer(listener, mux, "profiles"), nil
}
