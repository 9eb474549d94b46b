package web

import (
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"
)

const (
	// pace is the shortest time between two updates, and beat the longest.
	pace = time.Second
	beat = 15 * time.Second
)

// live notifies a browser when its page may differ. The page itself is fetched again, so that each
// update passes the same checks as the first request.
func (s *site) live(w http.ResponseWriter, r *http.Request) {
	if _, err := s.who(r); err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return // a stream without a body would never end
	}
	for _, c := range s.clusters {
		defer c.Attend()()
	}
	fmt.Fprint(w, "retry: 2000\n\n")
	for {
		changes := s.changes()
		fmt.Fprintf(w, "event: version\ndata: %s\n\n", s.version())
		if out.Flush() != nil || !s.wait(r, changes) {
			return
		}
		if _, err := s.who(r); err != nil {
			return // the session has ended
		}
	}
}

// changes returns the channels that are closed when a cluster differs.
func (s *site) changes() []<-chan struct{} {
	var all []<-chan struct{}
	for _, c := range s.clusters {
		all = append(all, c.Changed())
	}
	return all
}

// version identifies what pages show now. After a restart it differs, so that a page is fetched again.
func (s *site) version() string {
	parts := []string{s.started}
	for _, c := range s.clusters {
		parts = append(parts, strconv.FormatUint(c.Board().Version, 10))
	}
	return strings.Join(parts, ".")
}

// wait returns after the pace when something differs, or after a beat. It returns false if the reader
// has gone.
func (s *site) wait(r *http.Request, changes []<-chan struct{}) bool {
	pause := s.Clock.NewTimer(pace)
	defer pause.Stop()
	select {
	case <-pause.C():
	case <-r.Context().Done():
		return false
	}
	rest := s.Clock.NewTimer(beat)
	defer rest.Stop()
	cases := []reflect.SelectCase{
		{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(r.Context().Done())}, {Dir: reflect.SelectRecv, Chan: reflect.ValueOf(rest.C())},
	}
	for _, c := range changes {
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(c)})
	}
	chosen, _, _ := reflect.Select(cases)
	return chosen != 0
}
