package dashboard

import (
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"strings"
)

// The picture, in pixels.
const (
	column, gridRow = 45.0, 29.0
	gap             = 3.0 // around each panel
	columns         = 24
	titleHeight     = 26.0
	axisWidth       = 66.0
	axisHeight      = 20.0
	legendRow       = 16.0
	legendFont      = 11.0
	// As high is what is drawn at least.
	least = 60.0
	// A letter is about so wide, of a font that is not known here.
	letter = 0.62
)

// The colours can be read on the white of the panels.
const (
	ink   = "#24292f"
	faint = "#57606a"
	grid  = "#e4e7eb"
)

func palette() []string {
	return []string{"#1f6feb", "#bf4b00", "#2a8a43", "#8250df", "#cf222e", "#0e7490", "#9a6700", "#bf3989", "#57606a", "#1b3a8a", "#7a3b10", "#0b5d2a"}
}

type drawing struct {
	strings.Builder
	window Window
}

// Draw draws all panels in their places, as SVG. It is an error if a panel shows nothing, or is of
// a type or has a unit that is not drawn here.
func (d *Dashboard) Draw(w Window, answers map[string]Answer) (string, error) {
	pic := &drawing{window: w}
	height := 0
	for _, p := range d.Panels {
		height = max(height, p.GridPos.Y+p.GridPos.H)
	}
	// A background of its own makes it readable on a page of any colour.
	pic.put(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="12" fill="%s">`, columns*column, float64(height)*gridRow, ink)
	pic.put(`<title>%s</title>`, escape(d.Title))
	pic.put(`<rect width="100%%" height="100%%" fill="#f3f4f6"/>`)
	var errs []error
	for _, p := range d.Panels {
		if err := pic.panel(p, answers); err != nil {
			errs = append(errs, fmt.Errorf("the panel %q: %w", p.Title, err))
		}
	}
	pic.put(`</svg>`)
	return pic.String(), errors.Join(errs...)
}

func (d *drawing) put(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a builder takes everything
	return b.String()
}

// box is a rectangle.
type box struct{ left, top, width, height float64 }

func (b box) right() float64  { return b.left + b.width }
func (b box) bottom() float64 { return b.top + b.height }

// panel draws one. What it was made from is kept beside it, so that a picture of an older dashboard
// is recognised.
func (d *drawing) panel(p Panel, answers map[string]Answer) error {
	g := p.GridPos
	b := box{float64(g.X)*column + gap, float64(g.Y)*gridRow + gap, float64(g.W)*column - 2*gap, float64(g.H)*gridRow - 2*gap}
	d.put(`<g id="panel-%d" class="%s" data-grid="%d,%d,%d,%d" data-unit="%s">`, p.ID, escape(p.Type), g.X, g.Y, g.W, g.H, escape(p.FieldConfig.Defaults.Unit))
	defer d.put(`</g>`)
	d.put(`<title>%s</title>`, escape(p.Title))
	for _, t := range p.Targets {
		d.put(`<desc>%s</desc>`, escape(t.LegendFormat+" = "+t.Expr))
	}
	if p.Type == row {
		d.text(b.left+6, b.top+17, `font-weight="bold" font-size="14"`, p.Title)
		return nil
	}
	d.put(`<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="3" fill="white" stroke="#d0d7de"/>`, b.left, b.top, b.width, b.height)
	d.text(b.left+9, b.top+17, fmt.Sprintf(`font-weight="bold" font-size="%.0f"`, legendFont), p.Title)
	lines, err := p.lines(answers)
	if err != nil {
		return err
	}
	switch p.Type {
	case stat:
		return d.stat(p, b, lines)
	case timeseries:
		return d.timeseries(p, b, lines)
	}
	return fmt.Errorf("it is of the type %q, which is not drawn here", p.Type)
}

func (d *drawing) text(x, y float64, how, text string) {
	d.put(`<text x="%.1f" y="%.1f" %s>%s</text>`, x, y, how, escape(text))
}

// stat draws the last number that there was, in the colour of the threshold that it has reached.
func (d *drawing) stat(p Panel, b box, lines []line) error {
	if len(lines) != 1 {
		return fmt.Errorf("it shows %d numbers", len(lines))
	}
	last := math.NaN()
	for _, v := range lines[0].values {
		if !math.IsNaN(v) {
			last = v
		}
	}
	field := p.FieldConfig.Defaults
	s, err := scaleOf(field.Unit, last)
	if err != nil {
		return err
	}
	colour := ink
	for _, step := range field.Thresholds.Steps {
		if step.Value != nil && last < *step.Value {
			continue
		}
		known, ok := map[string]string{"green": "#2a8a43", "orange": "#bf4b00", "red": "#cf222e", "text": ink}[step.Color]
		if !ok {
			return fmt.Errorf("it has the colour %q, which is not drawn here", step.Color)
		}
		colour = known
	}
	d.text(b.left+b.width/2, b.top+b.height/2+24, fmt.Sprintf(`class="value" text-anchor="middle" font-size="38" fill="%s"`, colour), s.show(last, field.Decimals))
	return nil
}

// timeseries draws lines over time, with axes, and the legend below them.
func (d *drawing) timeseries(p Panel, b box, lines []line) error {
	most := 0.0
	for _, l := range lines {
		for _, v := range l.values {
			if !math.IsNaN(v) {
				most = max(most, v)
				if v < 0 {
					return fmt.Errorf("%s is %v, and axes begin with 0 here", l.name, v)
				}
			}
		}
	}
	field := p.FieldConfig.Defaults
	s, err := scaleOf(field.Unit, most)
	if err != nil {
		return err
	}
	entries, rows := legend(lines, b.width-18)
	plot := box{b.left + axisWidth, b.top + titleHeight + 4, b.width - axisWidth - 24, 0}
	plot.height = b.bottom() - plot.top - axisHeight - legendRow*float64(rows) - 8
	if plot.height < least {
		return fmt.Errorf("the legend of its %d lines leaves no room", len(lines))
	}
	ticks := s.ticks(most)
	top := ticks[len(ticks)-1]
	for _, v := range ticks {
		y := plot.bottom() - plot.height*v/top
		d.put(`<path d="M%.1f %.1fH%.1f" stroke="%s"/>`, plot.left, y, plot.right(), grid)
		d.text(plot.left-6, y+4, fmt.Sprintf(`text-anchor="end" font-size="%.0f" fill="%s"`, legendFont, faint), s.show(v, field.Decimals))
	}
	d.timeAxis(plot)
	for i, l := range lines {
		d.curve(plot, l, top, i)
	}
	for i, e := range entries {
		x, y := b.left+9+e.left, plot.bottom()+axisHeight+legendRow*float64(e.row)+14
		d.put(`<path d="M%.1f %.1fh12" stroke="%s" stroke-width="3"%s/>`, x, y-4, colourOf(i), dashOf(i))
		d.text(x+16, y, fmt.Sprintf(`font-size="%.0f"`, legendFont), lines[i].name)
	}
	return nil
}

func (d *drawing) timeAxis(plot box) {
	length := d.window.To - d.window.From
	every := int64(60)
	for length/every > 6 {
		every *= 2
	}
	for at := int64(0); at <= length; at += every {
		x := plot.left + plot.width*float64(at)/float64(length)
		d.put(`<path d="M%.1f %.1fV%.1f" stroke="%s"/>`, x, plot.top, plot.bottom(), grid)
		d.text(x, plot.bottom()+16, fmt.Sprintf(`text-anchor="middle" font-size="%.0f" fill="%s"`, legendFont, faint), clock(at))
	}
}

// curve draws a line where there are values, and a dot where there is one alone.
func (d *drawing) curve(plot box, l line, top float64, nth int) {
	x := func(i int) float64 { return plot.left + plot.width*float64(i)/float64(len(l.values)-1) }
	y := func(v float64) float64 { return plot.bottom() - plot.height*v/top }
	for from := 0; from < len(l.values); {
		if math.IsNaN(l.values[from]) {
			from++
			continue
		}
		to := from
		var path strings.Builder
		for ; to < len(l.values) && !math.IsNaN(l.values[to]); to++ {
			if level(l.values, to) && to > from {
				continue
			}
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(1, to-from)], x(to), y(l.values[to]))
		}
		if to == from+1 {
			d.put(`<circle class="line" cx="%.1f" cy="%.1f" r="1.8" fill="%s"/>`, x(from), y(l.values[from]), colourOf(nth))
		} else {
			d.put(`<path d="%sV%.1fH%.1fZ" fill="%s" fill-opacity="0.07"/>`, path.String(), plot.bottom(), x(from), colourOf(nth))
			d.put(`<path class="line" d="%s" fill="none" stroke="%s" stroke-width="1.6" stroke-linejoin="round"%s/>`, path.String(), colourOf(nth), dashOf(nth))
		}
		from = to
	}
}

// level reports whether a value is no other than those on both sides of it, so that a line needs no
// corner there.
func level(values []float64, i int) bool {
	return i > 0 && i+1 < len(values) && values[i-1] == values[i] && values[i] == values[i+1]
}

func colourOf(i int) string { return palette()[i%len(palette())] }

// dashOf tells apart what has the same colour.
func dashOf(i int) string {
	if i < len(palette()) {
		return ""
	}
	return ` stroke-dasharray="4 2"`
}

// entry is the place of a name in a legend.
type entry struct {
	left float64
	row  int
}

// legend places the names of lines in as many rows as it takes.
func legend(lines []line, width float64) (entries []entry, rows int) {
	left := 0.0
	for _, l := range lines {
		need := 16 + float64(len([]rune(l.name)))*legendFont*letter + 12
		if left > 0 && left+need > width {
			left = 0
			rows++
		}
		entries = append(entries, entry{left, rows})
		left += need
	}
	return entries, rows + 1
}
