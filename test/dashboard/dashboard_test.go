package dashboard

import (
	"encoding/xml"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// seen is a panel of a picture.
type seen struct {
	ID    string   `xml:"id,attr"`
	Type  string   `xml:"class,attr"`
	Grid  string   `xml:"data-grid,attr"`
	Unit  string   `xml:"data-unit,attr"`
	Title string   `xml:"title"`
	Asks  []string `xml:"desc"`
	// What is drawn: lines are paths, or circles where there is one value alone.
	Paths   []shape `xml:"path"`
	Circles []shape `xml:"circle"`
	Texts   []shape `xml:"text"`
}

type shape struct {
	Class string `xml:"class,attr"`
	D     string `xml:"d,attr"`
	Text  string `xml:",chardata"`
}

func readPicture(t *testing.T, text string) []seen {
	t.Helper()
	var picture struct {
		Panels []seen `xml:"g"`
	}
	if err := xml.Unmarshal([]byte(text), &picture); err != nil {
		t.Fatal(err)
	}
	return picture.Panels
}

// data counts what is drawn of the panel's numbers.
func (s seen) data() int {
	count := 0
	for _, all := range [][]shape{s.Paths, s.Circles, s.Texts} {
		for _, shape := range all {
			if shape.Class == "line" || shape.Class == "value" && strings.Trim(shape.Text, "0123456789.") == "" {
				count++
			}
		}
	}
	return count
}

// says reports whether a text stands in the panel.
func (s seen) says(text string) bool {
	for _, shape := range s.Texts {
		if shape.Text == text {
			return true
		}
	}
	return false
}

func TestThePictureInTheDocsIsOfTheDashboard(t *testing.T) {
	d, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	path, err := Picture()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	picture := readPicture(t, string(text))
	if len(d.Panels) < 20 || len(picture) != len(d.Panels) {
		t.Errorf("the dashboard has %d panels and the picture %d", len(d.Panels), len(picture))
	}
	byID := map[string]seen{}
	for _, s := range picture {
		byID[s.ID] = s
	}
	for _, p := range d.Panels {
		got := byID[fmt.Sprintf("panel-%d", p.ID)]
		want := seen{ID: fmt.Sprintf("panel-%d", p.ID), Type: p.Type, Title: p.Title, Unit: p.FieldConfig.Defaults.Unit,
			Grid: fmt.Sprintf("%d,%d,%d,%d", p.GridPos.X, p.GridPos.Y, p.GridPos.W, p.GridPos.H)}
		for _, target := range p.Targets {
			want.Asks = append(want.Asks, target.LegendFormat+" = "+target.Expr)
		}
		if drawn := got.data(); drawn < len(p.Targets) {
			t.Errorf("%s: of its %d expressions the picture shows %d", p.Title, len(p.Targets), drawn)
		}
		if !got.says(p.Title) {
			t.Errorf("%s: the title cannot be read in the picture", p.Title)
		}
		got.Paths, got.Circles, got.Texts = nil, nil, nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-dashboard +picture):\n%s", p.Title, diff)
		}
	}
	if t.Failed() {
		t.Log("docs/images/dashboard.svg is made by: make dashboard-picture")
	}
}

// small is a dashboard with one panel, which asks once, and answers with these values at three
// times.
func small(change func(*Panel), values ...string) (*Dashboard, Window, map[string]Answer) {
	p := Panel{ID: 1, Type: timeseries, Title: "Looks", GridPos: Place{W: 8, H: 8}, Targets: []Target{{Expr: "looks", LegendFormat: "{{result}} <{{no}}>"}}}
	p.FieldConfig.Defaults.Unit = "s"
	change(&p)
	a := Answer{}
	for _, v := range values {
		if v == "" {
			a.Found = append(a.Found, nil)
			continue
		}
		a.Found = append(a.Found, []Found{{Labels: map[string]string{"result": "well"}, Value: v}})
	}
	return &Dashboard{Panels: []Panel{p}}, Window{To: 120, Step: 60, Scrape: 5}, map[string]Answer{"Looks: looks": a}
}

func TestWhatCannotBeShownIsAnError(t *testing.T) {
	for about, tc := range map[string]struct {
		change func(*Panel)
		values []string
		want   string
	}{
		"no series":         {func(*Panel) {}, []string{"", "", ""}, "nothing is found by Looks: looks"},
		"no number":         {func(*Panel) {}, []string{"NaN", "NaN", "+Inf"}, "nothing is found by Looks: looks"},
		"one of two":        {func(p *Panel) { p.Targets = append(p.Targets, Target{Expr: "others"}) }, []string{"1", "1", "1"}, "Looks: others was not asked"},
		"nothing asked":     {func(p *Panel) { p.Targets = nil }, []string{"1", "1", "1"}, "Looks asks nothing"},
		"a type":            {func(p *Panel) { p.Type = "table" }, []string{"1", "1", "1"}, `the type "table"`},
		"a unit":            {func(p *Panel) { p.FieldConfig.Defaults.Unit = "celsius" }, []string{"1", "1", "1"}, `the unit "celsius"`},
		"a long legend":     {func(p *Panel) { p.GridPos.H = 4 }, []string{"1", "1", "1"}, "leaves no room"},
		"below 0":           {func(*Panel) {}, []string{"1", "-1", "1"}, "axes begin with 0"},
		"a colour of stats": {func(p *Panel) { p.Type = stat; p.FieldConfig.Defaults.Thresholds.Steps = []Step{{Color: "mauve"}} }, []string{"1", "1", "1"}, `the colour "mauve"`},
	} {
		d, w, answers := small(tc.change, tc.values...)
		if _, err := d.Draw(w, answers); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", about, err, tc.want)
		}
	}
}

func TestLinesAreDrawnWhereThereAreValues(t *testing.T) {
	d, w, answers := small(func(*Panel) {}, "0.1", "0.2", "", "0.15")
	text, err := d.Draw(w, answers)
	if err != nil {
		t.Fatal(err)
	}
	panel := readPicture(t, text)[0]
	if panel.data() != 2 || len(panel.Circles) != 1 {
		t.Errorf("a line and a dot are expected:\n%s", text)
	}
	for _, want := range []string{"Looks", "well <>", "0 ms", "200 ms", "2:00"} {
		if !panel.says(want) {
			t.Errorf("%q is not in it:\n%s", want, text)
		}
	}
}

func TestValuesAreShownInTheirUnits(t *testing.T) {
	whole := 0
	for _, tc := range []struct {
		unit     string
		v        float64
		decimals *int
		want     string
	}{
		{"short", 0, nil, "0"},
		{"short", 0.125, nil, "0.125"},
		{"short", 12345, nil, "12.345 K"},
		{"", 11.7, &whole, "12"},
		{"s", 0.0025, nil, "2.5 ms"},
		{"s", 0.00025, nil, "250 µs"},
		{"s", 90, nil, "1.5 min"},
		{"bytes", 48 << 20, nil, "48 MiB"},
		{"reqps", 0.5, nil, "0.5 req/s"},
		{"ops", 20, nil, "20 ops/s"},
	} {
		s, err := scaleOf(tc.unit, tc.v)
		if err != nil {
			t.Error(err)
		}
		if got := s.show(tc.v, tc.decimals); got != tc.want {
			t.Errorf("%v %s: %s, want %s", tc.v, tc.unit, got, tc.want)
		}
	}
}

func TestAxesEndAboveTheLargestValue(t *testing.T) {
	for _, most := range []float64{0, 0.0001, 0.3, 1, 3, 4.1, 10, 99, 100, 51 << 20} {
		s, err := scaleOf("bytes", most)
		if err != nil {
			t.Fatal(err)
		}
		ticks := s.ticks(most)
		if last := ticks[len(ticks)-1]; len(ticks) < 2 || len(ticks) > 6 || last < most*(1-1e-6) || last > 2*max(most, 1) {
			t.Errorf("%v: %v", most, ticks)
		}
	}
}
