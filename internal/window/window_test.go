package window

import (
	"strings"
	"testing"
	"time"
)

func parsed(t *testing.T, text string) *Schedule {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return when
}

func TestWhenItIsOpenAndWhenItOpens(t *testing.T) {
	const nights = "allow 22:00-04:00 mon-fri Europe/Berlin"
	const christmas = nights + "; deny 2026-12-20/2027-01-06 Europe/Berlin"
	for about, tc := range map[string]struct{ text, now, opens string }{
		"in the night":                      {nights, "2026-11-23T23:00:00+01:00", "2026-11-23T23:00:00+01:00"},
		"at noon":                           {nights, "2026-11-23T12:00:00+01:00", "2026-11-23T22:00:00+01:00"},
		"the first second":                  {nights, "2026-11-23T22:00:00+01:00", "2026-11-23T22:00:00+01:00"},
		"the second before":                 {nights, "2026-11-23T21:59:59+01:00", "2026-11-23T22:00:00+01:00"},
		"a moment before":                   {nights, "2026-11-23T21:59:59.9+01:00", "2026-11-23T22:00:00+01:00"},
		"after its end":                     {nights, "2026-11-24T04:00:00+01:00", "2026-11-24T22:00:00+01:00"},
		"the night from Friday to Saturday": {nights, "2026-11-28T03:59:59+01:00", "2026-11-28T03:59:59+01:00"},
		"the night from Sunday to Monday":   {nights, "2026-11-30T03:00:00+01:00", "2026-11-30T22:00:00+01:00"},
		"on the weekend":                    {nights, "2026-11-28T04:00:00+01:00", "2026-11-30T22:00:00+01:00"},
		"a reader elsewhere":                {nights, "2026-11-23T12:00:00Z", "2026-11-23T22:00:00+01:00"},
		"denied beats allowed":              {christmas, "2026-12-21T23:00:00+01:00", "2027-01-07T00:00:00+01:00"},
		"the first denied night":            {christmas, "2026-12-20T00:00:00+01:00", "2027-01-07T00:00:00+01:00"},
		"without allow, all else is open":   {"deny 2026-12-20/2027-01-06 Europe/Berlin", "2026-12-19T12:00:00Z", "2026-12-19T12:00:00Z"},
		"it opens when a denied time ends":  {"deny 2026-12-20/2027-01-06 Europe/Berlin", "2026-12-24T12:00:00Z", "2027-01-07T00:00:00+01:00"},
		"one date":                          {"allow 2026-12-24 Europe/Berlin", "2026-12-01T00:00:00Z", "2026-12-24T00:00:00+01:00"},
		"never again":                       {"allow 2020-01-01 UTC", "2026-12-01T00:00:00Z", ""},
		"never":                             {"allow 00:00-24:00 UTC; deny 00:00-24:00 UTC", "2026-12-01T00:00:00Z", ""},
		"several that allow":                {"allow sat,sun UTC; allow 03:00-04:00 Asia/Tokyo", "2026-11-25T12:00:00Z", "2026-11-26T03:00:00+09:00"},
		"until midnight":                    {"allow 22:00-00:00 UTC", "2026-11-25T00:00:00Z", "2026-11-25T22:00:00Z"},
		"whole days":                        {"allow fri-mon UTC", "2026-11-25T10:00:00Z", "2026-11-27T00:00:00Z"},
		"a cron expression":                 {`allow "0 22 * * mon-fri" 6h Europe/Berlin`, "2026-11-23T12:00:00+01:00", "2026-11-23T22:00:00+01:00"},
		"within its duration":               {`allow "0 22 * * mon-fri" 6h Europe/Berlin`, "2026-11-24T03:59:59+01:00", "2026-11-24T03:59:59+01:00"},
		"after its duration":                {`allow "0 22 * * mon-fri" 6h Europe/Berlin`, "2026-11-28T04:00:00+01:00", "2026-11-30T22:00:00+01:00"},
		"either day of a cron expression":   {`allow "0 0 13 * fri" 1h UTC`, "2026-11-07T12:00:00Z", "2026-11-13T00:00:00Z"},
		"a denied cron expression":          {`deny "0 8 * * *" 10h UTC`, "2026-11-07T12:00:00Z", "2026-11-07T18:00:00Z"},
		"denied times that touch":           {"deny 08:00-12:00 UTC; deny 12:00-13:00 UTC", "2026-11-07T09:00:00Z", "2026-11-07T13:00:00Z"},
		"denied each minute":                {`deny "* * * * *" 1m UTC`, "2026-11-07T09:00:00Z", ""},
		"beyond the search":                 {"allow 2028-06-01 UTC", "2026-11-07T09:00:00Z", ""},
	} {
		s, now := parsed(t, tc.text), at(t, tc.now)
		opens, found := s.Opens(now)
		got := ""
		if found {
			got = opens.Format(time.RFC3339Nano)
			if !s.Open(opens) {
				t.Errorf("%s: it is closed when it opens", about)
			}
		}
		if want := tc.opens; found != (want != "") || found && !opens.Equal(at(t, want)) {
			t.Errorf("%s: it opens at %q, want %q", about, got, want)
		}
		if s.Open(now) != (found && opens.Equal(now)) {
			t.Errorf("%s: open: %t", about, s.Open(now))
		}
	}
}

// The opening is shown in the time zone of the window that begins or ends then.
func TestAnOpeningHasTheZoneOfItsWindow(t *testing.T) {
	for text, zone := range map[string]string{
		"allow 22:00-04:00 Europe/Berlin":                                      "Europe/Berlin",
		"allow 22:00-04:00 Europe/Berlin; allow 22:00-23:00 Asia/Tokyo":        "Asia/Tokyo",
		"allow 22:00-04:00 Europe/Berlin; deny 2026-11-01/2026-11-23 UTC":      "UTC",
		"deny 2026-11-01/2026-11-23 America/New_York; deny 2026-11-01 Etc/UTC": "America/New_York",
	} {
		s := parsed(t, text)
		opens, _ := s.Opens(at(t, "2026-11-23T12:00:00Z"))
		if got := opens.Location().String(); got != zone {
			t.Errorf("%s: %s", text, got)
		}
	}
}

// In Berlin, clocks show no time between 02:00 and 03:00 on 2027-03-28, and show that hour twice on
// 2026-10-25.
// counted counts how often it is asked when it begins.
type counted struct {
	span
	asked int
}

func (c *counted) enters(t, limit time.Time, zone *time.Location) time.Time {
	c.asked++
	return c.span.enters(t, limit, zone)
}

// To find that a window never begins takes long, and anyone may write many of them beside one that
// begins each minute.
func TestASearchAsksAWindowOnceWhenItBegins(t *testing.T) {
	s := parsed(t, `allow "*/2 * * * *" 1m UTC; deny "*/2 * * * *" 1m UTC; allow "0 0 30 2 *" 1m UTC`)
	never := &counted{span: s.rules[2].span}
	s.rules[2].span = never
	steps := MaxSteps
	search := s.SearchFrom(at(t, "2026-11-23T12:00:00Z"), &steps)
	for steps > 0 {
		if opens, found := search.Opens(at(t, "2026-11-23T12:00:00Z")); found {
			t.Fatalf("it opens at %s", opens)
		}
	}
	if never.asked != 1 {
		t.Errorf("asked %d times", never.asked)
	}
}

func TestSearchesShareTheirSteps(t *testing.T) {
	s, steps, now := parsed(t, "allow 22:00-23:00 UTC"), 3, at(t, "2026-11-23T12:00:00Z")
	for i, want := range []bool{true, false} {
		if _, found := s.SearchFrom(now, &steps).Opens(now); found != want {
			t.Errorf("search %d: found %t, and %d steps are left", i, found, steps)
		}
	}
}

func TestOnDaysWhenClocksChange(t *testing.T) {
	for about, tc := range map[string]struct{ text, now, opens string }{
		"hours that are skipped":               {"allow 02:15-02:45 Europe/Berlin", "2027-03-28T00:00:00+01:00", "2027-03-29T02:15:00+02:00"},
		"a start that is skipped":              {"allow 02:30-05:00 Europe/Berlin", "2027-03-28T00:00:00+01:00", "2027-03-28T03:00:00+02:00"},
		"an end that is skipped":               {"deny 01:00-02:30 Europe/Berlin", "2027-03-28T01:30:00+01:00", "2027-03-28T03:00:00+02:00"},
		"hours that come twice, the first":     {"allow 02:15-02:45 Europe/Berlin", "2026-10-25T00:00:00+02:00", "2026-10-25T02:15:00+02:00"},
		"hours that come twice, the second":    {"allow 02:15-02:45 Europe/Berlin", "2026-10-25T02:45:00+02:00", "2026-10-25T02:15:00+01:00"},
		"a night that is longer":               {"deny 22:00-04:00 Europe/Berlin", "2026-10-24T22:00:00+02:00", "2026-10-25T04:00:00+01:00"},
		"a night that is shorter":              {"deny 22:00-04:00 Europe/Berlin", "2027-03-27T22:00:00+01:00", "2027-03-28T04:00:00+02:00"},
		"a date that is shorter":               {"deny 2027-03-28 Europe/Berlin", "2027-03-28T00:00:00+01:00", "2027-03-29T00:00:00+02:00"},
		"a cron start that is skipped":         {`allow "30 2 * * sun" 1h Europe/Berlin`, "2027-03-28T00:00:00+01:00", "2027-03-28T03:00:00+02:00"},
		"the hour after that":                  {`deny "30 2 * * sun" 1h Europe/Berlin`, "2027-03-28T03:00:00+02:00", "2027-03-28T04:00:00+02:00"},
		"a cron start that comes twice":        {`allow "30 2 * * sun" 10m Europe/Berlin`, "2026-10-25T02:40:00+02:00", "2026-10-25T02:30:00+01:00"},
		"a duration does not follow the clock": {`deny "0 22 * * *" 6h Europe/Berlin`, "2026-10-24T22:00:00+02:00", "2026-10-25T03:00:00+01:00"},
		"a day that does not exist":            {"allow 2011-12-30 Pacific/Apia", "2011-12-29T12:00:00-10:00", ""},
		"a midnight that does not exist":       {"allow 2018-11-04 America/Sao_Paulo", "2018-11-03T12:00:00-03:00", "2018-11-04T01:00:00-02:00"},
	} {
		opens, found := parsed(t, tc.text).Opens(at(t, tc.now))
		if found != (tc.opens != "") || found && !opens.Equal(at(t, tc.opens)) {
			t.Errorf("%s: it opens at %s, want %s", about, opens.Format(time.RFC3339), tc.opens)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "no window",
		" ; ":                                    "no window",
		"22:00-04:00 Europe/Berlin":              `begin with "allow" or "deny"`,
		"allow":                                  "write when, and a time zone",
		"allow Europe/Berlin":                    "write when",
		"allow 22:00-04:00":                      "the time zone is missing",
		"allow mon-fri":                          "the time zone is missing",
		"deny 2026-12-20/2027-01-06":             "the time zone is missing",
		"allow 22:00-04:00 Europe/Berln":         `unknown time zone "Europe/Berln"`,
		"allow 22:00-04:00 Local":                `unknown time zone "Local"`,
		"allow 22-04 UTC":                        "are not days",
		"allow 22:00-25:00 UTC":                  "are not times of the day",
		"allow 24:00-04:00 UTC":                  "are not times of the day",
		"allow 2:00-04:00 UTC":                   "are not times of the day",
		"allow 22:00 UTC":                        "are not times of the day",
		"allow 04:00-04:00 UTC":                  "write 00:00-24:00",
		"allow mon-fry UTC":                      "are not days",
		"allow 22:00-04:00 mon tue UTC":          "one too many",
		"deny 2026-12-20 22:00-23:00 UTC":        "dates are whole days",
		"deny 2026-13-20 UTC":                    "are not dates",
		"deny 2027-01-06/2026-12-20 UTC":         "ends before it begins",
		`allow "0 22 * * mon-fri" Europe/Berlin`: "write a duration",
		`allow "0 22 * * mon-fri" 6h`:            "the time zone is missing",
		`allow "0 22 * * mon-fri"`:               "write a duration and a time zone",
		`allow "0 22 * * mon-fri`:                "write a duration and a time zone",
		`allow "0 22 * *" 6h UTC`:                "is not a cron expression of five fields",
		`allow "0 22 * * 8" 6h UTC`:              "is not a cron expression of five fields",
		`allow "@daily" 6h UTC`:                  "is not a cron expression of five fields",
		`allow "TZ=UTC" 6h UTC`:                  "write the time zone at the end",
		`allow "0 22 * * *" 1s UTC`:              "write a duration between",
		`allow "0 22 * * *" 10000h UTC`:          "write a duration between",
		`allow "0 22 * * *" 6h mon UTC`:          "one too many",
		strings.Repeat("deny sat UTC;", 21):      "more than 20 windows",
		strings.Repeat(" ", MaxText+1):           "more than 1000 bytes",
	} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Whatever anyone writes, the answer comes at once, and agrees with itself.
func FuzzWindows(f *testing.F) {
	for _, seed := range []string{
		"allow 22:00-04:00 mon-fri Europe/Berlin; deny 2026-12-20/2027-01-06 Europe/Berlin",
		`allow "0 22 * * mon-fri" 6h Europe/Berlin`, `deny "*/7 */3 1-9 2 *" 1m Asia/Kathmandu`, "allow 00:00-24:00 UTC",
	} {
		f.Add(seed, int64(1795000000))
	}
	f.Fuzz(func(t *testing.T, text string, unix int64) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		const longest = 1 << 36
		now := time.Unix(unix%longest, 0)
		opens, found := s.Opens(now)
		switch {
		case found && (opens.Before(now) || !s.Open(opens)):
			t.Errorf("%q at %s: it opens at %s", text, now, opens)
		case found && opens.After(now) && s.Open(now), !found && s.Open(now):
			t.Errorf("%q at %s is open, and opens at %s", text, now, opens)
		case found && opens.After(now) && s.Open(opens.Add(-time.Second)):
			t.Errorf("%q at %s is open before it opens at %s", text, now, opens)
		}
	})
}
