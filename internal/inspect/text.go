package inspect

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reroll-dev/reroll/internal/report"
)

// Width is as many columns as a text takes, but where a name or a command is longer than that.
const Width = 80

// Paint colours words. The zero Paint leaves them as they are.
type Paint struct{ On bool }

const (
	green  = "32"
	yellow = "33"
	red    = "31"
	bold   = "1"
)

func (p Paint) in(colour, text string) string {
	if !p.On || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// state colours a text by what the state means.
func (p Paint) state(s State, text string) string {
	switch s {
	case UpToDate:
		return p.in(green, text)
	case Stuck, OutOfDate, Reverted, Missing:
		return p.in(red, text)
	default:
		return p.in(yellow, text)
	}
}

// ago is how long before now something was, in the format of kubectl.
func ago(t, now time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return span(now.Sub(t)) + " ago"
}

func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "0s"
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 2*day:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/day)
	}
}

// counted is a number with its noun.
func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// pageText is a text with a column of titles.
type pageText struct {
	b     strings.Builder
	paint Paint
}

// indent is where the column behind the titles begins.
const indent = 12

// entry writes a paragraph behind a title, which may be empty. What begins with $ is a command, and stays in one line.
func (p *pageText) entry(title, text string) {
	lead := p.paint.in(bold, title) + strings.Repeat(" ", max(1, indent-columns(title)))
	for _, line := range wrap(text, Width-indent) {
		p.b.WriteString(strings.TrimRight(lead+line, " ") + "\n")
		lead = strings.Repeat(" ", indent)
	}
}

// paragraph writes one without a title.
func (p *pageText) paragraph(text string) {
	for _, line := range wrap(text, Width) {
		p.b.WriteString(line + "\n")
	}
}

func (p *pageText) gap() { p.b.WriteString("\n") }

// command writes one on a line of its own.
func (p *pageText) command(text string) { p.b.WriteString("  " + text + "\n") }

// columns is how many a text takes. Colours take none.
func columns(text string) int {
	n := utf8.RuneCountInString(text)
	for rest := text; ; {
		_, after, found := strings.Cut(rest, "\x1b[")
		code, _, ended := strings.Cut(after, "m")
		if !found || !ended {
			return n
		}
		n -= len("\x1b[") + len(code) + len("m")
		rest = after
	}
}

// oneLine is a text of a cluster as it can be shown: without line breaks, and without what moves or colours a terminal.
func oneLine(text string) string {
	return report.OneLine(text)
}

// wrap breaks a text between words. Lines that are there already stay.
func wrap(text string, width int) []string {
	var lines []string
	for part := range strings.SplitSeq(text, "\n") {
		line := ""
		for word := range strings.FieldsSeq(part) {
			switch {
			case line == "":
				line = word
			case columns(line)+1+columns(word) <= width:
				line += " " + word
			default:
				lines = append(lines, line)
				line = word
			}
		}
		lines = append(lines, line)
	}
	return lines
}
