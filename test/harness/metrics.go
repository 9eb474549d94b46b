package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// Metrics asks the controller for its metrics and returns them as text.
func (c *Controller) Metrics(ctx context.Context) (string, error) {
	text, err := c.get(ctx, "/metrics")
	return string(text), err
}

// ErrUnknownMetric is found by errors.Is when the controller serves no metric of that name.
var ErrUnknownMetric = errors.New("the controller serves no such metric")

// Reading is the value of a metric.
type Reading struct {
	// Sum is that of all series that carry the labels asked for; of a histogram it is the number of
	// observations.
	Sum float64
	// Series is how many those are.
	Series int
	// Gauge reports whether the value may fall.
	Gauge bool
}

// Metric reads a counter, gauge or histogram, summed up over all series that carry these labels.
func (c *Controller) Metric(ctx context.Context, name string, labels map[string]string) (Reading, error) {
	text, err := c.get(ctx, "/metrics")
	if err != nil {
		return Reading{}, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return Reading{}, fmt.Errorf("the controller's metrics cannot be read: %w", err)
	}
	family, found := families[name]
	if !found {
		return Reading{}, fmt.Errorf("%w as %s; those served are %q", ErrUnknownMetric, name, slices.Sorted(maps.Keys(families)))
	}
	var r Reading
	for _, m := range family.GetMetric() {
		if !carries(m, labels) {
			continue
		}
		r.Series++
		switch {
		case m.Counter != nil:
			r.Sum += m.Counter.GetValue()
		case m.Gauge != nil:
			r.Gauge = true
			r.Sum += m.Gauge.GetValue()
		case m.Histogram != nil:
			r.Sum += float64(m.Histogram.GetSampleCount())
		default:
			return Reading{}, fmt.Errorf("metric %s is a %s: only counters, gauges and histograms can be compared", name, family.GetType())
		}
	}
	return r, nil
}

func carries(m *dto.Metric, labels map[string]string) bool {
	matched := 0
	for _, pair := range m.GetLabel() {
		if value, wanted := labels[pair.GetName()]; wanted && value == pair.GetValue() {
			matched++
		}
	}
	return matched == len(labels)
}

// ParseSeries reads a metric's name and labels: name{label="value",…}.
func ParseSeries(s string) (name string, labels map[string]string, err error) {
	name, rest, braced := strings.Cut(s, "{")
	labels = map[string]string{}
	if !braced {
		return name, labels, nil
	}
	inner, closed := strings.CutSuffix(rest, "}")
	if !closed {
		return "", nil, fmt.Errorf("metric %q has no closing brace", s)
	}
	for pair := range strings.SplitSeq(inner, ",") {
		key, quoted, found := strings.Cut(pair, "=")
		value := strings.TrimSuffix(strings.TrimPrefix(quoted, `"`), `"`)
		if !found || key == "" || len(quoted) != len(value)+2 {
			return "", nil, fmt.Errorf(`label %q of metric %s: write label="value"`, pair, name)
		}
		labels[key] = value
	}
	return name, labels, nil
}
