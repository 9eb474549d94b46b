package config

import (
	"testing"

	"github.com/spf13/pflag"
)

func TestTheScopeFollowsTheSettingsThatSayWhatIsCovered(t *testing.T) {
	scope := func(args ...string) string {
		t.Helper()
		var c Config
		flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
		c.BindFlags(flags)
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		s := c.Scope()
		if s.AutoReloadAll != c.AutoReloadAll {
			t.Errorf("%v: --auto-reload-all is %t in it", args, s.AutoReloadAll)
		}
		return s.Settings
	}
	defaults := scope()
	for _, other := range []string{
		"--namespaces=shop", "--namespaces-to-ignore=shop", "--namespace-selector=team=a", "--resource-label-selector=team=a",
		"--resources-to-ignore=secrets", "--ignored-workload-types=jobs", "--auto-annotation=example.org/auto",
		"--enable-csi-integration", "--is-argo-rollouts=false", "--workload-kind=example.org/v1/Pool", "--reload-on-create",
	} {
		if scope(other) == defaults {
			t.Errorf("%s covers what the defaults cover", other)
		}
	}
	for _, same := range []string{"--settle=3s", "--auto-reload-all", "--log-level=debug", "--reload-on-delete", "--dry-run"} {
		if scope(same) != defaults {
			t.Errorf("%s covers something else than the defaults", same)
		}
	}
}
