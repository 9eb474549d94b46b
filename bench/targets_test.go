package main

import (
	"strings"
	"testing"
)

// measured is a report in which every target that is checked is kept.
func measured() report {
	var r report
	at := map[string]int{}
	for _, t := range targets() {
		i, known := at[t.scenario]
		if !known {
			i = len(r.Sections)
			at[t.scenario] = i
			r.Sections = append(r.Sections, section{Scenario: t.scenario})
		}
		f := figure(t.figure, "", []float64{t.most})
		if t.little > 0 {
			f = figure(t.figure, "", []float64{t.little})
		}
		if !t.plain || t.little > 0 {
			f = f.against(over([]float64{1}), "the limit")
		}
		r.Sections[i].Rows = append(r.Sections[i].Rows, f)
	}
	return r
}

func TestAScenarioBeyondABoundIsPlayedAgain(t *testing.T) {
	for about, of := range map[string]struct {
		value  float64
		misses bool
	}{
		"beyond it": {2.7, true},
		"within it": {2.5, false},
	} {
		sec := section{Scenario: "fan-out", Rows: []row{figure(lastRow, "", []float64{of.value}).against(over([]float64{1}), "the limit")}}
		addTargets(&sec, true)
		if got := sec.misses(); got != of.misses {
			t.Errorf("%s: it misses: %t", about, got)
		}
	}
}

func TestCheck(t *testing.T) {
	kept := measured()
	for i := range kept.Sections {
		addTargets(&kept.Sections[i], true)
	}
	if err := kept.check(options{}); err != nil {
		t.Errorf("every target is kept, and the error is %v", err)
	}
	for about, of := range map[string]struct {
		scenario, figure string
		value            float64
		want             string
	}{
		"a read in steady state": {"latency", readsRow, 1, "latency: LIST and GET, WATCH of all: 1, must be at most 0"},
		"slower than twice":      {"fan-out", lastRow, 2.7, "fan-out: last rollout: 2.7 times its limit (the limit), must be at most 2.6"},
		"a leak":                 {"soak", goroutinesEndsRow, 1.25, "soak: goroutines at rest, last: 1.25 times its limit (the limit), must be at most 1.2"},
		"a rollout for each edit, in the storm of a check": {"storm", rolloutsRow, 10, "storm: rollouts: 10 times its limit (the limit), must be at most 2"},
		"a rollout at a start":                             {"start", rolloutsRow, 1, "start: rollouts: 1, must be at most 0"},
		"a large image":                                    {"start", imageRow, 12.1, "start: image: 12.1, must be at most 12"},
		"a large controller without work":                  {"start", emptyRow, 2.6, "start: memory, empty controller: 2.6 times its limit (the limit), must be at most 2.5"},
		"many Secrets that nothing uses":                   {"secrets", steadyRow, 35.1, "secrets: memory, steady: 35.1, must be at most 35"},
		"a large binary":                                   {"start", binaryRow, 35.1, "start: binary: 35.1, must be at most 35"},
		"a slow start of a controller without work":        {"start", smallReadyRow, 2.1, "start: until the empty one is ready: 2.1, must be at most 2"},
		"two PATCHes and more":                             {"storm", patches.String(), 2.1, "storm: PATCH deployments: 2.1 times its limit"},
	} {
		t.Run(about, func(t *testing.T) {
			r := measured()
			for i := range r.Sections {
				for j := range r.Sections[i].Rows {
					row := &r.Sections[i].Rows[j]
					if r.Sections[i].Scenario != of.scenario || row.Figure != of.figure {
						continue
					}
					row.Value = over([]float64{of.value})
					if row.Limit != nil {
						row.Ratio = of.value
					}
				}
				addTargets(&r.Sections[i], true)
			}
			err := r.check(options{})
			if err == nil || !strings.HasPrefix(err.Error(), of.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %v, must be %q", err, of.want)
			}
		})
	}
}

func TestACheckTakesTheTimesOfTheBestRun(t *testing.T) {
	counted := func(name string, values ...float64) row {
		return figure(name, "", values).against(over([]float64{1}), "one")
	}
	for about, tc := range map[string]struct {
		figure row
		broken bool
	}{
		"one run of three in time":         {figure(lastRow, "s", []float64{0.7, 1.1, 9}).against(over([]float64{0.2, 0.3, 0.6}), "bare writers"), false},
		"none, if the limit is its median": {figure(lastRow, "s", []float64{0.9, 1.1, 9}).against(over([]float64{0.2, 0.3, 0.6}), "bare writers"), true},
		"one run of three without a read":  {figure(readsRow, "", []float64{0, 5, 5}).against(over([]float64{0}), "none"), true},
		"one run of three with reads":      {figure(readsRow, "", []float64{0, 0, 5}).against(over([]float64{0}), "none"), false},
		"three PATCHes in place of one":    {counted(patches.String(), 1, 3, 3), true},
	} {
		t.Run(about, func(t *testing.T) {
			sec := section{Scenario: "fan-out", Rows: []row{tc.figure}}
			addTargets(&sec, true)
			if err := sec.Rows[0].missed(); (err != nil) != tc.broken {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestWhatWasNotMeasuredIsNotKept(t *testing.T) {
	r := measured()
	for i := range r.Sections {
		addTargets(&r.Sections[i], true)
	}
	r.Sections[0].Rows = r.Sections[0].Rows[1:]
	err := r.check(options{})
	if err == nil || err.Error() != "fan-out: last rollout was not measured" {
		t.Errorf("the error is %v", err)
	}
	if err := r.check(options{only: "storm"}); err != nil {
		t.Errorf("of a scenario that was not asked for: %v", err)
	}
}

func TestTheCurveIsDrawn(t *testing.T) {
	picture := drawPoints([]point{{Workloads: 1000, CPU: 2, P50: 5, Bare: 4, Memory: 50}, {Workloads: 5000, CPU: 2.1, P50: 5.5, Bare: 4, Memory: 70}})
	for _, want := range []string{"<svg ", ">5000</text>", `points="115.0,`, "</svg>"} {
		if !strings.Contains(picture, want) {
			t.Errorf("%q is not in %s", want, picture)
		}
	}
}
