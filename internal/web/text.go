package web

import (
	"html/template"
	"regexp"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/internal/inspect"
)

// moments are the times in texts of package inspect. In the time zone of a window, the zone and the
// time here follow.
var moments = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d)` +
	`(?: \([A-Za-z]+(?:/[A-Za-z0-9_+-]+)*\))?(?:, here \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:Z|[+-]\d\d:\d\d))?`)

// timeLength is the length of a time before its zone.
const timeLength = len("2006-01-02T15:04:05")

// text returns a text as HTML, with an element for each time in it. The browser shows it as an age, or
// as a time in the zone of the reader.
func (s *site) text(text string) template.HTML {
	var b strings.Builder
	for {
		at := moments.FindStringIndex(text)
		if at == nil {
			break
		}
		found := text[at[0]:at[1]]
		template.HTMLEscape(&b, []byte(text[:at[0]]))
		if t, ok := momentOf(found); ok {
			b.WriteString(`<time datetime="` + t.UTC().Format(time.RFC3339) + `" title="` + template.HTMLEscapeString(found) + `">` + template.HTMLEscapeString(s.when(t)) + `</time>`)
		} else {
			template.HTMLEscape(&b, []byte(found))
		}
		text = text[at[1]:]
	}
	template.HTMLEscape(&b, []byte(text))
	return template.HTML(b.String()) //nolint:gosec // everything in it was escaped
}

func momentOf(found string) (t time.Time, ok bool) {
	end := timeLength + len("Z")
	if found[timeLength] != 'Z' {
		end = timeLength + len("+01:00")
	}
	t, err := time.Parse(time.RFC3339, found[:end])
	return t, err == nil
}

// when returns a time as pages show it without a script: as an age, or if it is to come, in UTC.
func (s *site) when(t time.Time) string {
	now := s.Clock.Now()
	if t.Sub(now) > time.Minute {
		return t.UTC().Format("Mon 2 Jan, 15:04 UTC")
	}
	return inspect.Ago(t, now)
}
