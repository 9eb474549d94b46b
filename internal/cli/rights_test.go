package cli

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/internal/config"
)

// configOf is that of a controller with some flags.
func configOf(t *testing.T, args ...string) *config.Config {
	t.Helper()
	var cfg config.Config
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	cfg.BindFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	if err := cfg.Validate(); err != nil {
		t.Fatal(err)
	}
	return &cfg
}

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
			cfg := configOf(t)
			cfg.ArgoRollouts, cfg.DryRun = tc.said, tc.dry
			if err := cfg.Validate(); err != nil {
				t.Fatal(err)
			}
			for _, r := range needed(cfg, "reroll") {
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
