package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// stored are series by their labels, in the way that the engine reads a database.
type stored map[string]*series

type series struct {
	labels  labels.Labels
	samples []chunks.Sample
}

// read takes what was scraped apart. Histograms are their buckets, sums and counts.
func read(scrapes []Scrape) (stored, error) {
	all := stored{}
	for i, scrape := range scrapes {
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(scrape.Text))
		if err != nil {
			return nil, fmt.Errorf("scrape %d: %w", i, err)
		}
		for name, family := range families {
			for _, m := range family.GetMetric() {
				all.takeApart(name, scrape, m)
			}
		}
	}
	return all, nil
}

func (s stored) takeApart(name string, scrape Scrape, m *dto.Metric) {
	add := func(name string, value float64, more ...string) { s.add(name, scrape, m, value, more...) }
	switch {
	case m.Counter != nil:
		add(name, m.Counter.GetValue())
	case m.Gauge != nil:
		add(name, m.Gauge.GetValue())
	case m.Untyped != nil:
		add(name, m.Untyped.GetValue())
	case m.Histogram != nil:
		add(name+"_count", float64(m.Histogram.GetSampleCount()))
		add(name+"_sum", m.Histogram.GetSampleSum())
		for _, b := range m.Histogram.GetBucket() {
			if !math.IsInf(b.GetUpperBound(), 1) {
				add(name+"_bucket", float64(b.GetCumulativeCount()), "le", fmt.Sprint(b.GetUpperBound()))
			}
		}
		add(name+"_bucket", float64(m.Histogram.GetSampleCount()), "le", "+Inf")
	}
}

func (s stored) add(name string, scrape Scrape, m *dto.Metric, value float64, more ...string) {
	b := labels.NewBuilder(labels.FromMap(scrape.Labels))
	b.Set(model.MetricNameLabel, name)
	for _, pair := range m.GetLabel() {
		// As a scraper does with a label that it has itself.
		if key := pair.GetName(); scrape.Labels[key] != "" {
			b.Set("exported_"+key, pair.GetValue())
		} else {
			b.Set(key, pair.GetValue())
		}
	}
	for i := 0; i < len(more); i += 2 {
		b.Set(more[i], more[i+1])
	}
	key := b.Labels().String()
	if s[key] == nil {
		s[key] = &series{labels: b.Labels()}
	}
	s[key].samples = append(s[key].samples, sample{scrape.At * 1000, value})
}

// Querier implements storage.Queryable. The engine leaves out what is not in its time.
func (s stored) Querier(_, _ int64) (storage.Querier, error) { return s, nil }

// Select implements storage.Querier.
func (s stored) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	set := &selected{at: -1}
	for _, one := range s {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(one.labels.Get(m.Name)) }) {
			set.all = append(set.all, storage.NewListSeries(one.labels, one.samples))
		}
	}
	slices.SortFunc(set.all, func(a, b storage.Series) int { return labels.Compare(a.Labels(), b.Labels()) })
	return set
}

// LabelValues implements storage.Querier for nobody.
func (s stored) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// LabelNames implements storage.Querier for nobody.
func (s stored) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

// Close implements storage.Querier.
func (s stored) Close() error { return nil }

// selected implements storage.SeriesSet.
type selected struct {
	all []storage.Series
	at  int
}

func (s *selected) Next() bool                        { s.at++; return s.at < len(s.all) }
func (s *selected) At() storage.Series                { return s.all[s.at] }
func (s *selected) Err() error                        { return nil }
func (s *selected) Warnings() annotations.Annotations { return nil }

// sample implements chunks.Sample.
type sample struct {
	at    int64
	value float64
}

func (s sample) T() int64                      { return s.at }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }
