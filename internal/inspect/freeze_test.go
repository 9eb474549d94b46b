package inspect

import (
	"strings"
	"testing"
)

const anHour = `{"until":"2026-03-01T13:00:00Z","by":"alice","reason":"a test"}`

func TestAStatusBeginsWithWhatIsFrozen(t *testing.T) {
	const namespace = "Frozen, namespace shop: reloads are frozen by alice: incident 4711 (reroll.dev/freeze on the namespace), until 2026-03-01T14:00:00Z. To end it: reroll thaw -n shop"
	const all = "Frozen, all namespaces: reloads are frozen by alice: a test (reroll.dev/freeze on ConfigMap reloader-meta-info), until 2026-03-01T13:00:00Z. To end it: reroll thaw -A"
	for about, tc := range map[string]struct {
		all, ns string
		want    []string
	}{
		"the namespace":    {"", "shop", []string{namespace}},
		"both":             {anHour, "shop", []string{all, namespace}},
		"every namespace":  {"", "", []string{namespace}},
		"another one":      {"", "other", nil},
		"over":             {`{"until":"2026-03-01T12:00:00Z"}`, "other", nil},
		"it is a bad text": {"soon", "other", []string{"Frozen, all namespaces: reroll.dev/freeze on ConfigMap reloader-meta-info cannot be read: write JSON"}},
	} {
		s := read(t, "why-freeze")
		s.objects.settings.Freeze = tc.all
		status, err := s.objects.Status(tc.ns, "", s.running, noon)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(status.Text(Paint{}, Layout{})), " ")
		if !strings.HasPrefix(text, strings.Join(tc.want, " ")) || strings.Count(text, "Frozen") != len(tc.want) {
			t.Errorf("%s: %s", about, text)
		}
		out, err := status.JSON()
		if err != nil || strings.Contains(out, `"frozen"`) != (len(tc.want) > 0) {
			t.Errorf("%s: %s, %v", about, out, err)
		}
	}
}

func TestAPlanShowsAFreeze(t *testing.T) {
	s := read(t, "why-freeze")
	for about, tc := range map[string]struct{ all, want string }{
		"the namespace": {"", "not before 2026-03-01T14:00:00Z: reloads are frozen by alice: incident 4711"},
		"all, longer":   {`{"until":"2026-03-01T15:00:00Z"}`, "not before 2026-03-01T15:00:00Z: reloads are frozen (reroll.dev/freeze on ConfigMap"},
	} {
		s.objects.settings.Freeze = tc.all
		p, err := s.objects.Plan("shop", "configmap/greeting", s.running, noon)
		if err != nil {
			t.Fatal(err)
		}
		if text := strings.Join(strings.Fields(p.Text(Paint{})), " "); !strings.Contains(text, tc.want) {
			t.Errorf("%s: %s", about, text)
		}
	}
}
