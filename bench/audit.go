package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
)

// request is a kind of request, as users of RBAC know it.
type request struct {
	Verb     string `json:"verb"`
	Resource string `json:"resource"` // with the subresource behind a slash
}

// requests are how many there were of each kind.
type requests map[request]int

// total is how many there were of all kinds together, leaving some out.
func (r requests) total(leaveOut ...request) int {
	sum := 0
	for kind, n := range r {
		if !slices.Contains(leaveOut, kind) {
			sum += n
		}
	}
	return sum
}

// auditLog is the API server's own record of who has asked for what.
type auditLog struct {
	path string
	user string // whose requests are counted
}

// tally counts what is written to the log from some moment on.
type tally struct {
	log     auditLog
	place   int64 // up to which it was read
	counted requests
}

// begin begins to count at the end of the log as it is now.
func (a auditLog) begin() (*tally, error) {
	info, err := os.Stat(a.path)
	if err != nil {
		return nil, fmt.Errorf("look at the audit log: %w", err)
	}
	return &tally{log: a, place: info.Size(), counted: requests{}}, nil
}

// read returns what there is so far. The log is long, so nothing of it is read twice.
func (t *tally) read() (requests, error) {
	file, err := os.Open(t.log.path)
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(t.place, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	n, err := t.counted.add(file, t.log.user)
	t.place += n
	return t.counted, err
}

// add counts the requests of a user, those that met another version than the one they were about
// for themselves, and returns how many bytes it has taken. A watch is counted when it begins, all
// else when it is answered. What stands behind the last end of a line is still being written and
// not taken.
func (r requests) add(log io.Reader, user string) (taken int64, err error) {
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return taken, nil
		}
		if err != nil {
			return taken, fmt.Errorf("read the audit log: %w", err)
		}
		taken += int64(len(line))
		var event struct {
			Stage string `json:"stage"`
			Verb  string `json:"verb"`
			User  struct {
				Username string `json:"username"`
			} `json:"user"`
			ObjectRef struct {
				Resource    string `json:"resource"`
				Subresource string `json:"subresource"`
			} `json:"objectRef"`
			RequestURI     string `json:"requestURI"`
			ResponseStatus struct {
				Code int `json:"code"`
			} `json:"responseStatus"`
		}
		if err := json.Unmarshal(line, &event); err != nil {
			return taken, fmt.Errorf("read a line of the audit log: %w", err)
		}
		counts := "ResponseComplete"
		if event.Verb == "watch" {
			counts = "ResponseStarted"
		}
		if event.User.Username != user || event.Stage != counts {
			continue
		}
		kind := request{Verb: event.Verb, Resource: event.ObjectRef.Resource}
		if event.ObjectRef.Subresource != "" {
			kind.Resource += "/" + event.ObjectRef.Subresource
		}
		if kind.Resource == "" { // it is about no object
			kind.Resource, _, _ = strings.Cut(event.RequestURI, "?")
		}
		asks := queryOf(event.RequestURI)
		switch {
		case kind.Verb == "list" && asks.Get("limit") == "1":
			kind.Resource += ofOne
		case kind.Verb == "watch" && asks.Get("sendInitialEvents") == "true":
			kind.Resource += ofAll
		}
		if event.ResponseStatus.Code == http.StatusConflict {
			kind.Resource += " (conflict)"
		}
		r[kind]++
	}
}

// queryOf is what stands behind the path.
func queryOf(uri string) url.Values {
	u, err := url.ParseRequestURI(uri)
	if err != nil {
		return nil
	}
	return u.Query()
}
