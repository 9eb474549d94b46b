package config

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

func TestWebhookURL(t *testing.T) {
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
			if err := flags.Parse([]string{"--webhook-url=" + tc.given}); err != nil {
				t.Fatal(err)
			}
			err := cfg.Validate()
			if (err != nil) != tc.refused {
				t.Fatalf("the answer is %v", err)
			}
			if err != nil && (strings.Contains(err.Error(), "hunter2") || !strings.Contains(err.Error(), "--webhook-url")) {
				t.Errorf("it is refused with %q", err)
			}
			got := ""
			if cfg.Webhook != nil {
				got = cfg.Webhook.String()
			}
			if got != tc.want {
				t.Errorf("it is %q, want %q", got, tc.want)
			}
		})
	}
}
