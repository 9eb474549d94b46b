// Package window decides when reloads may start by the clock: it parses windows such as
// "allow 22:00-04:00 mon-fri Europe/Berlin", and does the arithmetic of their time zones. It does
// not know what a reload is.
package window

import (
	"time"
	_ "time/tzdata" // the image has no time zones
)

// Schedule is a list of windows.
type Schedule struct{ rules []rule }

// rule is one window: a span of time in a time zone.
type rule struct {
	deny bool
	zone *time.Location
	span span
}

// span is a recurring or a single span of time.
type span interface {
	// contains reports whether a time is inside.
	contains(t time.Time, zone *time.Location) bool
	// leaves returns a later time for a time that is inside: the end of the span, or an earlier
	// time until which all times are inside.
	leaves(t, limit time.Time, zone *time.Location) time.Time
	// enters returns the next time that is inside, for one that is not, or the limit.
	enters(t, limit time.Time, zone *time.Location) time.Time
}

// Horizon is how far ahead an opening is searched.
const Horizon = 400 * 24 * time.Hour

// MaxSteps is how many steps a search for an opening takes, because anyone may write windows that
// close every minute.
const MaxSteps = 500

// Open reports whether a reload may start at a time: no window denies it, and one allows it.
// Without any window that allows, all times are allowed.
func (s *Schedule) Open(t time.Time) bool { return s.denied(t) == nil && s.allowed(t) }

// Opens returns the earliest time, from t on, at which a reload may start, as Search.Opens does.
func (s *Schedule) Opens(t time.Time) (at time.Time, found bool) {
	steps := MaxSteps
	return s.SearchFrom(t, &steps).Opens(t)
}

// Search finds openings within the Horizon, each one later than those before.
type Search struct {
	*Schedule
	limit time.Time
	// begins is when each window that allows begins next. Some windows begin each minute, others
	// never: those must not be searched again for each minute.
	begins []time.Time
	// steps is how many more steps this search and others may take together.
	steps *int
}

// SearchFrom returns a search that begins at a time. Searches may share their steps.
func (s *Schedule) SearchFrom(t time.Time, steps *int) *Search {
	return &Search{s, t.Add(Horizon), make([]time.Time, len(s.rules)), steps}
}

// Opens returns the earliest time, from t on, at which a reload may start. It is in the time zone
// of the window that begins or ends then. Found is false if there is none within the Horizon, or
// if no steps are left.
func (s *Search) Opens(t time.Time) (at time.Time, found bool) {
	zone := t.Location()
	for ; *s.steps > 0 && t.Before(s.limit); *s.steps-- {
		deny := s.denied(t)
		switch {
		case deny != nil:
			t, zone = deny.span.leaves(t, s.limit, deny.zone), deny.zone
		case s.allowed(t):
			*s.steps--
			return t.In(zone), true
		default:
			t, zone = s.enters(t)
		}
	}
	return time.Time{}, false
}

func (s *Schedule) denied(t time.Time) *rule {
	for i := range s.rules {
		if r := &s.rules[i]; r.deny && r.span.contains(t, r.zone) {
			return r
		}
	}
	return nil
}

func (s *Schedule) allowed(t time.Time) bool {
	limited := false
	for i := range s.rules {
		r := &s.rules[i]
		if r.deny {
			continue
		}
		if r.span.contains(t, r.zone) {
			return true
		}
		limited = true
	}
	return !limited
}

// enters returns when the next window that allows begins, with its zone. None is open at t.
func (s *Search) enters(t time.Time) (time.Time, *time.Location) {
	first, zone := s.limit, t.Location()
	for i := range s.rules {
		r := &s.rules[i]
		if r.deny {
			continue
		}
		if !s.begins[i].After(t) {
			s.begins[i] = r.span.enters(t, s.limit, r.zone)
		}
		if at := s.begins[i]; at.Before(first) {
			first, zone = at, r.zone
		}
	}
	return first, zone
}
