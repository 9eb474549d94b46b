package config

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func parsed(t *testing.T, args ...string) (*Config, *pflag.FlagSet) {
	t.Helper()
	var c Config
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	c.BindFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return &c, flags
}

// A flag is either recorded, or Reloader does not have it and no command depends on it.
func TestEveryFlagThatAffectsDecisionsIsRecorded(t *testing.T) {
	own := []string{
		"adopt-rate", "dry-run", "listen-address", "ui-address", "kube-api-qps", "kube-api-burst",
		"leader-election-lease-duration", "leader-election-renew-deadline", "leader-election-retry-period",
		"is-argo-rollouts", // another spelling
	}
	_, flags := parsed(t)
	told := slices.Collect(maps.Values(recordedFlags()))
	for _, flag := range DecisionFlags() {
		if !slices.Contains(told, flag) {
			t.Errorf("what is decided depends on --%s, and it is not told", flag)
		}
	}
	flags.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(own, f.Name) && !slices.Contains(told, f.Name) {
			t.Errorf("--%s is neither", f.Name)
		}
	})
}

func TestOptionsHaveTheirTypes(t *testing.T) {
	c, flags := parsed(t, "--enable-ha", "--namespaces-to-ignore=a,b", "--log-level=debug", "--auto-annotation=example.org/roll", "--settle=90s")
	options := c.Options(flags)
	text, err := json.Marshal(options)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"enableHA":true`, `"enablePProf":false`, `"namespacesToIgnore":["a","b"]`, `"resourcesToIgnore":[]`,
		`"logLevel":"debug"`, `"logFormat":""`, `"reloaderAutoAnnotation":"example.org/roll"`, `"pprofAddr":"127.0.0.1:6060"`,
		`"settle":"1m30s"`, `"settleMax":"10s"`, `"settleGitOps":"5s"`, `"onRevert":"stop"`, `"secretMarks":"keyed"`, `"namespaces":[]`,
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}

func TestTokensInAddressesAreNotRecorded(t *testing.T) {
	for address, want := range map[string]string{
		"":                                       "",
		"https://hooks.example.org":              "https://hooks.example.org",
		"https://hooks.example.org/services/T0K": "https://hooks.example.org/redacted",
		"https://hooks.example.org?key=T0K":      "https://hooks.example.org/redacted",
		"https://hooks.example.org#T0K":          "https://hooks.example.org/redacted",
		"https://me:T0K@hooks.example.org:8443/": "https://hooks.example.org:8443/redacted",
		"https://me:T0K@hooks.example.org":       "https://hooks.example.org",
		"T0K":                                    "redacted",
		"https://T0K%zz":                         "redacted",
		"mailto:T0K":                             "redacted",
	} {
		flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
		flags.String(webhookFlag, "", "")
		if err := flags.Parse([]string{"--" + webhookFlag + "=" + address}); err != nil {
			t.Fatal(err)
		}
		got := (&Config{}).Options(flags)["webhookUrl"]
		if got != want || strings.Contains(want, "T0K") {
			t.Errorf("%s is told as %v, want %s", address, got, want)
		}
	}
}
