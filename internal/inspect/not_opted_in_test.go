package inspect

import (
	"fmt"
	"strings"
	"testing"
)

// A misspelled annotation is the most common reason why nothing is opted in.
func TestStatusNamesTheMistakeThatOptsNothingIn(t *testing.T) {
	misspelled := instead(t, web, "reloader.stakater.com/auto", "reloader.stakater.com/atuo")
	const want = `Not opted in: Deployment shop/web: annotation reloader.stakater.com/atuo has "true": does nothing. Did you mean reloader.stakater.com/auto?`
	for about, tc := range map[string]struct {
		text, name string
		want       bool
	}{
		"it is misspelled":       {misspelled, "", true},
		"it is named":            {misspelled, "deployment/web", true},
		"another one is named":   {misspelled + "---\n" + instead(t, web, "kind: Deployment", "kind: StatefulSet"), "statefulset/web", false},
		"beside an opted-in one": {misspelled + "---\n" + instead(t, web, "kind: Deployment", "kind: StatefulSet"), "", true},
		"it is opted in, too":    {instead(t, web, "reloader.stakater.com/auto", `reloader.stakater.com/atuo: "true", reloader.stakater.com/auto`), "", false},
		"all are opted in":       {"# flags: --auto-reload-all\n" + misspelled, "", false},
		"it is spelled right":    {web, "", false},
	} {
		t.Run(about, func(t *testing.T) {
			s := tell(t, tc.text)
			status, err := s.objects.Status("shop", tc.name, s.running, noon)
			if err != nil {
				t.Fatal(err)
			}
			text := strings.Join(strings.Fields(status.Text(Paint{}, Layout{})), " ")
			if strings.Contains(text, want) != tc.want || !tc.want && strings.Contains(text, "Not opted in:") {
				t.Errorf("got %s", text)
			}
			doc, err := status.JSON()
			if err != nil || strings.Contains(doc, `"notOptedInByMistake"`) != tc.want {
				t.Errorf("%v in %s", err, doc)
			}
		})
	}
}

func TestStatusNamesFewMistakes(t *testing.T) {
	var all strings.Builder
	for i := range 5 {
		fmt.Fprintf(&all, "---\n%s", instead(t, web, "reloader.stakater.com/auto", "reloader.stakater.com/atuo", "{name: web, namespace", fmt.Sprintf("{name: web-%d, namespace", i)))
	}
	for ns, want := range map[string]string{"shop": "2 workloads more with such mistakes. To list all: reroll lint -n shop", "": "To list all: reroll lint -A"} {
		text := strings.Join(strings.Fields(tell(t, all.String()).status(t, ns).Text(Paint{}, Layout{})), " ")
		if !strings.Contains(text, want) || strings.Count(text, "Not opted in:") != mostMistaken {
			t.Errorf("of %q: got %s", ns, text)
		}
	}
}
