package edges

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/reroll-dev/reroll/test/harness"
)

// promql is the engine of Prometheus: test/promql says what it is asked and what it answers.
type promql struct{ program string }

type question struct {
	Expressions map[string]string
	Times       []int64
	Scrapes     []scrape
}

type scrape struct {
	At     int64
	Labels map[string]string
	Text   string
}

type answer struct {
	Error   string
	Metrics map[string][]string
	Found   [][]found
}

type found struct {
	Labels map[string]string
	Value  string
}

// something tells whether there was a number at any of the times.
func (a answer) something() bool {
	for _, all := range a.Found {
		if slices.ContainsFunc(all, func(f found) bool { return f.Value != "NaN" }) {
			return true
		}
	}
	return false
}

func newPromQL(p *place) *promql {
	p.Helper()
	q := &promql{filepath.Join(p.TempDir(), "promql")}
	cmd := exec.CommandContext(p.ctx, "go", "build", "-o", q.program, ".")
	cmd.Dir = "../promql"
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		p.Fatalf("build test/promql: %v\n%s", err, out)
	}
	return q
}

// ask fails the test if an expression cannot be read.
func (q *promql) ask(p *place, about question) map[string]answer {
	p.Helper()
	text, err := json.Marshal(about)
	p.must(err)
	cmd := exec.CommandContext(p.ctx, q.program)
	cmd.Stdin = bytes.NewReader(text)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		p.Fatalf("ask test/promql: %v\n%s", err, stderr.String())
	}
	answers := map[string]answer{}
	p.must(json.Unmarshal(out, &answers))
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
func (p *place) areServed(answers map[string]answer, texts ...string) {
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
	q := question{Expressions: map[string]string{}}
	for name, r := range p.rules() {
		q.Expressions[name] = r.Expr
	}
	p.areServed(ask.ask(p, q), s.calm, s.troubled, s.forbidden)
}

// theDashboardShows checks each panel: each of its expressions finds something once in this past.
func (p *place) theDashboardShows(ask *promql, h *past, s served) {
	p.Helper()
	path, err := harness.ShippedManifest()
	p.must(err)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(path), "..", "charts", "reroll", "dashboards", "reroll.json"))
	p.must(err)
	var dashboard struct {
		Panels []struct {
			Title, Type string
			Targets     []struct{ Expr string }
		}
	}
	p.must(json.Unmarshal(text, &dashboard))
	q := question{Expressions: map[string]string{}, Scrapes: h.scrapes}
	for at := int64(0); at < h.now; at += 2 * interval {
		q.Times = append(q.Times, at)
	}
	variables := strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$namespace", "reroll|other")
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			q.Expressions[panel.Title+": "+target.Expr] = variables.Replace(target.Expr)
		}
		if panel.Type != "row" && len(panel.Targets) == 0 {
			p.Errorf("%s shows nothing", panel.Title)
		}
	}
	if len(q.Expressions) < 20 {
		p.Errorf("%d expressions are there", len(q.Expressions))
	}
	answers := ask.ask(p, q)
	for name, a := range answers {
		if !a.something() {
			p.Errorf("nothing is found by %s", name)
		}
	}
	p.areServed(answers, s.calm, s.troubled, s.forbidden)
}
