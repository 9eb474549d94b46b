package lease_test

import (
	"net/http"
	"strings"
	"sync"
)

// wire is the connection between a replica and the API server.
type wire struct {
	mu       sync.Mutex
	cut      bool // no request reaches the API server
	deaf     bool // no permission check reaches the API server
	hold     *hold
	underWay int
	leases   []string // the methods of the requests about leases, in their order
	pods     int      // the number of requests about Pods
}

// hold is a request that the API server has answered, but whose response is held back.
type hold struct {
	method   string
	answered chan struct{} // closed when the API server has answered
	free     chan struct{} // closed to deliver the response
}

func (w *wire) over(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) { return w.pass(next, r) })
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (w *wire) pass(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	aboutLease := strings.Contains(r.URL.Path, "/leases")
	w.mu.Lock()
	cut, held := w.cut || w.deaf && strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews"), w.hold
	if !cut {
		w.underWay++
		defer func() {
			w.mu.Lock()
			w.underWay--
			w.mu.Unlock()
		}()
	}
	if aboutLease {
		w.leases = append(w.leases, r.Method)
	}
	if strings.HasSuffix(r.URL.Path, "/pods") {
		w.pods++
	}
	if held != nil && (!aboutLease || held.method != r.Method) {
		held = nil
	}
	if held != nil {
		w.hold = nil
	}
	w.mu.Unlock()
	if cut {
		return nil, errAway
	}
	answer, err := next.RoundTrip(r)
	if held == nil {
		return answer, err
	}
	close(held.answered)
	select {
	case <-held.free:
		return answer, err
	case <-r.Context().Done():
		if err == nil {
			_ = answer.Body.Close()
		}
		return nil, r.Context().Err()
	}
}

// setCut disconnects the API server, or connects it again.
func (w *wire) setCut(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
}

// busy reports whether a request is in flight.
func (w *wire) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.underWay > 0
}

// refuseReviews leaves permission checks without a response.
func (w *wire) refuseReviews() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaf = true
}

// holdNext holds back the response to the next request about a lease with a method.
func (w *wire) holdNext(method string) *hold {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hold = &hold{method: method, answered: make(chan struct{}), free: make(chan struct{})}
	return w.hold
}

// asked returns the methods of the requests about leases so far, and resets them.
func (w *wire) asked() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := strings.Join(w.leases, " ")
	w.leases = nil
	return all
}

// askedForPods returns the number of requests about Pods so far, and resets it.
func (w *wire) askedForPods() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.pods
	w.pods = 0
	return n
}
