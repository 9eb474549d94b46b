package edges

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/reroll-dev/reroll/test/harness"
)

// onThePage reads the table of docs/reference/metrics.md: type and labels by name.
func (p *place) onThePage() map[string]string {
	p.Helper()
	manifest, err := harness.ShippedManifest()
	p.must(err)
	text, err := os.ReadFile(filepath.Join(filepath.Dir(manifest), "..", "docs", "reference", "metrics.md"))
	p.must(err)
	page := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([a-z]+) \\| ([^|]*)\\|").FindAllStringSubmatch(string(text), -1) {
		labels := strings.FieldsFunc(row[3], func(r rune) bool { return strings.ContainsRune("`, ", r) })
		slices.Sort(labels)
		page[row[1]] = row[2] + " " + strings.Join(labels, " ")
	}
	return page
}

func TestThePageAboutMetricsSaysWhatIsServed(t *testing.T) {
	p := install(t)
	p.must(p.ns.MarkWithRollouts(p.ctx))
	c := p.start("METRICS_COUNT_BY_NAMESPACE=enabled")
	// After a reload every metric has a value.
	p.must(p.ns.Quiet(p.ctx))
	text, err := c.Metrics(p.ctx)
	p.must(err)
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	p.must(err)

	served := map[string]string{}
	for name, family := range families {
		if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
			continue
		}
		labels := map[string]bool{}
		for _, m := range family.GetMetric() {
			for _, pair := range m.GetLabel() {
				labels[pair.GetName()] = true
			}
		}
		served[name] = describe(family.GetType(), labels)
	}
	if diff := cmp.Diff(p.onThePage(), served); diff != "" {
		t.Errorf("docs/reference/metrics.md differs from what is served (-page +served):\n%s", diff)
	}
	if len(served) == len(families) {
		t.Error("neither the Go runtime nor the process tells anything, and the page says that they do")
	}
}

func describe(kind dto.MetricType, labels map[string]bool) string {
	var names []string
	for name := range labels {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.ToLower(kind.String()) + " " + strings.Join(names, " ")
}
