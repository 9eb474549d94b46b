package main

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// report is all that was measured.
type report struct {
	Facts    []string  `json:"facts"`
	Sections []section `json:"sections"`
}

// section is one scenario.
type section struct {
	Title string `json:"title"`
	Rows  []row  `json:"rows"`
}

// row is one figure, and the limit of what it can be.
type row struct {
	Figure string  `json:"figure"`
	Unit   string  `json:"unit,omitempty"` // none for what is counted
	Value  spread  `json:"value"`
	Limit  *spread `json:"limit,omitempty"`
	// Ratio is that of the medians. There is none beside a limit of zero.
	Ratio   float64 `json:"ratio,omitempty"`
	LimitIs string  `json:"limitIs,omitempty"`
}

func figure(name, unit string, values []float64) row {
	return row{Figure: name, Unit: unit, Value: over(values)}
}

// against adds the limit.
func (r row) against(limit spread, is string) row {
	r.Limit, r.LimitIs = &limit, is
	if limit.Median > 0 {
		r.Ratio = r.Value.Median / limit.Median
	}
	return r
}

// columns are the widths of all but the last column, which takes what they leave of 100.
func columns() [4]int { return [4]int{25, 22, 22, 6} }

// head is what stands above the sections.
func (r report) head() string {
	return strings.Join(r.Facts, "\n") + "\n\n" + line("", "controller", "limit", "ratio", "the limit is")
}

// text is a part of the table.
func (s section) text() string {
	var b strings.Builder
	b.WriteString("\n" + s.Title + "\n")
	for _, row := range s.Rows {
		b.WriteString(row.line())
	}
	return b.String()
}

func (r row) line() string {
	limit, ratio := "", ""
	if r.Limit != nil {
		limit = r.Limit.text(r.Unit)
	}
	if r.Ratio > 0 {
		ratio = fmt.Sprintf("%.2f", r.Ratio)
	}
	return line("  "+r.Figure, r.Value.text(r.Unit), limit, ratio, r.LimitIs)
}

func line(cells ...string) string {
	var b strings.Builder
	for i, w := range columns() {
		b.WriteString(cells[i] + strings.Repeat(" ", max(1, w-utf8.RuneCountInString(cells[i]))))
	}
	return strings.TrimRight(b.String()+cells[len(cells)-1], " ") + "\n"
}

// text is the median with its unit, and the spread behind it if there is one.
func (s spread) text(unit string) string {
	text := digits(s.Median, unit)
	if unit != "" {
		text += " " + unit
	}
	low, high := digits(s.Min, unit), digits(s.Max, unit)
	if low == high {
		return text
	}
	return text + " (" + low + "–" + high + ")"
}

// digits shows what is counted whole, and all else with three digits.
func digits(value float64, unit string) string {
	switch {
	case unit == "" || value >= 100:
		return fmt.Sprintf("%.0f", value)
	case value >= 10:
		return fmt.Sprintf("%.1f", value)
	default:
		return fmt.Sprintf("%.2f", value)
	}
}
