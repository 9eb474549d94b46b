package access

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"
)

// forwardedHeader is set in requests that a standby has forwarded, so that two replicas never forward
// a request to each other.
const forwardedHeader = "Reroll-Forwarded"

// Leader serves pages from the replica that leads. Sessions are in the memory of one replica, and a
// Service selects a replica for each connection. A standby also does not know what a leader waits
// for.
type Leader struct {
	// IP returns the address of the leader, or an empty one if this replica serves the pages.
	IP func(context.Context) (string, error)
	// Port is that of the pages, in all replicas.
	Port string
	Log  *slog.Logger
}

// errNoLeader means that a standby got a request that another standby has forwarded.
var errNoLeader = errors.New("the replica that was the leader is a standby")

// Serve forwards requests to the leader, and serves the pages itself if there is no other one.
func (l *Leader) Serve(own http.Handler) http.Handler {
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			// The pages compare the host with the origin of a form, so the host stays.
			r.Out.URL.Scheme = "http"
			r.Out.URL.Host, _ = r.In.Context().Value(leaderKey{}).(string)
			r.Out.Header.Set(forwardedHeader, "true")
		},
		Transport: &http.Transport{
			Proxy:       nil, // the leader is in the same cluster
			DialContext: (&net.Dialer{Timeout: 3 * time.Second}).DialContext, IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 20,
		},
		ErrorLog:     slog.NewLogLogger(l.Log.Handler(), slog.LevelDebug),
		ErrorHandler: l.fail,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ip, err := l.IP(r.Context())
		if err == nil && ip != "" && r.Header.Get(forwardedHeader) != "" {
			err = errNoLeader
		}
		switch {
		case err == nil && ip == "", isRead(r) && strings.HasPrefix(r.URL.Path, assets):
			own.ServeHTTP(w, r)
		case err != nil:
			l.fail(w, r, err)
		default:
			at := net.JoinHostPort(ip, l.Port)
			forward.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), leaderKey{}, at)))
		}
	})
}

type leaderKey struct{}

func (l *Leader) fail(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil {
		l.Log.Debug("could not forward a reader of the UI to the leader", "error", err.Error())
	}
	SetHeaders(w.Header())
	w.Header().Set("Retry-After", "5")
	problem{
		status: http.StatusServiceUnavailable, Title: "The leader of the controller does not answer",
		Text:    "This replica is a standby. It forwards readers to the replica that leads, which may just be changing.",
		Remedy:  "Reload this page in a moment. If that does not help, a NetworkPolicy may forbid requests between the Pods of the controller:",
		Command: "kubectl get networkpolicies -n NAMESPACE",
	}.write(w, r)
}
