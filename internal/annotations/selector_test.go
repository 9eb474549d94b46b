package annotations

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

func TestSelectorsOfSources(t *testing.T) {
	grafana := labels.Set{"plugins": "grafana", "tier": "back"}
	for text, want := range map[string]struct {
		canonical string
		matches   bool
	}{
		"plugins=grafana":                         {"plugins=grafana", true},
		" plugins == grafana , tier in (x, back)": {"plugins=grafana,tier in (back,x)", true},
		"plugins=grafana,tier in (x,y)":           {"plugins=grafana,tier in (x,y)", false},
		"plugins!=grafana":                        {"plugins!=grafana", false},
		"plugins,!d":                              {"!d,plugins", true},
		"!plugins":                                {"!plugins", false},
		"d notin (x)":                             {"d notin (x)", true},
		"weight>5":                                {"weight>5", false},
	} {
		s, err := ReadSelector(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if s.Text != want.canonical || s.Matches(grafana) != want.matches {
			t.Errorf("%s reads as %s, and matches: %t", text, s.Text, s.Matches(grafana))
		}
	}
}

func TestWhatIsNoSelectorSelectsNothing(t *testing.T) {
	requirements := make([]string, 51)
	for i := range requirements {
		requirements[i] = fmt.Sprintf("k%d", i)
	}
	for text, want := range map[string]string{
		"":                                   "because it is empty; write a label selector such as plugins=grafana",
		"  ":                                 "because it is empty",
		"plugins=grafana=x":                  "it is not a label selector (",
		"plugins in grafana":                 "it is not a label selector (",
		"Plug ins":                           "it is not a label selector (",
		strings.Repeat("a", 2049):            "it has 2049 characters, must have at most 2048",
		strings.Join(requirements, ","):      "it has 51 requirements, must have at most 50",
		strings.Join(requirements[:50], ","): "",
	} {
		s, err := ReadSelector(text)
		if want == "" && err == nil && s != nil {
			continue
		}
		if err == nil || s != nil || !strings.HasPrefix(err.Error(), "selects nothing") || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	var none *Selector
	if none.Matches(labels.Set{}) || !none.Equal(nil) {
		t.Error("no selector selects something")
	}
}

func FuzzSelectors(f *testing.F) {
	for _, text := range []string{"a=b,c in (x,y),!d", "a>1", "", "((", "a in (", "!", "a=b=c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ReadSelector(text)
		if err != nil {
			return
		}
		again, err := ReadSelector(s.Text)
		if err != nil || !again.Equal(s) {
			t.Errorf("%q reads as %q, and that as %v, %v", text, s.Text, again, err)
		}
	})
}
