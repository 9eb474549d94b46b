package inspect

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reroll-dev/reroll/internal/report"
)

// Width is the number of columns of a text. Only a long name or a command exceeds it.
const Width = 80

// Paint colors words. The zero Paint leaves words as they are.
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

// state colors a text by the meaning of a state.
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

// ago returns how long ago a time was, in the format of kubectl.
func ago(t, now time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return span(now.Sub(t)) + " ago"
}

// Ago returns how long ago a time was.
func Ago(t, now time.Time) string { return ago(t, now) }

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

// counted returns a number with its noun.
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

// indent is the column where the text beside the titles begins.
const indent = 12

// entry writes a paragraph beside a title, which may be empty. A part that begins with $ is a
// command, and stays on one line.
func (p *pageText) entry(title, text string) {
	lead := p.paint.in(bold, title) + strings.Repeat(" ", max(1, indent-columns(title)))
	for _, line := range wrap(text, Width-indent) {
		p.b.WriteString(strings.TrimRight(lead+line, " ") + "\n")
		lead = strings.Repeat(" ", indent)
	}
}

// paragraph writes a paragraph without a title.
func (p *pageText) paragraph(text string) {
	for _, line := range wrap(text, Width) {
		p.b.WriteString(line + "\n")
	}
}

func (p *pageText) gap() { p.b.WriteString("\n") }

// command writes a command on a line of its own.
func (p *pageText) command(text string) { p.b.WriteString("  " + text + "\n") }

// columns returns the width of a text. Colors have no width.
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

// oneLine returns a text from a cluster without line breaks and without sequences that move the
// cursor of a terminal or color it.
func oneLine(text string) string {
	return report.OneLine(text)
}

// wrap breaks a text between words. Existing line breaks stay.
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
