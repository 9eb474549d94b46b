package cli

import (
	"slices"
	"testing"

	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/kinds"
)

// That a right is missing which nobody has asked to be used is no mistake.
func TestTheRightsForRolloutsAreNeededWhenRolloutsAreAskedFor(t *testing.T) {
	yes, no := true, false
	for about, tc := range map[string]struct {
		said *bool
		dry  bool
		want []string
	}{
		"not said":             {said: nil},
		"no":                   {said: &no},
		"yes":                  {said: &yes, want: []string{"list", "watch", "patch"}},
		"yes, but only to see": {said: &yes, dry: true, want: []string{"list", "watch"}},
	} {
		t.Run(about, func(t *testing.T) {
			var verbs []string
			for _, r := range needed(&config.Config{Kinds: kinds.All(), ArgoRollouts: tc.said, DryRun: tc.dry}, "reroll") {
				if r.Group == "argoproj.io" && r.Resource == "rollouts" {
					verbs = append(verbs, r.Verb)
				}
			}
			if !slices.Equal(verbs, tc.want) {
				t.Errorf("needed to %q rollouts, want %q", verbs, tc.want)
			}
		})
	}
}
