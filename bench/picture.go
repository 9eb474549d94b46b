package main

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
)

// drawCurve draws what the scenario curve has measured.
func (r report) drawCurve(path string) error {
	for _, sec := range r.Sections {
		if len(sec.Points) > 0 {
			return os.WriteFile(path, []byte(drawPoints(sec.Points)), 0o600)
		}
	}
	return errors.New("-picture: there is nothing to draw: the scenario curve was not played")
}

// The picture, in pixels: two boxes beside each other.
const (
	boxWidth, boxHeight = 300.0, 200.0
	marginLeft          = 55.0
	marginTop           = 45.0
	boxGap              = 70.0
)

type line2D struct {
	name, colour string
	value        func(point) float64
}

// drawPoints returns the picture of the curve, as SVG with colours that can be read on white and on
// black.
func drawPoints(points []point) string {
	var b strings.Builder
	width, height := 2*boxWidth+marginLeft+boxGap+20, boxHeight+marginTop+75
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%.0f" height="%.0f" fill="white"/>`+"\n", width, height)
	drawBox(&b, marginLeft, "one change, ms", points, []line2D{
		{"from the edit to the mark, p50", "#1f6feb", func(p point) float64 { return p.P50 }},
		{"processor time of the controller", "#bf4b00", func(p point) float64 { return p.CPU }},
		{"a bare PATCH, p50", "#767676", func(p point) float64 { return p.Bare }},
	})
	drawBox(&b, marginLeft+boxWidth+boxGap, "memory, MiB resident", points, []line2D{
		{"the controller", "#1f6feb", func(p point) float64 { return p.Memory }},
	})
	b.WriteString("</svg>\n")
	return b.String()
}

func drawBox(b *strings.Builder, left float64, title string, points []point, lines []line2D) {
	most, workloads := 0.0, float64(points[len(points)-1].Workloads)
	for _, p := range points {
		for _, l := range lines {
			most = max(most, l.value(p))
		}
	}
	most = niceAbove(most)
	x := func(p point) float64 { return left + boxWidth*float64(p.Workloads)/workloads }
	y := func(v float64) float64 { return marginTop + boxHeight*(1-v/most) }
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" font-weight="bold">%s</text>`+"\n", left, marginTop-20, title)
	const steps = 4
	for i := range steps + 1 {
		v := most * float64(i) / steps
		fmt.Fprintf(b, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#ddd"/>`+"\n", left, y(v), left+boxWidth, y(v))
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="end">%s</text>`+"\n", left-6, y(v)+4, strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0"))
	}
	for _, p := range points {
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="middle">%d</text>`+"\n", x(p), marginTop+boxHeight+17, p.Workloads)
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="end" fill="#555">workloads, with a ConfigMap each</text>`+"\n", left+boxWidth, marginTop+boxHeight+33)
	for i, l := range lines {
		var at []string
		for _, p := range points {
			at = append(at, fmt.Sprintf("%.1f,%.1f", x(p), y(l.value(p))))
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x(p), y(l.value(p)), l.colour)
		}
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", strings.Join(at, " "), l.colour)
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" fill="%s">%s</text>`+"\n", left, marginTop+boxHeight+33+14*float64(i), l.colour, l.name)
	}
}

// niceAbove is the next number that an axis may end with.
func niceAbove(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range []float64{1, 2, 4, 5, 8, 10} {
		if v <= step*unit {
			return step * unit
		}
	}
	return v
}
