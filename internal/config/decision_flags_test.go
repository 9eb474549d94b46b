package config

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/reload"
)

// writtenDown returns the recorded options as another program reads them.
func writtenDown(t *testing.T, told map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(told)
	if err != nil {
		t.Fatal(err)
	}
	var options map[string]any
	if err := json.Unmarshal(text, &options); err != nil {
		t.Fatal(err)
	}
	return options
}

// A command reads the same settings that a controller records.
func TestRecordedOptionsSetTheFlags(t *testing.T) {
	told, flags := parsed(t, "--auto-reload-all", "--auto-annotation=example.org/roll", "--namespaces-to-ignore=a,b", "--reload-strategy=annotations",
		"--namespace-selector=team in (a,b)", "--is-Argo-Rollouts=false", "--log-level=debug", "--reload-on-delete",
		"--settle=3s", "--settle-max=4m", "--settle-gitops=0s", "--on-revert=restart", "--secret-marks=sha1",
		"--ignored-workload-types=cronjobs", "--churn=60/1h", "--max-rolling=10%", "--soak=5m", "--max-failures=2", "--halt-when-failing=25%/40", "--webhook-url=https://hooks.example.com/hunter2?key=hunter2")
	options := writtenDown(t, told.Options(flags))

	var c Config
	own := pflag.NewFlagSet("why", pflag.ContinueOnError)
	c.BindDecisionFlags(own)
	if err := own.Parse([]string{"--auto-annotation=example.org/other"}); err != nil {
		t.Fatal(err)
	}
	if err := Take(own, options); err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"--auto-annotation=example.org/other", "--auto-reload-all", "--churn=60/1h", "--halt-when-failing=25%/40", "--ignored-workload-types=cronjobs", "--is-Argo-Rollouts=false", "--max-failures=2", "--max-rolling=10%", "--namespace-selector=team in (a,b)", "--namespaces-to-ignore=a,b", "--on-revert=restart",
		"--reload-on-delete", "--reload-strategy=annotations", "--secret-marks=sha1", "--settle=3s", "--settle-gitops=0s", "--settle-max=4m0s", "--soak=5m0s", "--webhook-url=https://hooks.example.com/redacted",
	}
	if got := Beyond(own); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if c.Settle != 3*time.Second || c.SettleMax != 4*time.Minute || c.SettleGitOps != 0 || c.Marks.OnRevert != reload.OnRevertRestart || c.Marks.Secrets != digest.SecretMarksSHA1 || c.Gates.Churn.String() != "60/1h" {
		t.Errorf("got %+v", c)
	}
	if !slices.Equal(c.Ignored.Kinds, []string{"CronJob"}) {
		t.Errorf("left alone are %q", c.Ignored.Kinds)
	}
	if !c.AutoReloadAll || c.Names.Auto != "example.org/other" || c.Selectors.Namespaces.String() != "team in (a,b)" {
		t.Errorf("got %+v", c)
	}
}

// The chart sets the only watched namespace in a variable.
func TestTheNamespaceOfTheEnvironmentIsWrittenDown(t *testing.T) {
	told, flags := parsed(t)
	told.ReadEnvironment(func(name string) string { return map[string]string{"KUBERNETES_NAMESPACE": "shop"}[name] })
	if err := told.Validate(); err != nil {
		t.Fatal(err)
	}
	if got, ok := told.Options(flags)["namespaces"].([]string); !ok || !slices.Equal(got, []string{"shop"}) {
		t.Errorf("got %q", got)
	}
}

// An option without a recorded value has its default.
func TestSettleMaxIsAtLeastTheSettlePeriod(t *testing.T) {
	var c Config
	own := pflag.NewFlagSet("why", pflag.ContinueOnError)
	c.BindDecisionFlags(own)
	if err := own.Parse([]string{"--settle=30s"}); err != nil {
		t.Fatal(err)
	}
	if err := Take(own, map[string]any{"settle": "1s", "settleMax": "10s"}); err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil || c.SettleMax != 30*time.Second {
		t.Errorf("the longest wait is %s, error %v", c.SettleMax, err)
	}
}

func TestDefaultsAreTaken(t *testing.T) {
	told, flags := parsed(t)
	options := writtenDown(t, told.Options(flags))
	var c Config
	own := pflag.NewFlagSet("why", pflag.ContinueOnError)
	c.BindDecisionFlags(own)
	if err := Take(own, options); err != nil {
		t.Fatal(err)
	}
	if err := c.Validate(); err != nil {
		t.Fatal(err)
	}
	if got := Beyond(own); len(got) > 0 || c.ArgoRollouts != nil {
		t.Errorf("got %q", got)
	}
}

// Reloader accepts any text as an address, and records it completely.
func TestTheAddressOfAReceiverIsTakenWithoutItsToken(t *testing.T) {
	for told, want := range map[string]string{
		"":                          "",
		" ":                         "",
		"https://hooks.example.com": "https://hooks.example.com",
		"https://me:hunter2@hooks.example.com/hunter2?key=1": "https://hooks.example.com/redacted",
		"hooks.example.com/hunter2":                          "",
	} {
		var c Config
		own := pflag.NewFlagSet("why", pflag.ContinueOnError)
		c.BindDecisionFlags(own)
		if err := Take(own, map[string]any{"webhookUrl": told}); err != nil {
			t.Fatal(err)
		}
		if err := c.Validate(); err != nil {
			t.Errorf("%q: %v", told, err)
		}
		got := ""
		if c.Webhook != nil {
			got = c.Webhook.String()
		}
		if got != want {
			t.Errorf("%q is taken for %q, want %q", told, got, want)
		}
	}
}

func TestWhatCannotBeTakenIsSaid(t *testing.T) {
	var c Config
	own := pflag.NewFlagSet("why", pflag.ContinueOnError)
	c.BindDecisionFlags(own)
	if err := Take(own, map[string]any{"autoReloadAll": "perhaps", "unknown": 1}); err == nil {
		t.Error("no error")
	}
}
