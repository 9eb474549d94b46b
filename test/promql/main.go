// Command promql asks the engine of Prometheus about what was scraped: a Question on standard
// input, an Answer on standard output. It is a module of its own, so that nothing else here needs
// Prometheus.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// Question is what is asked.
type Question struct {
	// Expressions are asked by their names, at each of the times, in seconds.
	Expressions map[string]string
	Times       []int64
	Scrapes     []Scrape
}

// Scrape is a page of metrics as it was served, and the labels that the scraper adds.
type Scrape struct {
	At     int64
	Labels map[string]string
	Text   string
}

// Answer is what one expression came to.
type Answer struct {
	// Error is why it could not be read or computed.
	Error string `json:",omitempty"`
	// Metrics are those that it names, with the labels that it goes by.
	Metrics map[string][]string `json:",omitempty"`
	// Found are the series at each of the times.
	Found [][]Found `json:",omitempty"`
}

// Found is a series.
type Found struct {
	Labels map[string]string
	Value  string // which may be NaN
}

func main() {
	if err := answer(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func answer() error {
	var q Question
	if err := json.NewDecoder(os.Stdin).Decode(&q); err != nil {
		return fmt.Errorf("read the question: %w", err)
	}
	data, err := read(q.Scrapes)
	if err != nil {
		return err
	}
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1e7, Timeout: time.Minute, LookbackDelta: 5 * time.Minute})
	answers := map[string]Answer{}
	for name, expression := range q.Expressions {
		a, err := ask(engine, data, expression, q.Times)
		if err != nil {
			a.Error = err.Error()
		}
		answers[name] = a
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

func ask(engine *promql.Engine, data stored, expression string, times []int64) (Answer, error) {
	read, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Metrics: named(read)}
	for _, at := range times {
		query, err := engine.NewInstantQuery(context.Background(), data, nil, expression, time.Unix(at, 0))
		if err != nil {
			return a, err
		}
		result := query.Exec(context.Background())
		vector, err := result.Vector()
		if result.Err != nil || err != nil {
			query.Close()
			return a, fmt.Errorf("at %d: %w", at, firstOf(result.Err, err))
		}
		found := []Found{}
		for _, sample := range vector {
			found = append(found, Found{Labels: sample.Metric.Map(), Value: fmt.Sprint(sample.F)})
		}
		query.Close()
		a.Found = append(a.Found, found)
	}
	return a, nil
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// named are the metrics of an expression. A label by which what is found is grouped belongs to all
// that it is made of.
func named(read parser.Expr) map[string][]string {
	all := map[string][]string{}
	parser.Inspect(read, func(node parser.Node, above []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		used := all[selector.Name]
		for _, m := range selector.LabelMatchers {
			if m.Name != model.MetricNameLabel {
				used = append(used, m.Name)
			}
		}
		for _, node := range above {
			if by, ok := node.(*parser.AggregateExpr); ok {
				used = append(used, by.Grouping...)
			}
		}
		slices.Sort(used)
		all[selector.Name] = slices.Compact(used)
		return nil
	})
	return all
}
