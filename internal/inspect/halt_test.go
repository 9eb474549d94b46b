package inspect

import (
	"os"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/metainfo"
	"github.com/reroll-dev/reroll/internal/workload"
)

// The commands show the answer that the controller has written, with the permissions of the user.
func TestPlanShowsAHaltOnlyWhereItApplies(t *testing.T) {
	for about, tc := range map[string]struct {
		halted metainfo.Halted
		shown  bool
	}{
		"everywhere":        {metainfo.Halted{All: true, Why: "10 of the last 20 reloads failed"}, true},
		"in this namespace": {metainfo.Halted{Namespaces: []string{"shop"}, Why: "10 of the last 20 reloads failed"}, true},
		"in another one":    {metainfo.Halted{Namespaces: []string{"other"}, Why: "10 of the last 20 reloads failed"}, false},
		"there is none":     {metainfo.Halted{}, false},
	} {
		s := read(t, "plan-waves")
		s.objects.settings.Halted = tc.halted
		p, err := s.objects.Plan("shop", s.heads["plan"], s.running, noon)
		if err != nil {
			t.Fatal(err)
		}
		if shown := strings.Contains(p.Text(Paint{}), "but waits: 10 of the last 20 reloads failed"); shown != tc.shown {
			t.Errorf("%s: shown is %t:\n%s", about, shown, p.Text(Paint{}))
		}
	}
}

// The controller tracks its own reloads, so only these take a place in a wave.
func TestARolloutOfAnotherClientIsNotTracked(t *testing.T) {
	text, err := os.ReadFile("testdata/plan-waves.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s := tell(t, strings.Replace(string(text), "updatedReplicas: 3", "updatedReplicas: 1", 1))
	e := s.objects.Evaluate(s.running, noon)
	a := e.Of(workload.Key{Kind: "Deployment", Namespace: "shop", Name: "canary"})
	if a.Workload.HasRolled() || !a.Ledger.There {
		t.Fatalf("%+v", a.Workload.Progress)
	}
	if got := e.tracked(&a); got != (gate.Tracked{}) {
		t.Errorf("%+v", got)
	}
}
