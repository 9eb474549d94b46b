package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func sampleReport() report {
	return report{
		Facts: []string{"2 CPUs"},
		Sections: []section{{
			Scenario: "fan-out", Title: "fan-out: one ConfigMap, 1000 Deployments",
			Rows: []row{
				figure("last rollout", "s", []float64{3.214, 2.9, 12.345}).against(over([]float64{2.5, 2.4, 2.6}), "32 bare writers"),
				figure("PATCH deployments", "", []float64{1000, 1000, 1000}).against(over([]float64{1000}), "one each"),
				figure(readsRow, "", []float64{0, 3, 1}).against(over([]float64{0}), "none"),
				figure("processor time", "s", []float64{1.5}),
				figure("memory, peak", "MiB", []float64{144.44, 99.96, 1001.2}).against(over([]float64{37.41, 37.02, 38.9}), "bytes, thrown away"),
			},
			Before: "0.82", After: "4.89", Took: "4m4s",
		}},
	}
}

func TestTable(t *testing.T) {
	const want = `2 CPUs

                               controller            limit                 ratio  target  the limit is

fan-out: one ConfigMap, 1000 Deployments
  last rollout                 3.21 s (2.90–12.3)    2.50 s (2.40–2.60)    1.29   1.3     32 bare writers
  PATCH deployments            1000                  1000                  1.00   1       one each
  LIST and GET, WATCH of all   1 (0–3)               0                            0!      none
  processor time               1.50 s
  memory, peak                 144 MiB (100.0–1001)  37.4 MiB (37.0–38.9)  3.86           bytes, thrown away
  (load 0.82 before, 4.89 after; 4m4s)
`
	r := sampleReport()
	addTargets(&r.Sections[0], false)
	got := r.head() + r.Sections[0].text(false)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for line := range strings.Lines(got) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 110 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

func TestJSONHoldsWhatTheTableRounds(t *testing.T) {
	text, err := json.Marshal(sampleReport())
	if err != nil {
		t.Fatal(err)
	}
	var got report
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sampleReport(), got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(string(text), `"value":{"median":3.214,"min":2.9,"max":12.345,"runs":3}`) {
		t.Error(string(text))
	}
}

func TestAPeerHasAColumn(t *testing.T) {
	ours := []section{{Title: "storm", Rows: []row{figure("p50", "ms", []float64{5}).against(over([]float64{4}), "PATCH"), figure("readiness", "s", []float64{1})}}}
	theirs := []section{{Title: "storm", Rows: []row{figure("p50", "ms", []float64{9}), figure("LIST pods", "", []float64{70})}}}
	addPeer(ours, theirs)
	const want = `
storm
  p50                          5.00 ms               9.00 ms               4.00 ms               1.25           PATCH
  readiness                    1.00 s
  LIST pods                    0                     70
`
	if diff := cmp.Diff(want, ours[0].text(true)); diff != "" {
		t.Error(diff)
	}
}
