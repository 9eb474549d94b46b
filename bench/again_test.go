package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// A peer is played too, so the last number of runs is of the peer.
func TestWhatTheMachineMayBeToBlameForIsPlayedAgain(t *testing.T) {
	beside := func(name, unit string, value float64) row {
		return figure(name, unit, []float64{value}).against(over([]float64{1}), "the limit")
	}
	slow, quick, twice := beside(lastRow, "s", 2.7), beside(lastRow, "s", 2.5), beside(patches.String(), "", 2.1)
	large := figure(peakRow, "MiB", []float64{51})
	broken := errors.New("the work was not done right")
	for about, of := range map[string]struct {
		args     string
		scenario string
		rows     []row
		err      error
		want     []int
	}{
		"a time beyond its bound":                   {"-check", "fan-out", []row{slow}, nil, []int{1, 3, 3}},
		"memory beyond its bound":                   {"-check", "secrets", []row{large}, nil, []int{1, 3, 3}},
		"a time within its bound":                   {"-check", "fan-out", []row{quick}, nil, []int{1, 1}},
		"a count beyond its bound":                  {"-check", "fan-out", []row{quick, twice}, nil, []int{1, 1}},
		"a count and a time beyond their bounds":    {"-check", "fan-out", []row{slow, twice}, nil, []int{1, 1}},
		"a size beyond its bound":                   {"-check", "start", []row{figure(binaryRow, "MB", []float64{36})}, nil, []int{1, 1}},
		"an error, and a time beyond its bound":     {"-check", "fan-out", []row{slow}, broken, []int{1}},
		"one run that was asked for":                {"-check -runs=1", "fan-out", []row{slow}, nil, []int{1, 1}},
		"a time beyond its target, out of a check":  {"-runs=1", "fan-out", []row{slow}, nil, []int{1, 1}},
		"a time beyond its target, in a whole play": {"", "fan-out", []row{slow}, nil, []int{3, 3}},
	} {
		t.Run(about, func(t *testing.T) {
			opts, err := read(strings.Fields(of.args)...)
			if err != nil {
				t.Fatal(err)
			}
			opts.peer = "another"
			var runs []int
			done, err := (&bench{opts: opts}).play(of.scenario, func(n int, _ subject) ([]section, error) {
				runs = append(runs, n)
				return []section{{Rows: slices.Clone(of.rows)}}, of.err
			})
			if !errors.Is(err, of.err) || !slices.Equal(runs, of.want) || len(done) != 1 {
				t.Errorf("the runs are %v, must be %v; the error is %v", runs, of.want, err)
			}
		})
	}
}

func TestTheLastPlayCounts(t *testing.T) {
	opts, err := read("-check")
	if err != nil {
		t.Fatal(err)
	}
	seconds := []float64{2.7, 2.5}
	done, err := (&bench{opts: opts}).play("fan-out", func(int, subject) ([]section, error) {
		slow := figure(lastRow, "s", seconds[:1]).against(over([]float64{1}), "the limit")
		seconds = seconds[1:]
		return []section{{Rows: []row{slow}}}, nil
	})
	if err != nil || len(seconds) > 0 || len(beyond(done)) > 0 {
		t.Errorf("%v are beyond their bounds after %v, error %v", beyond(done), seconds, err)
	}
}

func TestOfHowManyRunsTheMediansAre(t *testing.T) {
	const one, several = "one run of each, unless a title says otherwise", " runs, in brackets the least and the most"
	for args, want := range map[string]string{
		"":               "medians of 3" + several,
		"-runs=1":        one,
		"-check":         one + "; medians of 3 where only times or memory were beyond a bound",
		"-check -runs=1": one,
		"-check -runs=2": "medians of 2" + several,
	} {
		o, err := read(strings.Fields(args)...)
		if err != nil || o.medians() != want {
			t.Errorf("%q: %s, must be %s; error %v", args, o.medians(), want, err)
		}
	}
}

func TestACheckNamesEachFigureBeyondItsBound(t *testing.T) {
	r := measured()
	fanOut := &r.Sections[0]
	for i := range fanOut.Rows {
		fanOut.Rows[i].Value = over([]float64{9})
	}
	addTargets(fanOut, true)
	err := r.check(options{only: "fan-out"})
	for _, name := range []string{lastRow, patches.String(), events.String(), readsRow} {
		if err == nil || !strings.Contains(err.Error(), "fan-out: "+name+": 9") {
			t.Errorf("the error is %v, must name %s", err, name)
		}
	}
}
