package policy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limit is how often a workload may be reloaded: at most Reloads times in Within. The zero Limit
// limits nothing.
type Limit struct {
	Reloads int64
	Within  time.Duration
}

// maxWithin keeps sums of times far away from the end of their range.
const maxWithin = 366 * 24 * time.Hour

// errLimit describes the values that ParseLimit accepts.
var errLimit = errors.New(`write a number of reloads and a time, such as "30/1h", or "off"`)

// ParseLimit reads a limit such as 30/1h, or off.
func ParseLimit(text string) (Limit, error) {
	if text == "off" {
		return Limit{}, nil
	}
	number, within, _ := strings.Cut(text, "/")
	reloads, err := strconv.ParseInt(number, 10, 64)
	if err != nil || reloads < 1 {
		return Limit{}, errLimit
	}
	l := Limit{Reloads: reloads}
	if l.Within, err = time.ParseDuration(within); err != nil || l.Within <= 0 {
		return Limit{}, errLimit
	}
	switch {
	case l.Within > maxWithin:
		return Limit{}, fmt.Errorf("%s is longer than a year; %w", l.Within, errLimit)
	case l.Within/time.Duration(l.Reloads) < time.Second:
		return Limit{}, fmt.Errorf("more than one reload per second is no limit; %w", errLimit)
	}
	return l, nil
}

// String returns the text that ParseLimit reads.
func (l Limit) String() string {
	if l == (Limit{}) {
		return "off"
	}
	return strconv.FormatInt(l.Reloads, 10) + "/" + Short(l.Within)
}

// Short drops the zeros at the end of a duration: 1h instead of 1h0m0s.
func Short(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}
