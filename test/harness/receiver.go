package harness

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"sync"
)

// Receiver is an HTTP server that accepts everything and keeps what it was sent, as the far end of alerts and webhooks.
type Receiver struct {
	server *httptest.Server
	mu     sync.Mutex
	bodies []string
}

// StartReceiver listens on a free port of the loopback address.
func StartReceiver() *Receiver {
	r := &Receiver{}
	r.server = httptest.NewServer(http.HandlerFunc(r.receive))
	return r
}

// URL is where to send to.
func (r *Receiver) URL() string { return r.server.URL }

// Close ends the server.
func (r *Receiver) Close() { r.server.Close() }

func (r *Receiver) receive(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies = append(r.bodies, string(body))
}

// Bodies returns what was sent, in its order.
func (r *Receiver) Bodies() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.bodies...)
}

// Count returns how many bodies match.
func (r *Receiver) Count(pattern *regexp.Regexp) int {
	count := 0
	for _, body := range r.Bodies() {
		if pattern.MatchString(body) {
			count++
		}
	}
	return count
}
