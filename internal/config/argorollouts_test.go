package config

import (
	"testing"

	"github.com/spf13/pflag"
)

func TestArgoRolloutsMayBeSaidInManyWays(t *testing.T) {
	for about, tc := range map[string]struct {
		args []string
		want string
	}{
		"nothing is said":                {nil, ""},
		"without a value":                {[]string{"--is-argo-rollouts"}, "true"},
		"as Reloader spells it":          {[]string{"--is-Argo-Rollouts"}, "true"},
		"as its chart does":              {[]string{"--is-Argo-Rollouts=true"}, "true"},
		"no":                             {[]string{"--is-Argo-Rollouts=False"}, "false"},
		"the last word counts":           {[]string{"--is-Argo-Rollouts=false", "--is-argo-rollouts=1"}, "true"},
		"what counts if nothing is said": {[]string{"--is-Argo-Rollouts=false", "--is-argo-rollouts=auto"}, ""},
	} {
		t.Run(about, func(t *testing.T) {
			var cfg Config
			flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
			cfg.BindFlags(flags)
			if err := flags.Parse(tc.args); err != nil {
				t.Fatal(err)
			}
			if got := (optionalBool{&cfg.ArgoRollouts}).String(); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
	var cfg Config
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	cfg.BindFlags(flags)
	err := flags.Parse([]string{"--is-argo-rollouts=maybe"})
	if want := `invalid argument "maybe" for "--is-argo-rollouts" flag: "maybe" is not valid: write true, false or auto`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
