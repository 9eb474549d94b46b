package inspect

import (
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/metainfo"
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
