package policy

import (
	"strings"
	"testing"
	"time"
)

func TestLimitsAreReadAndWritten(t *testing.T) {
	for text, want := range map[string]Limit{
		"30/1h":   {30, time.Hour},
		"1/24h":   {1, 24 * time.Hour},
		"2/1m30s": {2, 90 * time.Second},
		"3/10m":   {3, 10 * time.Minute},
		"60/1m":   {60, time.Minute},
		"off":     {},
	} {
		got, err := ParseLimit(text)
		if err != nil || got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
		if got.String() != text {
			t.Errorf("%q is written as %q", text, got)
		}
	}
}

func TestWhatIsNoLimit(t *testing.T) {
	for text, want := range map[string]string{
		"":                         "write a number of reloads and a time",
		"30":                       "write a number of reloads and a time",
		"0/1h":                     "write a number of reloads and a time",
		"-1/1h":                    "write a number of reloads and a time",
		"30/":                      "write a number of reloads and a time",
		"30/0s":                    "write a number of reloads and a time",
		"30/-1h":                   "write a number of reloads and a time",
		"30/hour":                  "write a number of reloads and a time",
		"9223372036854775808/1h":   "write a number of reloads and a time",
		"9223372036854775807/1h":   "more than one reload per second is no limit",
		"61/1m":                    "more than one reload per second is no limit",
		"1/9000h":                  "is longer than a year",
		"1/999999999999999999999h": "write a number of reloads and a time",
		"Off":                      "write a number of reloads and a time",
	} {
		if got, err := ParseLimit(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is %v, %v; want an error with %q", text, got, err, want)
		}
	}
}
