package gate

import (
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
)

const (
	nights = "allow 22:00-04:00 Europe/Berlin"
	always = "allow 00:00-24:00 UTC"
)

// windowed is a workload whose ConfigMap has changed, at noon.
type windowed struct{ own, template, namespace, flag, source, other string }

func annotated(text string) map[string]string {
	if text == "" {
		return nil
	}
	return map[string]string{annotations.Window: text}
}

func (w windowed) check() Answer {
	f := reload.Facts{Now: noon, Settings: reload.Settings{Window: w.flag}}
	f.Workload.Policy, _ = policy.Parse(annotated(w.own), annotated(w.template), annotations.DefaultNames())
	f.Defaults, _ = policy.ParseNamespace(annotated(w.namespace), annotations.DefaultNames())
	d := reload.Decision{Action: reload.Reload}
	for name, text := range map[string]string{"web": w.source, "other": w.other} {
		waves, _ := annotations.ReadWaves(annotated(text), true)
		d.Changes = append(d.Changes, reload.Concern{Source: source.Source{
			Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: name}, Annotations: source.Annotations{Waves: waves.Keep()},
		}})
	}
	return Check(&f, &d, Others{})
}

func TestTheMostSpecificWindowOfAWorkloadCountsAndThoseOfItsSources(t *testing.T) {
	for about, tc := range map[string]struct {
		windowed
		until, why string
	}{
		"none":                          {windowed{}, "", ""},
		"the flag":                      {windowed{flag: nights}, "2026-03-01T21:00:00Z", "its window is closed: allow 22:00-04:00 Europe/Berlin (--window)"},
		"the namespace":                 {windowed{namespace: nights, flag: always}, "2026-03-01T21:00:00Z", "(reroll.dev/window on the namespace)"},
		"the namespace beats the flag":  {windowed{namespace: always, flag: nights}, "", ""},
		"the pod template":              {windowed{template: nights, namespace: always}, "2026-03-01T21:00:00Z", "(reroll.dev/window on the pod template)"},
		"the workload":                  {windowed{own: nights, template: always}, "2026-03-01T21:00:00Z", "(reroll.dev/window on the workload)"},
		"the workload beats the others": {windowed{own: always, template: nights, namespace: nights, flag: nights}, "", ""},
		"a source":                      {windowed{source: nights}, "2026-03-01T21:00:00Z", "(reroll.dev/window on ConfigMap web)"},
		"a source beside the workload":  {windowed{own: always, source: nights}, "2026-03-01T21:00:00Z", "on ConfigMap web"},
		"both have to be open":          {windowed{own: nights, source: "allow 23:00-23:30 UTC"}, "2026-03-01T23:00:00Z", "on the workload"},
		"never at once":                 {windowed{own: nights, source: "deny 20:00-06:00 UTC"}, "", "on the workload"},
		"both sources":                  {windowed{source: always, other: "allow 13:00-14:00 UTC"}, "2026-03-01T13:00:00Z", "on ConfigMap other"},
		"a bad one is closed":           {windowed{own: "allow 22:00-04:00"}, "", "reroll.dev/window on the workload cannot be read: "},
		"a bad one, too long":           {windowed{own: "allow " + strings.Repeat("x", 2000)}, "", "cannot be read: it has more than 1000 bytes"},
		"a bad one beside a good one":   {windowed{own: always, source: "always"}, "", "reroll.dev/window on ConfigMap web cannot be read: "},
		"an unset one":                  {windowed{own: "", namespace: always}, "", ""},
	} {
		a := tc.check()
		closed := tc.why != ""
		if a.Open() == closed || closed && a.By != Window || !strings.Contains(a.Why, tc.why) {
			t.Errorf("%s: %+v", about, a)
		}
		if got := ""; closed {
			if !a.Until.IsZero() {
				got = a.Until.UTC().Format(time.RFC3339)
			}
			if got != tc.until {
				t.Errorf("%s: until %s, want %s", about, got, tc.until)
			}
		}
	}
}

func TestAnUrgentChangePassesItsWindow(t *testing.T) {
	f := reload.Facts{Now: noon, Settings: reload.Settings{Window: nights}}
	waves, _ := annotations.ReadWaves(map[string]string{annotations.Urgent: "true"}, true)
	urgent := reload.Concern{Source: source.Source{Annotations: source.Annotations{Waves: waves.Keep()}}}
	for about, tc := range map[string]struct {
		changes []reload.Concern
		open    bool
	}{
		"nothing urgent":         {[]reload.Concern{{}}, false},
		"an urgent one":          {[]reload.Concern{urgent}, true},
		"one of several changes": {[]reload.Concern{{}, urgent}, true},
	} {
		if a := Check(&f, &reload.Decision{Changes: tc.changes}, Others{}); a.Open() != tc.open {
			t.Errorf("%s: %+v", about, a)
		}
	}
}

func TestAnOpeningIsShownInItsZoneAndInThatOfTheReader(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 2, 22, 0, 0, 0, berlin)
	for about, tc := range map[string]struct {
		answer Answer
		reader *time.Location
		want   string
	}{
		"elsewhere":       {Answer{By: Window, Until: at}, newYork, "2026-03-02T22:00:00+01:00 (Europe/Berlin), here 2026-03-02T16:00:00-05:00"},
		"there":           {Answer{By: Window, Until: at}, berlin, "2026-03-02T22:00:00+01:00 (Europe/Berlin)"},
		"in UTC":          {Answer{By: Window, Until: at}, time.UTC, "2026-03-02T22:00:00+01:00 (Europe/Berlin), here 2026-03-02T21:00:00Z"},
		"another gate":    {Answer{By: Churn, Until: at}, newYork, "2026-03-02T21:00:00Z"},
		"a window in UTC": {Answer{By: Window, Until: at.UTC()}, time.UTC, "2026-03-02T21:00:00Z"},
	} {
		if got := tc.answer.When(tc.reader); got != tc.want {
			t.Errorf("%s: %s, want %s", about, got, tc.want)
		}
	}
}

func TestHowWindowsAreDescribed(t *testing.T) {
	for text, want := range map[string]string{
		"":                     "",
		nights:                 "allow 22:00-04:00 Europe/Berlin (--window), opens at 2026-03-01T22:00:00+01:00 (Europe/Berlin), here 2026-03-01T21:00:00Z",
		always:                 "allow 00:00-24:00 UTC (--window), open now",
		"allow 2020-01-01 UTC": "allow 2020-01-01 UTC (--window), closed",
		"nights":               `nights (--window), which cannot be read, so no reload starts: "nights": begin with "allow" or "deny"`,
	} {
		f := reload.Facts{Now: noon, Settings: reload.Settings{Window: text}}
		if got := strings.Join(DescribeWindows(&f, time.UTC), "\n"); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	waves, _ := annotations.ReadWaves(annotated(always), true)
	f := reload.Facts{Now: noon, Concerns: []reload.Concern{{}, {Source: source.Source{
		Key: source.Key{Kind: source.Secret, Name: "db"}, Annotations: source.Annotations{Waves: waves.Keep()},
	}}}}
	if got := DescribeWindows(&f, time.UTC); len(got) != 1 || got[0] != "allow 00:00-24:00 UTC (reroll.dev/window on Secret db), open now" {
		t.Errorf("the window of a source: %q", got)
	}
}

// Anyone may write windows that never open together, and each search costs time.
func TestTheSearchForAnOpeningIsBounded(t *testing.T) {
	for about, tc := range map[string]struct {
		texts []string
		want  string
	}{
		"none":                     {nil, "2026-03-01T12:00:00Z"},
		"both at night":            {[]string{nights, "allow 23:00-24:00 sat UTC"}, "2026-03-07T23:00:00Z"},
		"in turn, then both":       {[]string{"allow 00:00-01:00 UTC; allow 2026-04-15 UTC", "allow 02:00-03:00 UTC"}, "2026-04-15T02:00:00Z"},
		"three, one after another": {[]string{"allow sat UTC", "allow 08:00-09:00 UTC", `allow "0 8 1-7 * *" 1h UTC`}, "2026-03-07T08:00:00Z"},
		"in turn for too long":     {[]string{"allow 00:00-01:00 UTC; allow 2026-12-15 UTC", "allow 02:00-03:00 UTC"}, ""},
		"in turn every minute":     {[]string{`allow "*/2 * * * *" 1m UTC`, `allow "1-59/2 * * * *" 1m UTC`}, ""},
		"each after many steps": {[]string{
			`allow "*/2 * * * *" 1m UTC; deny "*/2 0-6,8-14,16-22 1 3 *" 1m UTC`,
			`allow "*/2 * * * *" 1m UTC; deny "*/2 0-2,4-10,12-18,20-23 1 3 *" 1m UTC`,
		}, ""},
		"one that never opens": {[]string{`allow "*/2 * * * *" 1m UTC; deny "*/2 * * * *" 1m UTC`}, ""},
	} {
		var all []windows
		for _, text := range tc.texts {
			all = append(all, read(text, "--window"))
		}
		at, found := opens(all, noon)
		if got := at.UTC().Format(time.RFC3339); found != (tc.want != "") || found && got != tc.want {
			t.Errorf("%s: %s, found %t, want %s", about, got, found, tc.want)
		}
	}
}

// When many sources wait, one digest is all that the ledger shows of them.
func TestTheWindowsOfAllSourcesOfAnAggregateCountWhileAReloadWaits(t *testing.T) {
	for about, tc := range map[string]struct {
		aggregates map[source.Kind]ledger.Total
		closed     bool
	}{
		"an entry for each":          {nil, false},
		"one digest":                 {map[source.Kind]ledger.Total{source.ConfigMap: {Digest: first, Count: 2}}, false},
		"one digest, a reload waits": {map[source.Kind]ledger.Total{source.ConfigMap: {Count: 2}}, true},
		"a reload for Secrets waits": {map[source.Kind]ledger.Total{source.Secret: {Count: 2}}, false},
	} {
		waves, _ := annotations.ReadWaves(map[string]string{annotations.Window: nights}, true)
		f, d := approvable{}.facts()
		f.Concerns[0].Source.Annotations.Waves = waves.Keep()
		d.Changes = f.Concerns[1:]
		f.Workload.LedgerText = ledger.Ledger{UID: f.Workload.UID, Aggregates: tc.aggregates}.String()
		a := Check(f, d, Others{})
		if closed := a.By == Window && strings.Contains(a.Why, "on ConfigMap a)"); closed != tc.closed || a.Open() == tc.closed {
			t.Errorf("%s: %+v", about, a)
		}
	}
}
