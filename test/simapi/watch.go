package simapi

import (
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Event is one write, as a watch brings it.
type Event struct {
	Type    watch.EventType
	Object  Object
	Version uint64
	// Old, Manager and Time, by the clock of the server that took it, are for those who observe,
	// and on no watch.
	Old     Object
	Manager string
	Time    time.Time
}

// log is what was written of one resource.
type log struct {
	events []Event
	// from is the version before which nothing can be told any more.
	from uint64
}

func (s *Server) log(resource string) *log {
	if s.logs[resource] == nil {
		s.logs[resource] = &log{}
	}
	return s.logs[resource]
}

func (s *Server) tell(resource string, e Event) {
	l := s.log(resource)
	l.events = append(l.events, e)
	for _, f := range s.observe {
		f(e)
	}
}

// SnapshotAt returns what existed of a resource at a version, and the version that a watch has to
// go on from. A server may answer with any version that is not older than the one asked for.
func (s *Server) SnapshotAt(resource string, version uint64) []Object {
	existed := map[types.NamespacedName]Object{}
	for _, e := range s.log(resource).events {
		if e.Version > version {
			break
		}
		if e.Type == watch.Deleted {
			delete(existed, nameOf(e.Object))
		} else {
			existed[nameOf(e.Object)] = e.Object
		}
	}
	return sorted(existed)
}

// Compact forgets the events of a resource: watches that are behind end with 410.
func (s *Server) Compact(resource string) {
	s.log(resource).from = s.version
}

// Watcher has a position in the events of one resource, independent of every other.
type Watcher struct {
	log     *log
	at      int
	version uint64
}

// Watch goes on after a version.
func (s *Server) Watch(resource string, version uint64) (*Watcher, error) {
	l := s.log(resource)
	if version < l.from {
		return nil, apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", version, l.from))
	}
	at := len(l.events)
	for at > 0 && l.events[at-1].Version > version {
		at--
	}
	return &Watcher{log: l, at: at, version: version}, nil
}

// Next returns the next event, or false when there is none yet.
func (w *Watcher) Next() (Event, bool) {
	if w.at == len(w.log.events) {
		return Event{}, false
	}
	e := w.log.events[w.at]
	w.at++
	w.version = e.Version
	return e, true
}

// Pending is how many events wait.
func (w *Watcher) Pending() int { return len(w.log.events) - w.at }

// Version is what a watch that takes this one's place goes on from.
func (w *Watcher) Version() uint64 { return w.version }
