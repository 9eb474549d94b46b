package cli

import (
	"slices"
	"testing"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/internal/config"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/permissions"
)

// configOf returns the configuration of a controller with some flags.
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

// If the user has not configured a kind, a missing permission for it is not a mistake.
func TestThePermissionsForRolloutsAreNeededWhenRolloutsAreAskedFor(t *testing.T) {
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

// The permissions to watch and patch a kind are needed only if the kind is used.
func TestThePermissionsFollowTheListOfKinds(t *testing.T) {
	asked := func(all kinds.Set, kind kinds.Kind) bool {
		cfg := configOf(t)
		cfg.Kinds = all
		return slices.ContainsFunc(needed(cfg, "reroll"), func(r permissions.Permission) bool {
			return r.Group == kind.Resource.Group && r.Resource == kind.Resource.Resource && (r.Verb == "patch" || r.Verb == "watch")
		})
	}
	// CronJobs bring the permissions for Jobs, too, so the list is without them.
	plain := slices.DeleteFunc(kinds.All(), func(k kinds.Kind) bool { return k.Name == "CronJob" })
	for _, kind := range kinds.All() {
		with := plain.Using(map[string]kinds.Use{kind.Name: kinds.Always})
		if kind.Name == "CronJob" {
			with = append(with, kind)
		}
		if !asked(with, kind) {
			t.Errorf("the permissions for %s are not asked for", kind.Name)
		}
		if asked(with.Using(map[string]kinds.Use{kind.Name: kinds.Never}), kind) {
			t.Errorf("the permissions for %s are asked for where it is left alone", kind.Name)
		}
		if asked(slices.DeleteFunc(slices.Clone(with), func(k kinds.Kind) bool { return k.Name == kind.Name }), kind) {
			t.Errorf("the permissions for %s are asked for where it is no kind", kind.Name)
		}
	}
}
