package config

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// parse returns the result of a command line and an environment.
func parse(t *testing.T, env map[string]string, args ...string) (*Config, error) {
	t.Helper()
	var cfg Config
	flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
	cfg.BindFlags(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	cfg.ReadEnvironment(func(name string) string { return env[name] })
	return &cfg, cfg.Validate()
}

func inPod() map[string]string {
	return map[string]string{"POD_NAME": "reroll-7d9f-x2x", "POD_NAMESPACE": "ops"}
}

func TestLeaseFlags(t *testing.T) {
	for about, tc := range map[string]struct {
		env  map[string]string
		args []string
		want Lease
	}{
		"none":         {nil, nil, Lease{false, 15 * time.Second, 10 * time.Second, 2 * time.Second}},
		"none, in pod": {inPod(), nil, Lease{false, 15 * time.Second, 10 * time.Second, 2 * time.Second}},
		"several replicas": {
			inPod(), []string{"--enable-ha"},
			Lease{true, 15 * time.Second, 10 * time.Second, 2 * time.Second},
		},
		"with a value, as for Reloader": {
			inPod(), []string{"--enable-ha=true", "--leader-election-lease-duration=1m", "--leader-election-renew-deadline=40s", "--leader-election-retry-period=500ms"},
			Lease{true, time.Minute, 40 * time.Second, 500 * time.Millisecond},
		},
		"times count without --enable-ha too": {
			nil, []string{"--leader-election-lease-duration=137s"},
			Lease{false, 137 * time.Second, 10 * time.Second, 2 * time.Second},
		},
	} {
		t.Run(about, func(t *testing.T) {
			cfg, err := parse(t, tc.env, tc.args...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, cfg.Lease); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEveryMistakeAboutTheLeaseIsNamed(t *testing.T) {
	noName, noNamespace := inPod(), inPod()
	delete(noName, "POD_NAME")
	delete(noNamespace, "POD_NAMESPACE")
	const (
		name      = "--enable-ha: POD_NAME is not set"
		namespace = "--enable-ha: POD_NAMESPACE is not set"
		retry     = "--leader-election-retry-period=0s: must be more than 0, such as 2s"
		renew     = "--leader-election-renew-deadline=1s is not longer than --leader-election-retry-period=2s"
		lease     = "--leader-election-lease-duration=10s is not longer than --leader-election-renew-deadline=10s"
	)
	for about, tc := range map[string]struct {
		env  map[string]string
		args []string
		want []string
	}{
		"no name":                            {noName, []string{"--enable-ha"}, []string{name}},
		"no namespace":                       {noNamespace, []string{"--enable-ha"}, []string{namespace}},
		"neither":                            {nil, []string{"--enable-ha"}, []string{name, namespace}},
		"neither, and none is needed":        {nil, nil, nil},
		"no pause between two tries":         {nil, []string{"--leader-election-retry-period=0"}, []string{retry}},
		"no time for a second try":           {nil, []string{"--leader-election-renew-deadline=1s"}, []string{renew}},
		"two that hold it at the same time":  {nil, []string{"--leader-election-lease-duration=10s"}, []string{lease}},
		"a negative time":                    {nil, []string{"--leader-election-retry-period=-1s"}, []string{"--leader-election-retry-period=-1s: must be more than 0"}},
		"several mistakes, of all subjects":  {noName, []string{"--enable-ha", "--leader-election-lease-duration=10s", "--leader-election-retry-period=0", "--settle=-1s"}, []string{"--settle=-1s", name, retry, lease}},
		"all of them, each of its own right": {nil, []string{"--leader-election-lease-duration=1s", "--leader-election-renew-deadline=1s"}, []string{"--leader-election-renew-deadline=1s is not", "--leader-election-lease-duration=1s is not"}},
	} {
		t.Run(about, func(t *testing.T) {
			_, err := parse(t, tc.env, tc.args...)
			var lines []string
			if err != nil {
				lines = strings.Split(err.Error(), "\n")
			}
			if len(lines) != len(tc.want) {
				t.Fatalf("%d mistakes are named, want %d:\n%v", len(lines), len(tc.want), err)
			}
			for i, want := range tc.want {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("mistake %d: %s\nwant it to begin with: %s", i+1, lines[i], want)
				}
			}
		})
	}
}
