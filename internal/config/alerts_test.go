package config

import (
	"bytes"
	"log/slog"
	"maps"
	"strings"
	"testing"
)

// alertsOf returns the result of an environment as text, and its warnings.
func alertsOf(t *testing.T, env map[string]string) (*Alerts, string) {
	t.Helper()
	cfg, err := parse(t, env)
	if err != nil {
		t.Fatalf("it keeps the controller from starting: %v", err)
	}
	var log bytes.Buffer
	cfg.Alerts.Warn(slog.New(slog.NewTextHandler(&log, nil)))
	return &cfg.Alerts, log.String()
}

func TestAlertsAreWhatTheEnvironmentSays(t *testing.T) {
	const to = "https://hooks.example.com/services/T0/B0/hunter2"
	for about, tc := range map[string]struct {
		env               map[string]string
		sink, proxy, info string
	}{
		"the least":               {map[string]string{}, "raw", "", ""},
		"slack":                   {map[string]string{"ALERT_SINK": "slack"}, "slack", "", ""},
		"teams":                   {map[string]string{"ALERT_SINK": "teams"}, "teams", "", ""},
		"gchat":                   {map[string]string{"ALERT_SINK": "gchat"}, "gchat", "", ""},
		"raw":                     {map[string]string{"ALERT_SINK": "raw"}, "raw", "", ""},
		"as Reloader names raw":   {map[string]string{"ALERT_SINK": "webhook"}, "raw", "", ""},
		"capitals and spaces":     {map[string]string{"ALERT_SINK": " Slack\n"}, "slack", "", ""},
		"the end of a file":       {map[string]string{"ALERT_WEBHOOK_URL": to + "\n"}, "raw", "", ""},
		"a proxy and information": {map[string]string{"ALERT_WEBHOOK_PROXY": " http://u:p@proxy:3128 ", "ALERT_ADDITIONAL_INFO": " cluster one "}, "raw", "http://u:p@proxy:3128", "cluster one"},
	} {
		t.Run(about, func(t *testing.T) {
			env := map[string]string{"ALERT_ON_RELOAD": "true", "ALERT_WEBHOOK_URL": to}
			maps.Copy(env, tc.env)
			got, warned := alertsOf(t, env)
			if !got.On || got.URL.String() != to || got.Sink != tc.sink || got.Info != tc.info || warned != "" {
				t.Errorf("got %+v, warned: %q", got, warned)
			}
			if (got.Proxy == nil) != (tc.proxy == "") || got.Proxy != nil && got.Proxy.String() != tc.proxy {
				t.Errorf("the proxy is %v, want %q", got.Proxy, tc.proxy)
			}
		})
	}
}

func TestInvalidAlertSettingsOnlyWarn(t *testing.T) {
	const to = "https://hooks.example.com/services/hunter2"
	for about, tc := range map[string]struct {
		env  map[string]string
		on   bool
		warn string // text in the only warning, or empty for no warning
	}{
		"nothing is set":         {nil, false, ""},
		"switched off":           {map[string]string{"ALERT_ON_RELOAD": "false", "ALERT_WEBHOOK_URL": "hunter2"}, false, ""},
		"not asked for":          {map[string]string{"ALERT_WEBHOOK_URL": to}, false, ""},
		"another spelling":       {map[string]string{"ALERT_ON_RELOAD": "True", "ALERT_WEBHOOK_URL": to}, false, "set ALERT_ON_RELOAD=true"},
		"no boolean":             {map[string]string{"ALERT_ON_RELOAD": to, "ALERT_WEBHOOK_URL": to}, false, "set ALERT_ON_RELOAD=true"},
		"no address":             {map[string]string{"ALERT_ON_RELOAD": "true"}, false, "ALERT_WEBHOOK_URL is not set"},
		"an empty address":       {map[string]string{"ALERT_ON_RELOAD": "true", "ALERT_WEBHOOK_URL": " "}, false, "ALERT_WEBHOOK_URL is not set"},
		"no scheme":              {map[string]string{"ALERT_ON_RELOAD": "true", "ALERT_WEBHOOK_URL": "hooks.example.com/hunter2"}, false, "ALERT_WEBHOOK_URL is not a URL"},
		"another scheme":         {map[string]string{"ALERT_ON_RELOAD": "true", "ALERT_WEBHOOK_URL": "ftp://hooks.example.com/hunter2"}, false, "ALERT_WEBHOOK_URL is not a URL"},
		"no host":                {map[string]string{"ALERT_ON_RELOAD": "true", "ALERT_WEBHOOK_URL": "https:///hunter2"}, false, "ALERT_WEBHOOK_URL is not a URL"},
		"nothing one can parse":  {map[string]string{"ALERT_ON_RELOAD": "true", "ALERT_WEBHOOK_URL": "https://hooks.example.com/hunter2\x7f"}, false, "ALERT_WEBHOOK_URL is not a URL"},
		"no port":                {map[string]string{"ALERT_ON_RELOAD": "true", "ALERT_WEBHOOK_URL": "https://hooks.example.com:hunter2/"}, false, "ALERT_WEBHOOK_URL is not a URL"},
		"a proxy without scheme": {map[string]string{"ALERT_ON_RELOAD": "true", "ALERT_WEBHOOK_URL": to, "ALERT_WEBHOOK_PROXY": "u:hunter2@proxy:3128"}, false, "ALERT_WEBHOOK_PROXY is not a URL"},
		"an unknown sink":        {map[string]string{"ALERT_ON_RELOAD": "true", "ALERT_WEBHOOK_URL": to, "ALERT_SINK": to}, true, "ALERT_SINK is unknown"},
	} {
		t.Run(about, func(t *testing.T) {
			got, warned := alertsOf(t, tc.env)
			if got.On != tc.on || got.On && got.Sink != "raw" {
				t.Errorf("got %+v", got)
			}
			lines := 1
			if tc.warn == "" {
				lines = 0
			}
			if strings.Count(warned, "level=WARN") != lines || strings.Count(warned, "\n") != lines || !strings.Contains(warned, tc.warn) {
				t.Errorf("warned: %q, want one line with %q", warned, tc.warn)
			}
			if strings.Contains(warned, "hunter2") {
				t.Errorf("the log holds what may be a token: %q", warned)
			}
		})
	}
}
