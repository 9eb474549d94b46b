package window

import (
	"math/bits"
	"time"

	"github.com/robfig/cron/v3"
)

// starts are times that a cron expression describes, at each of which a span of a certain length
// begins. The library parses the expression. It does not search backwards, so the search is here. A
// start that the clocks skip happens when they change, and a start that they show twice happens
// twice.
type starts struct {
	expression *cron.SpecSchedule
	length     time.Duration
}

// star is how the library marks a field with a star.
const star = 1 << 63

func (s *starts) contains(t time.Time, zone *time.Location) bool {
	_, found := s.last(t, t.Add(-s.length), zone)
	return found
}

func (s *starts) leaves(t, _ time.Time, zone *time.Location) time.Time {
	start, _ := s.last(t, t.Add(-s.length), zone)
	return start.Add(s.length)
}

func (s *starts) enters(t, limit time.Time, zone *time.Location) time.Time {
	return s.next(t, limit, zone)
}

// last returns the latest start up to a time and after an earlier time.
func (s *starts) last(t, after time.Time, zone *time.Location) (start time.Time, found bool) {
	for t.After(after) {
		now := steadyAt(t, zone)
		from := after.Unix() + now.offset
		if !now.first.IsZero() {
			from = max(from, now.first.Unix()+now.offset)
		}
		if wall, some := s.lastWall(t.Unix()+now.offset, from); some {
			start = now.at(wall)
			return start, start.After(after)
		}
		if now.first.IsZero() || !now.first.After(after) {
			return time.Time{}, false
		}
		if s.skipped(now.first, zone) {
			return now.first, true
		}
		t = now.first.Add(-time.Second)
	}
	return time.Time{}, false
}

// next returns the earliest start after a time, or the limit.
func (s *starts) next(t, limit time.Time, zone *time.Location) time.Time {
	for t.Before(limit) {
		now := steadyAt(t, zone)
		to := limit
		if !now.end.IsZero() && now.end.Before(to) {
			to = now.end
		}
		if wall, some := s.nextWall(t.Unix()+now.offset+1, to.Unix()+now.offset); some {
			return now.at(wall)
		}
		if !to.Before(limit) {
			return limit
		}
		if s.skipped(to, zone) || s.matches(wallOf(to, zone)) {
			return to
		}
		t = to
	}
	return limit
}

// skipped reports whether the clocks skip a start when they change.
func (s *starts) skipped(change time.Time, zone *time.Location) bool {
	_, some := s.nextWall(wallOf(change.Add(-time.Second), zone)+1, wallOf(change, zone))
	return some
}

// matches reports whether a wall time is a start.
func (s *starts) matches(wall int64) bool {
	_, some := s.nextWall(wall, wall+1)
	return some
}

// nextWall returns the first start from a wall time on, before another one.
func (s *starts) nextWall(from, to int64) (wall int64, some bool) {
	from = -floor(-from, minute) // to the next minute
	for from < to {
		number, second := dayOf(from)
		if s.onDay(number) {
			if m, ok := nextMinute(s.expression.Hour, s.expression.Minute, second/minute); ok {
				wall = number*day + m*minute
				return wall, wall < to
			}
		}
		from = (number + 1) * day
	}
	return 0, false
}

// lastWall returns the last start up to a wall time, not before another one.
func (s *starts) lastWall(to, from int64) (wall int64, some bool) {
	for to >= from {
		number, second := dayOf(to)
		if s.onDay(number) {
			if m, ok := lastMinute(s.expression.Hour, s.expression.Minute, second/minute); ok {
				wall = number*day + m*minute
				return wall, wall >= from
			}
		}
		to = number*day - 1
	}
	return 0, false
}

// onDay reports whether there are starts on a day. If both the day of the month and the day of the
// week are limited, one of them is enough, as in every cron.
func (s *starts) onDay(number int64) bool {
	date, e := time.Unix(number*day, 0).UTC(), s.expression
	if e.Month&(1<<date.Month()) == 0 {
		return false
	}
	ofMonth, ofWeek := e.Dom&(1<<date.Day()) != 0, e.Dow&(1<<date.Weekday()) != 0
	if e.Dom&star != 0 || e.Dow&star != 0 {
		return ofMonth && ofWeek
	}
	return ofMonth || ofWeek
}

// nextMinute returns the first minute of the day with one of these hours and minutes, from a minute
// on.
func nextMinute(hours, minutes uint64, from int64) (int64, bool) {
	hours, minutes = hours&^star, minutes&^star
	hour := from / 60
	if hours&(1<<hour) != 0 {
		if later := minutes >> (from % 60); later != 0 {
			return from + int64(bits.TrailingZeros64(later)), true
		}
	}
	later := hours >> (hour + 1)
	if later == 0 || minutes == 0 {
		return 0, false
	}
	return (hour+1+int64(bits.TrailingZeros64(later)))*60 + int64(bits.TrailingZeros64(minutes)), true
}

// lastMinute returns the last minute of the day with one of these hours and minutes, up to a
// minute.
func lastMinute(hours, minutes uint64, to int64) (int64, bool) {
	hours, minutes = hours&^star, minutes&^star
	hour := to / 60
	if hours&(1<<hour) != 0 {
		if earlier := minutes & (1<<(to%60+1) - 1); earlier != 0 {
			return hour*60 + int64(bits.Len64(earlier)-1), true
		}
	}
	earlier := hours & (1<<hour - 1)
	if earlier == 0 || minutes == 0 {
		return 0, false
	}
	return int64(bits.Len64(earlier)-1)*60 + int64(bits.Len64(minutes)-1), true
}

// floor rounds down to a multiple.
func floor(n, of int64) int64 {
	if rest := n % of; rest != 0 {
		n -= (rest + of) % of
	}
	return n
}
