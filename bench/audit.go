package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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

// end is where the log ends now.
func (a auditLog) end() (int64, error) {
	info, err := os.Stat(a.path)
	if err != nil {
		return 0, fmt.Errorf("look at the audit log: %w", err)
	}
	return info.Size(), nil
}

// since counts what was begun behind a place in the log.
func (a auditLog) since(place int64) (requests, error) {
	file, err := os.Open(a.path)
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(place, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	return countRequests(file, a.user)
}

// countRequests counts the requests of a user. A watch is counted when it begins, all else when it is answered. What
// stands behind the last end of a line is still being written and left out.
func countRequests(log io.Reader, user string) (requests, error) {
	counted := requests{}
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return counted, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
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
			RequestURI string `json:"requestURI"`
		}
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("read a line of the audit log: %w", err)
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
		counted[kind]++
	}
}
