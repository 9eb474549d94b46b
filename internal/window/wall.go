package window

import "time"

// The wall time is what the clocks of a time zone show, in seconds since 1970 as these clocks count
// them. It is linear until the clocks change. So all arithmetic is done with numbers, from one such
// change to the next.

const (
	minute = 60
	day    = 24 * 60 * minute
)

// wallOf returns the wall time of a time.
func wallOf(t time.Time, zone *time.Location) int64 {
	_, offset := t.In(zone).Zone()
	return t.Unix() + int64(offset)
}

// steady is a stretch of time in which the clocks of a zone do not change. The wall time in it is
// the Unix time plus the offset. First is the first second and end the first one after it. Either
// is zero if there is none.
type steady struct {
	offset     int64
	first, end time.Time
}

func steadyAt(t time.Time, zone *time.Location) steady {
	local := t.In(zone)
	_, offset := local.Zone()
	first, end := local.ZoneBounds()
	return steady{int64(offset), first, end}
}

// at returns the time at which the clocks show a wall time.
func (s *steady) at(wall int64) time.Time { return time.Unix(wall-s.offset, 0) }

// dayOf returns the number of the day of a wall time, and the second in it.
func dayOf(wall int64) (number, second int64) {
	number = wall / day
	if second = wall % day; second < 0 {
		number, second = number-1, second+day
	}
	return number, second
}

// weekday is the day of the week of a day.
func weekday(number int64) time.Weekday {
	const thursday = 4 // 1970-01-01
	return time.Weekday(((number+thursday)%7 + 7) % 7)
}

// dial is a span that follows from the wall time alone.
type dial interface {
	in(wall int64) bool
	// edge returns the next wall time at which in may change, and whether there is one.
	edge(wall int64) (next int64, some bool)
}

// shown is the span of a dial.
type shown struct{ dial }

func (s shown) contains(t time.Time, zone *time.Location) bool { return s.in(wallOf(t, zone)) }

func (s shown) leaves(t, limit time.Time, zone *time.Location) time.Time {
	return s.change(t, limit, zone)
}

func (s shown) enters(t, limit time.Time, zone *time.Location) time.Time {
	return s.change(t, limit, zone)
}

// change returns the next time at which the span begins or ends, or the limit. It may begin or end
// because the clocks change.
func (s shown) change(t, limit time.Time, zone *time.Location) time.Time {
	before := s.contains(t, zone)
	for t.Before(limit) {
		now := steadyAt(t, zone)
		next := limit
		if wall, some := s.edge(t.Unix() + now.offset); some {
			next = now.at(wall)
		}
		if !now.end.IsZero() && now.end.Before(next) {
			next = now.end
		}
		if !next.Before(limit) {
			break
		}
		if s.contains(next, zone) != before {
			return next
		}
		t = next
	}
	return limit
}
