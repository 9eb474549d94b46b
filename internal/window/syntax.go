package window

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// The bounds of what anyone may write.
const (
	// MaxText is the longest text, in bytes.
	MaxText   = 1000
	maxRules  = 20
	minLength = time.Minute
	maxLength = 31 * 24 * time.Hour
)

const example = `"allow 22:00-04:00 mon-fri Europe/Berlin"`

// Parse reads windows, separated by semicolons. Each is "allow" or "deny", then times of the day,
// days of the week, or both, or dates, or a cron expression in quotes with a duration, and at the
// end a time zone.
func Parse(text string) (*Schedule, error) {
	if len(text) > MaxText {
		return nil, fmt.Errorf("it has more than %d bytes", MaxText)
	}
	s := &Schedule{}
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		r, err := parseRule(part)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", part, err)
		}
		if s.rules = append(s.rules, r); len(s.rules) > maxRules {
			return nil, fmt.Errorf("it has more than %d windows", maxRules)
		}
	}
	if len(s.rules) == 0 {
		return nil, errors.New("it has no window; write " + example)
	}
	return s, nil
}

func parseRule(text string) (r rule, err error) {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "allow":
	case "deny":
		r.deny = true
	default:
		return rule{}, errors.New(`begin with "allow" or "deny"`)
	}
	rest = strings.TrimSpace(rest)
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		return r.parseCron(rest)
	}
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return rule{}, errors.New("write when, and a time zone, such as " + example)
	}
	if fields, r.zone, err = cutZone(fields); err != nil {
		return rule{}, err
	}
	if len(fields) == 1 && isDate(fields[0]) {
		r.span, err = parseDates(fields[0])
	} else {
		r.span, err = parseHours(fields)
	}
	return r, err
}

// cutZone returns the fields before the time zone, which is the last one.
func cutZone(fields []string) (before []string, zone *time.Location, err error) {
	last := len(fields) - 1
	name := fields[last]
	_, isDays := parseDays(name)
	if isDays == nil || isDate(name) || strings.Contains(name, ":") {
		return nil, nil, errors.New("the time zone is missing; write one such as Europe/Berlin at the end, or UTC")
	}
	if name != "Local" {
		zone, err = time.LoadLocation(name) //nolint:forbidigo // the zones are in the binary; newer ones of the system are welcome
	}
	if zone == nil || err != nil {
		return nil, nil, fmt.Errorf("unknown time zone %q; write one such as Europe/Berlin, or UTC", name)
	}
	if last == 0 {
		return nil, nil, errors.New("write when, such as " + example)
	}
	return fields[:last], zone, nil
}

func parseHours(fields []string) (span, error) {
	h := &hours{start: 0, end: day, days: everyDay}
	var times, days bool
	for _, field := range fields {
		var err error
		switch isTimes := strings.Contains(field, ":"); {
		case isDate(field):
			return nil, errors.New("dates are whole days, so write no times or days beside them")
		case isTimes && !times:
			times = true
			h.start, h.end, err = parseTimes(field)
		case !isTimes && !days:
			days = true
			h.days, err = parseDays(field)
		default:
			err = fmt.Errorf("%q is one too many; write a further window after a semicolon", field)
		}
		if err != nil {
			return nil, err
		}
	}
	return shown{h}, nil
}

// parseTimes reads times of the day such as 22:00-04:00.
func parseTimes(text string) (start, end int64, err error) {
	from, to, _ := strings.Cut(text, "-")
	start, okStart := parseTime(from)
	end, okEnd := parseTime(to)
	if !okStart || !okEnd || start == day {
		return 0, 0, fmt.Errorf("%q are not times of the day such as 22:00-04:00", text)
	}
	if start == end {
		return 0, 0, fmt.Errorf("%q begins when it ends; write 00:00-24:00 for whole days", text)
	}
	return start, end, nil
}

// parseTime returns the second of the day of a time such as 04:00, up to 24:00.
func parseTime(text string) (int64, bool) {
	if text == "24:00" {
		return day, true
	}
	t, err := time.Parse("15:04", text)
	if err != nil || len(text) != len("15:04") {
		return 0, false
	}
	return int64(t.Hour()*60+t.Minute()) * minute, true
}

// parseDays reads days of the week such as mon-fri,sun.
func parseDays(text string) (uint8, error) {
	var days uint8
	for part := range strings.SplitSeq(strings.ToLower(text), ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, okFirst := dayNamed(from)
		last, okLast := dayNamed(to)
		if !okFirst || !okLast {
			return 0, fmt.Errorf("%q are not days such as mon-fri or sat,sun", text)
		}
		for d := first; ; d = (d + 1) % 7 {
			days |= 1 << d
			if d == last {
				break
			}
		}
	}
	return days, nil
}

func dayNamed(name string) (int, bool) {
	for d, known := range [...]string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"} {
		if name == known {
			return d, true
		}
	}
	return 0, false
}

func isDate(text string) bool {
	from, _, _ := strings.Cut(text, "/")
	return len(from) == len(time.DateOnly) && from[4] == '-' && from[7] == '-'
}

// parseDates reads a date, or two with a slash between them.
func parseDates(text string) (span, error) {
	from, to, isRange := strings.Cut(text, "/")
	if !isRange {
		to = from
	}
	first, errFirst := time.Parse(time.DateOnly, from)
	last, errLast := time.Parse(time.DateOnly, to)
	if errFirst != nil || errLast != nil {
		return nil, fmt.Errorf("%q are not dates such as 2026-12-20/2027-01-06", text)
	}
	if last.Before(first) {
		return nil, fmt.Errorf("%q ends before it begins", text)
	}
	return shown{&dates{numberOf(first), numberOf(last)}}, nil
}

// parseCron reads a cron expression in quotes, a duration and a time zone.
func (r rule) parseCron(text string) (rule, error) {
	quoted, rest, closed := strings.Cut(text[1:], text[:1])
	fields := strings.Fields(rest)
	if !closed || len(fields) == 0 {
		return rule{}, errors.New(`after the cron expression in quotes, write a duration and a time zone, such as "0 22 * * mon-fri" 6h Europe/Berlin`)
	}
	expression, err := parseExpression(quoted)
	if err != nil {
		return rule{}, fmt.Errorf("%q is not a cron expression of five fields: %w", quoted, err)
	}
	length, err := time.ParseDuration(fields[0])
	if err != nil || length < minLength || length > maxLength {
		return rule{}, fmt.Errorf("after the cron expression, write a duration between %s and %s instead of %q", "1m", "744h", fields[0])
	}
	if len(fields) == 1 {
		return rule{}, errors.New("the time zone is missing; write one such as Europe/Berlin at the end, or UTC")
	}
	var more []string
	if more, r.zone, err = cutZone(fields); err != nil {
		return rule{}, err
	}
	if len(more) > 1 {
		return rule{}, fmt.Errorf("%q is one too many; write a further window after a semicolon", more[1])
	}
	r.span = &starts{expression, length}
	return r, nil
}

func parseExpression(text string) (*cron.SpecSchedule, error) {
	if strings.Contains(text, "=") {
		return nil, errors.New("write the time zone at the end of the window") // the parser would read it
	}
	parsed, err := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow).Parse(text)
	if err != nil {
		return nil, err
	}
	expression, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, errors.New("it describes no times of the clock")
	}
	return expression, nil
}
