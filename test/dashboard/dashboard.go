// Package dashboard reads the Grafana dashboard of the chart, asks the query engine of Prometheus
// for what its panels show, and draws them.
package dashboard

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/reroll-dev/reroll/test/checkout"
)

// Dashboard is as much of a Grafana dashboard as can be seen.
type Dashboard struct {
	Title  string
	Panels []Panel
}

// Panel is a part of a dashboard.
type Panel struct {
	ID      int
	Type    string
	Title   string
	GridPos Place
	Targets []Target
	// FieldConfig says how values are shown.
	FieldConfig struct{ Defaults Field }
}

// Place is where a panel stands, in columns of which there are 24, and in rows.
type Place struct{ X, Y, W, H int }

// Target is one question of a panel.
type Target struct{ Expr, LegendFormat string }

// Field says how values are shown.
type Field struct {
	Unit       string
	Decimals   *int
	Min        *float64
	Thresholds struct{ Steps []Step }
}

// Step is the colour of values from one on; the first has none.
type Step struct {
	Color string
	Value *float64
}

// The types of panels that are drawn.
const (
	row        = "row"
	stat       = "stat"
	timeseries = "timeseries"
)

// Shipped reads the dashboard of the chart.
func Shipped() (*Dashboard, error) {
	path, err := checkout.Path("charts", "reroll", "dashboards", "reroll.json")
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var d Dashboard
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &d, nil
}

// Picture is where the picture of the shipped one is.
func Picture() (string, error) { return checkout.Path("docs", "images", "dashboard.svg") }

// Window is the time that a dashboard shows, in seconds, and what Grafana puts in the place of its
// variables.
type Window struct {
	From, To, Step int64
	// Scrape is the scrape interval, of which Grafana takes four for $__rate_interval.
	Scrape int64
	// Namespace is what $namespace matches.
	Namespace string
}

func (w Window) times() []int64 {
	var all []int64
	for at := w.From; at <= w.To; at += w.Step {
		all = append(all, at)
	}
	return all
}

// Question is what all panels ask. Each expression goes by the panel and its place in it.
func (d *Dashboard) Question(w Window, scrapes []Scrape) Question {
	variables := strings.NewReplacer(
		"$__rate_interval", fmt.Sprintf("%ds", 4*w.Scrape),
		"$__range", fmt.Sprintf("%ds", w.To-w.From),
		"$namespace", w.Namespace)
	q := Question{Expressions: map[string]string{}, Times: w.times(), Scrapes: scrapes}
	for _, p := range d.Panels {
		for i, target := range p.Targets {
			q.Expressions[p.asks(i)] = variables.Replace(target.Expr)
		}
	}
	return q
}

func (p Panel) asks(i int) string { return fmt.Sprintf("%s: %s", p.Title, p.Targets[i].Expr) }
