package window

import (
	"archive/zip"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The oracle knows no arithmetic: it looks at the clock of the zone every minute for ten years.
const (
	oracleFrom  = "2020-01-01T00:00:00Z"
	oracleYears = 10
	// oracleCases is how many windows a run draws, each in another zone.
	oracleCases = 2
)

// drawn is a window that was drawn, with what the oracle has to know.
type drawn struct {
	deny       bool
	zone       *time.Location
	start, end int // minutes of the day
	days       [7]bool
	first      string // dates, if there are any
	last       string
	cron       *drawnCron
}

type drawnCron struct {
	minutes, hours, dom, months, dow []int
	length                           int // in minutes
}

func (d *drawn) String() string {
	words := []string{"allow"}
	if d.deny {
		words[0] = "deny"
	}
	switch {
	case d.cron != nil:
		words = append(words, fmt.Sprintf(`"%s %s %s %s %s" %dm`, field(d.cron.minutes), field(d.cron.hours), field(d.cron.dom), field(d.cron.months), field(d.cron.dow), d.cron.length))
	case d.first != "":
		words = append(words, d.first+"/"+d.last)
	default:
		words = append(words, fmt.Sprintf("%02d:%02d-%02d:%02d", d.start/60, d.start%60, d.end/60, d.end%60))
		var days []string
		for day, on := range d.days {
			if on {
				days = append(days, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}[day])
			}
		}
		words = append(words, strings.Join(days, ","))
	}
	return strings.Join(append(words, d.zone.String()), " ")
}

func field(values []int) string {
	if values == nil {
		return "*"
	}
	var texts []string
	for _, v := range values {
		texts = append(texts, strconv.Itoa(v))
	}
	return strings.Join(texts, ",")
}

func some(r *rand.Rand, from, to, most int) []int {
	var values []int
	for range 1 + r.IntN(most) {
		values = append(values, from+r.IntN(to-from+1))
	}
	return values
}

func draw(r *rand.Rand, zone *time.Location) *drawn {
	d := &drawn{deny: r.IntN(3) == 0, zone: zone}
	switch r.IntN(5) {
	case 0:
		first := time.Date(2020+r.IntN(oracleYears), time.Month(1+r.IntN(12)), 1+r.IntN(28), 0, 0, 0, 0, time.UTC)
		d.first, d.last = first.Format(time.DateOnly), first.AddDate(0, 0, r.IntN(200)).Format(time.DateOnly)
	case 1, 2:
		d.cron = &drawnCron{minutes: some(r, 0, 59, 4), length: 1 + r.IntN(60*8)}
		if r.IntN(3) > 0 {
			d.cron.hours = some(r, 0, 23, 3)
		}
		if r.IntN(3) == 0 {
			d.cron.dom = some(r, 1, 31, 4)
		}
		if r.IntN(3) == 0 {
			d.cron.months = some(r, 1, 12, 6)
		}
		if r.IntN(2) == 0 {
			d.cron.dow = some(r, 0, 6, 3)
		}
	default:
		// Clocks change at night, mostly.
		d.start, d.end = r.IntN(24*60), r.IntN(24*60)
		if r.IntN(2) == 0 {
			d.start, d.end = r.IntN(5*60), r.IntN(5*60)
		}
		if d.start == d.end {
			d.end++
		}
		for i := range d.days {
			d.days[i] = r.IntN(2) == 0
		}
		d.days[r.IntN(7)] = true
	}
	return d
}

// watched is a window as the oracle sees it, minute by minute.
type watched struct {
	*drawn
	before  time.Time // what the clock showed a minute ago
	started int       // minutes since the last start, by cron
	starts  int       // how often it has started
}

const never = 1 << 30

// clockOf is what the clock of the zone shows, as if it was in UTC.
func clockOf(t time.Time, zone *time.Location) time.Time {
	l := t.In(zone)
	return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC)
}

func (w *watched) open(t time.Time) bool {
	clock := clockOf(t, w.zone)
	defer func() { w.before = clock }()
	switch {
	case w.cron != nil:
		w.started++
		for m := clock; m.After(w.before) || m.Equal(clock); m = m.Add(-time.Minute) {
			if w.cron.starts(m) {
				w.started = 0
				w.starts++
			}
		}
		return w.started < w.cron.length
	case w.first != "":
		date := clock.Format(time.DateOnly)
		return w.first <= date && date <= w.last
	}
	m, yesterday := clock.Hour()*60+clock.Minute(), (clock.Weekday()+6)%7
	if w.start < w.end {
		return w.days[clock.Weekday()] && w.start <= m && m < w.end
	}
	return w.days[clock.Weekday()] && m >= w.start || w.days[yesterday] && m < w.end
}

func (c *drawnCron) starts(m time.Time) bool {
	has := func(values []int, v int) bool { return values == nil || slices.Contains(values, v) }
	if !has(c.minutes, m.Minute()) || !has(c.hours, m.Hour()) || !has(c.months, int(m.Month())) {
		return false
	}
	dom, dow := has(c.dom, m.Day()), has(c.dow, int(m.Weekday()))
	if c.dom != nil && c.dow != nil {
		return dom || dow
	}
	return dom && dow
}

// zones are all that Go has. Each run draws other ones.
func zones(t *testing.T) []*time.Location {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = files.Close() }()
	var all []*time.Location
	for _, file := range files.File {
		if strings.HasSuffix(file.Name, "/") {
			continue
		}
		zone, err := time.LoadLocation(file.Name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, zone)
	}
	return all
}

// Draws other windows in each run. REROLL_SEED repeats one, and REROLL_WINDOWS sets how many are
// drawn: 600 are more than there are zones, so that each zone has one.
func TestWhateverIsWrittenAgreesWithTheClockEveryMinute(t *testing.T) {
	t.Parallel()
	cases, seed := oracleCases, uint64(time.Now().UnixNano())
	if text := os.Getenv("REROLL_WINDOWS"); text != "" {
		cases, _ = strconv.Atoi(text)
	}
	if text := os.Getenv("REROLL_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	all := zones(t)
	order := rand.New(rand.NewPCG(seed, 0)).Perm(len(all))
	for i := range cases {
		r := rand.New(rand.NewPCG(seed, uint64(i)+1))
		var rules []*drawn
		var texts []string
		for range 1 + r.IntN(3) {
			zone := all[order[i%len(order)]]
			if len(rules) > 0 && r.IntN(4) == 0 {
				zone = all[r.IntN(len(all))]
			}
			rules = append(rules, draw(r, zone))
			texts = append(texts, rules[len(rules)-1].String())
		}
		compare(t, fmt.Sprintf("REROLL_SEED=%d, window %d", seed, i), strings.Join(texts, "; "), rules, r)
	}
}

// compare compares what the oracle sees with the arithmetic: at each edge and at drawn minutes.
func compare(t *testing.T, about, text string, rules []*drawn, r *rand.Rand) {
	t.Helper()
	s := parsed(t, text)
	from := at(t, oracleFrom)
	var seen []*watched
	for _, rule := range rules {
		seen = append(seen, &watched{drawn: rule, before: clockOf(from.Add(-time.Hour), rule.zone), started: never})
	}
	const warm = 9 * 60 // cron starts before count, too
	for m := from.Add(-warm * time.Minute); m.Before(from); m = m.Add(time.Minute) {
		for _, w := range seen {
			w.open(m)
		}
	}
	type question struct {
		at     time.Time
		starts int
	}
	var asked []question // closed minutes whose opening is not known yet
	before := false
	for m := from; m.Before(from.AddDate(oracleYears, 0, 0)); m = m.Add(time.Minute) {
		denied, allowed, limited, starts := false, false, false, 0
		for _, w := range seen {
			in := w.open(m)
			denied = denied || w.deny && in
			allowed = allowed || !w.deny && in
			limited = limited || !w.deny
			starts += w.starts
		}
		open := !denied && (allowed || !limited)
		edge := open != before
		if edge || r.IntN(100) == 0 {
			if got := s.Open(m); got != open {
				t.Fatalf("%s, %s: at %s it is open: %t, want %t", about, text, m, got, open)
			}
		}
		if edge && s.Open(m.Add(-time.Second)) == open && !m.Equal(from) {
			t.Fatalf("%s, %s: the second before %s differs from the minute", about, text, m)
		}
		if open {
			for _, then := range asked {
				got, found := s.Opens(then.at)
				far := m.Sub(then.at) >= Horizon || starts-then.starts >= MaxSteps
				if found && !got.Equal(m) || !found && !far {
					t.Fatalf("%s, %s: from %s on it opens at %s, want %s", about, text, then.at, got, m)
				}
			}
			asked = asked[:0]
		} else if edge || len(asked) < 3 && r.IntN(500) == 0 {
			asked = append(asked, question{m, starts})
		}
		before = open
	}
}
