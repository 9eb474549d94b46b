package dashboard

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// line is a series of a panel: a value at each of the times, NaN where there is none.
type line struct {
	name   string
	values []float64
}

func (l line) something() bool {
	return slices.ContainsFunc(l.values, func(v float64) bool { return !math.IsNaN(v) })
}

// lines are what a panel shows, in the order of its expressions and by name. It is an error if one
// of its expressions shows nothing: whoever looks at the picture would not see what the panel is
// for.
func (p Panel) lines(answers map[string]Answer) ([]line, error) {
	var all []line
	var errs []error
	for i, target := range p.Targets {
		a, ok := answers[p.asks(i)]
		if !ok {
			return nil, fmt.Errorf("%s was not asked", p.asks(i))
		}
		if a.Error != "" {
			errs = append(errs, fmt.Errorf("%s: %s", p.asks(i), a.Error))
			continue
		}
		found, err := target.lines(a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.asks(i), err)
		}
		if !slices.ContainsFunc(found, line.something) {
			errs = append(errs, fmt.Errorf("nothing is found by %s", p.asks(i)))
		}
		all = append(all, found...)
	}
	if len(p.Targets) == 0 {
		errs = append(errs, fmt.Errorf("%s asks nothing", p.Title))
	}
	return all, errors.Join(errs...)
}

// lines are those of one expression. One without any number is in the legend, too.
func (t Target) lines(a Answer) ([]line, error) {
	byLabels := map[string]*line{}
	for at, found := range a.Found {
		for _, f := range found {
			key := fmt.Sprint(f.Labels) // which sorts them
			if byLabels[key] == nil {
				byLabels[key] = &line{t.legend(f.Labels), slices.Repeat([]float64{math.NaN()}, len(a.Found))}
			}
			v, err := strconv.ParseFloat(f.Value, 64)
			if err != nil {
				return nil, err
			}
			if !math.IsInf(v, 0) {
				byLabels[key].values[at] = v
			}
		}
	}
	var all []line
	for _, l := range byLabels {
		all = append(all, *l)
	}
	slices.SortFunc(all, func(a, b line) int { return strings.Compare(a.name, b.name) })
	return all, nil
}

// legend is the name of a series, as the dashboard says it.
func (t Target) legend(labels map[string]string) string {
	name := t.LegendFormat
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		name = strings.ReplaceAll(name, "{{"+label+"}}", labels[label])
	}
	return strings.TrimSpace(regexp.MustCompile(`\{\{.*?\}\}`).ReplaceAllString(name, ""))
}
