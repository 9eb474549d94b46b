package config

import (
	"net/url"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestAddresses(t *testing.T) {
	for _, flag := range []string{"webhook-url", "gate-url"} {
		t.Run(flag, func(t *testing.T) { testAddress(t, flag) })
	}
}

func testAddress(t *testing.T, flag string) {
	t.Helper()
	for about, tc := range map[string]struct {
		given, want string
		refused     bool
	}{
		"none":           {"", "", false},
		"blanks":         {"  ", "", false},
		"an address":     {" https://hooks.example.com/hunter2?key=1 ", "https://hooks.example.com/hunter2?key=1", false},
		"no scheme":      {"hooks.example.com/hunter2", "", true},
		"another scheme": {"ftp://hooks.example.com/hunter2", "", true},
		"no host":        {"https:///hunter2", "", true},
		"not readable":   {"https://hooks.example.com/hunter2\x7f", "", true},
	} {
		t.Run(about, func(t *testing.T) {
			var cfg Config
			flags := pflag.NewFlagSet("run", pflag.ContinueOnError)
			cfg.BindFlags(flags)
			if err := flags.Parse([]string{"--" + flag + "=" + tc.given}); err != nil {
				t.Fatal(err)
			}
			err := cfg.Validate()
			if (err != nil) != tc.refused {
				t.Fatalf("the answer is %v", err)
			}
			if err != nil && (strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "--"+flag)) {
				t.Errorf("it is refused with %q", err)
			}
			got := ""
			if to := map[string]*url.URL{"webhook-url": cfg.Webhook, "gate-url": cfg.Gates.URL}[flag]; to != nil {
				got = to.String()
			}
			if got != tc.want {
				t.Errorf("it is %q, want %q", got, tc.want)
			}
		})
	}
}
