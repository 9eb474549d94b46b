package inspect

import (
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/reload"
)

// The ledgers show that both reloads wait. The first one waits for the answer, the second one for
// the first.
func TestAGateURLHidesNoWaves(t *testing.T) {
	s := read(t, "status-waves")
	url := "--gate-url=https://gate/may?key=hunter2"
	s.heads["flags"] = url
	s.objects.settings = s.settings(t)
	e := s.objects.Evaluate(s.running, noon)
	for _, key := range e.OptedIn() {
		facts, _ := e.state.Facts(key)
		s.objects.settings.Rules.Complete(&facts, reload.Installation{Key: s.objects.settings.Key}, noon)
		a := e.Of(key)
		held, _ := facts.Defer(&a.Decision, false)
		w := s.objects.workloads[key]
		w.LedgerText = held.Ledger.String()
		s.objects.workloads[key] = w
	}
	text := s.status(t, "shop").Text(Paint{}, Layout{})
	for _, want := range []string{
		"deployment/canary  waiting until https://gate/redacted allows it",
		"deployment/web     waiting for wave 0 of ConfigMap shop/greeting",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got\n%s\nwithout %q", text, want)
		}
	}
}
