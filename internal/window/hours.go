package window

import "time"

// hours are times of the day on days of the week. If the end is not after the start, it is on the
// next day.
type hours struct {
	// start and end are seconds of the day. The end may be 24:00.
	start, end int64
	// days has a bit for each day of the week on which the hours start.
	days uint8
}

const everyDay = 1<<7 - 1

func (h *hours) in(wall int64) bool {
	number, second := dayOf(wall)
	if h.start < h.end {
		return h.starts(number) && h.start <= second && second < h.end
	}
	return h.starts(number) && h.start <= second || h.starts(number-1) && second < h.end
}

func (h *hours) starts(number int64) bool { return h.days&(1<<weekday(number)) != 0 }

func (h *hours) edge(wall int64) (int64, bool) {
	number, _ := dayOf(wall)
	next := (number + 1) * day
	next += min(h.start, h.end)
	for _, second := range []int64{h.start, h.end} {
		if at := number*day + second; at > wall && at < next {
			next = at
		}
	}
	return next, true
}

// dates are whole days, from the first to the last one.
type dates struct{ first, last int64 }

func (d *dates) in(wall int64) bool { return d.first*day <= wall && wall < (d.last+1)*day }

func (d *dates) edge(wall int64) (int64, bool) {
	for _, at := range []int64{d.first * day, (d.last + 1) * day} {
		if at > wall {
			return at, true
		}
	}
	return 0, false
}

// numberOf is the number of a day.
func numberOf(t time.Time) int64 {
	number, _ := dayOf(t.Unix())
	return number
}
