package edges

import (
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/reroll-dev/reroll/test/dashboard"
)

// promql is the engine of Prometheus.
type promql struct{ *dashboard.Engine }

func newPromQL(p *place) *promql {
	p.Helper()
	engine, err := dashboard.NewEngine(p.ctx, p.TempDir())
	p.must(err)
	return &promql{engine}
}

// ask fails the test if an expression cannot be read.
func (q *promql) ask(p *place, about dashboard.Question) map[string]dashboard.Answer {
	p.Helper()
	answers, err := q.Ask(p.ctx, about)
	p.must(err)
	for name, a := range answers {
		if a.Error != "" {
			p.Errorf("%s: %s\n%s", name, a.Error, about.Expressions[name])
		}
	}
	return answers
}

// ofScraper are the labels that are not the controller's.
func ofScraper() []string { return []string{"namespace", "pod", "job"} }

// labelsServed are those of each metric, with what histograms are made of.
func (p *place) labelsServed(texts ...string) map[string][]string {
	p.Helper()
	all := map[string][]string{}
	for _, text := range texts {
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(strings.NewReader(text))
		p.must(err)
		for name, family := range families {
			names := []string{name}
			if family.GetType() == dto.MetricType_HISTOGRAM {
				names = []string{name + "_bucket", name + "_sum", name + "_count"}
			}
			for _, name := range names {
				all[name] = append(all[name], "le")
				for _, m := range family.GetMetric() {
					for _, pair := range m.GetLabel() {
						all[name] = append(all[name], pair.GetName())
					}
				}
			}
		}
	}
	return all
}

// areServed checks that expressions go by metrics and labels that are served.
func (p *place) areServed(answers map[string]dashboard.Answer, texts ...string) {
	p.Helper()
	labels := p.labelsServed(texts...)
	for name, a := range answers {
		for metric, used := range a.Metrics {
			have, ok := labels[metric]
			if !ok {
				p.Errorf("%s goes by %s, which is not served", name, metric)
				continue
			}
			for _, label := range used {
				if !slices.Contains(have, label) && !slices.Contains(ofScraper(), label) {
					p.Errorf("%s goes by the label %s of %s, which it has not", name, label, metric)
				}
			}
		}
	}
}

func (p *place) namesWhatIsServed(ask *promql, s served) {
	p.Helper()
	q := dashboard.Question{Expressions: map[string]string{}}
	for name, r := range p.rules() {
		q.Expressions[name] = r.Expr
	}
	p.areServed(ask.ask(p, q), s.calm, s.troubled, s.forbidden)
}

// theDashboardShows checks each panel: it can be drawn, and each of its expressions finds something
// once in this past.
func (p *place) theDashboardShows(ask *promql, h *past, s served) {
	p.Helper()
	shipped, err := dashboard.Shipped()
	p.must(err)
	// Four times that are five minutes: this past changes seldom, and rates have to reach over the
	// change.
	window := dashboard.Window{To: h.now, Step: 2 * interval, Scrape: 75, Namespace: "reroll|other"}
	answers := ask.ask(p, shipped.Question(window, h.scrapes))
	if len(answers) < 20 {
		p.Errorf("%d expressions are there", len(answers))
	}
	if _, err := shipped.Draw(window, answers); err != nil {
		p.Error(err)
	}
	p.areServed(answers, s.calm, s.troubled, s.forbidden)
}
