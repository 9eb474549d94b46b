package harness

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Manner is what a receiver does with what it is sent.
type Manner string

// One that hangs closes the connection when it is told another manner, and one that redirects names
// another address of its own. A narrow one takes no message about several workloads, and a small
// one no message above a length. One that waits lets no reload start, if it is asked.
const (
	Answer   Manner = "answer"
	Hang     Manner = "hang"
	Fail     Manner = "fail"
	Redirect Manner = "redirect"
	Narrow   Manner = "narrow"
	Small    Manner = "small"
	Wait     Manner = "wait"
)

// Manners are all that there are.
func Manners() []Manner { return []Manner{Answer, Hang, Fail, Redirect, Narrow, Small, Wait} }

// smallTakes is how many bytes a small receiver takes: a few workloads.
const smallTakes = 350

// Receiver is the far end of alerts: an HTTP server that keeps what it was sent and has taken, and
// notes what was sent in another way than it has to be.
type Receiver struct {
	server *httptest.Server
	path   string

	mu      sync.Mutex
	manner  Manner
	changed chan struct{} // closed when the manner is another
	asked   int           // since then
	bodies  []string
	wrong   error // what was sent otherwise, the first of it
}

// StartReceiver listens on a free port of the loopback address. Messages go to a path there, which
// may have a query.
func StartReceiver(path string) *Receiver {
	r := &Receiver{path: path, manner: Answer, changed: make(chan struct{})}
	r.server = httptest.NewServer(http.HandlerFunc(r.receive))
	return r
}

// URL is where to send to.
func (r *Receiver) URL() string { return r.server.URL + r.path }

// Close ends the server.
func (r *Receiver) Close() {
	r.Behave(Fail) // the server waits for those that hang
	r.server.Close()
}

// Behave sets what is done from now on. What hangs is not accepted: it may be from a controller
// that has been killed since, which the server notices some time later, and the message would count
// in addition to that of the next controller.
func (r *Receiver) Behave(m Manner) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.manner, r.asked = m, 0
	close(r.changed)
	r.changed = make(chan struct{})
}

// Asked returns how many messages have come since it was told its manner.
func (r *Receiver) Asked() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked
}

func (r *Receiver) receive(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	if r.wrong == nil {
		r.wrong = r.check(req, body)
	}
	if strings.HasPrefix(req.URL.Query().Get("workload"), rolled+"/"+markerPrefix) {
		r.mu.Unlock() // a step that waits for the markers does not wait for the manner
		return
	}
	r.asked++
	if r.manner == Hang {
		changed := r.changed
		r.mu.Unlock()
		select {
		case <-changed:
		case <-req.Context().Done(): // the client gave up
		}
		panic(http.ErrAbortHandler)
	}
	defer r.mu.Unlock()
	switch {
	case r.manner == Fail:
		http.Error(w, "this is what a receiver says that fails", http.StatusInternalServerError)
	case r.manner == Redirect:
		http.Redirect(w, req, r.server.URL+"/elsewhere", http.StatusPermanentRedirect)
	case r.manner == Narrow && bytes.Count(body, []byte(`"changes":`)) > 1:
		http.Error(w, "one at a time", http.StatusUnprocessableEntity)
	case r.manner == Small && len(body) > smallTakes:
		http.Error(w, "too long", http.StatusRequestEntityTooLarge)
	case r.manner == Wait:
		http.Error(w, "2 alerts fire:\nHighErrorRate, Latency", http.StatusConflict)
	case req.Method == http.MethodGet:
		question, _ := url.QueryUnescape(strings.TrimPrefix(req.URL.RequestURI(), r.path+"&")) // it was checked
		r.bodies = append(r.bodies, question)
	default:
		r.bodies = append(r.bodies, string(body))
	}
}

// check tells what is wrong with a message: the sinks take JSON, and what is no JSON is plain text.
// The question of a controller before a reload comes by GET.
func (r *Receiver) check(req *http.Request, body []byte) error {
	if query, asked := strings.CutPrefix(req.URL.RequestURI(), r.path+"&"); asked && req.Method == http.MethodGet {
		if values, err := url.ParseQuery(query); err != nil || !values.Has("namespace") || !values.Has("workload") || len(values["source"]) != len(values["digest"]) {
			return fmt.Errorf("the receiver was asked %q, which is not a question about a reload: %w", query, err)
		}
		return nil
	}
	contentType, _, err := mime.ParseMediaType(req.Header.Get("Content-Type"))
	want := "text/plain"
	if json.Valid(body) {
		want = "application/json"
	}
	switch {
	case req.Method != http.MethodPost || req.URL.RequestURI() != r.path:
		return fmt.Errorf("the receiver was sent %s %s, want POST %s", req.Method, req.URL.RequestURI(), r.path)
	case err != nil || contentType != want:
		return fmt.Errorf("the receiver was sent %q as %q, want %s", body, req.Header.Get("Content-Type"), want)
	}
	return nil
}

// Wrong is nil if everything was sent as it has to be.
func (r *Receiver) Wrong() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.wrong
}

// Bodies returns what was sent and taken, in its order.
func (r *Receiver) Bodies() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.bodies)
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
