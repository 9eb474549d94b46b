package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// report is all that was measured.
type report struct {
	Facts    []string  `json:"facts"`
	Peer     string    `json:"peer,omitempty"`
	Sections []section `json:"sections"`
}

// section is one scenario, or a part of it.
type section struct {
	Scenario string `json:"scenario"`
	Title    string `json:"title"`
	// Before and After are the load of the machine, and Took is how long all of the scenario took.
	Before  string   `json:"loadBefore,omitempty"`
	After   string   `json:"loadAfter,omitempty"`
	Took    string   `json:"took,omitempty"`
	Rows    []row    `json:"rows"`
	Samples []sample `json:"samples,omitempty"`
	Points  []point  `json:"points,omitempty"`
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
	Target  *bound  `json:"target,omitempty"`
	// Peer is the same figure of the other controller.
	Peer *spread `json:"peer,omitempty"`
}

// addPeer puts what a peer has done beside it, part by part of a scenario.
func addPeer(done, beside []section) {
	for i, theirs := range beside {
		if i < len(done) {
			done[i].Rows = withPeer(done[i].Rows, theirs.Rows)
		}
	}
}

// withPeer adds the figures of a peer. What only one of them has done stays alone.
func withPeer(ours, theirs []row) []row {
	for _, their := range theirs {
		value := their.Value
		at := slices.IndexFunc(ours, func(r row) bool { return r.Figure == their.Figure })
		if at < 0 {
			their.Value = over([]float64{0})
			ours = append(ours, their)
			at = len(ours) - 1
		}
		ours[at].Peer = &value
	}
	return ours
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

// columns are the widths of all but the last column.
func columns(peer bool) []int {
	if peer {
		return []int{31, 22, 22, 22, 7, 8}
	}
	return []int{31, 22, 22, 7, 8}
}

// head is what stands above the sections.
func (r report) head() string {
	cells := []string{"", "controller", "limit", "ratio", "target", "the limit is"}
	if r.Peer != "" {
		cells = slices.Insert(cells, 2, "peer")
	}
	return strings.Join(r.Facts, "\n") + "\n\n" + line(cells, r.Peer != "")
}

// text is a part of the table.
func (s section) text(peer bool) string {
	var b strings.Builder
	b.WriteString("\n" + s.Title + "\n")
	for _, row := range s.Rows {
		b.WriteString(row.line(peer))
	}
	if s.Took != "" {
		fmt.Fprintf(&b, "  (load %s before, %s after; %s)\n", s.Before, s.After, s.Took)
	}
	return b.String()
}

func (r row) line(peer bool) string {
	cells := []string{"  " + r.Figure, r.Value.text(r.Unit), "", "", "", r.LimitIs}
	if r.Limit != nil {
		cells[2] = r.Limit.text(r.Unit)
	}
	if r.Ratio > 0 {
		cells[3] = fmt.Sprintf("%.2f", r.Ratio)
	}
	if r.Target != nil {
		cells[4] = r.Target.text(r.Unit)
		if r.missed() != nil {
			cells[4] += "!"
		}
	}
	if peer {
		cells = slices.Insert(cells, 2, "")
		if r.Peer != nil {
			cells[2] = r.Peer.text(r.Unit)
		}
	}
	return line(cells, peer)
}

// text is the most that a figure or its ratio may be. What is not of the ratio has the unit of the
// figure.
func (b *bound) text(unit string) string {
	text := fmt.Sprintf("%.4g", b.Most)
	if b.Plain && unit != "" {
		text += " " + unit
	}
	return text
}

func line(cells []string, peer bool) string {
	var b strings.Builder
	for i, w := range columns(peer) {
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
