package lease_test

import (
	"net/http"
	"strings"
	"sync"
)

// wire is the connection between an instance and the API server.
type wire struct {
	mu       sync.Mutex
	cut      bool // nothing gets through
	deaf     bool // questions about rights do not
	hold     *hold
	underWay int
	leases   []string // the methods of requests about leases, in the order in which they were made
	pods     int      // requests about pods
}

// hold is a request that the API server has answered, and whose answer is kept back.
type hold struct {
	method   string
	answered chan struct{} // closed when the API server has
	free     chan struct{} // closed to let the answer through
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

// setCut takes the API server away, or brings it back.
func (w *wire) setCut(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
}

// busy reports whether the API server has a request that it has not answered.
func (w *wire) busy() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.underWay > 0
}

// refuseReviews leaves questions about rights without an answer.
func (w *wire) refuseReviews() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deaf = true
}

// holdNext keeps back the answer to the next request about a lease by a method.
func (w *wire) holdNext(method string) *hold {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hold = &hold{method: method, answered: make(chan struct{}), free: make(chan struct{})}
	return w.hold
}

// asked returns the methods of the requests about leases so far, and forgets them.
func (w *wire) asked() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := strings.Join(w.leases, " ")
	w.leases = nil
	return all
}

// askedForPods returns how many requests about pods there were so far, and forgets them.
func (w *wire) askedForPods() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.pods
	w.pods = 0
	return n
}
