package config

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWhichNamespacesAreWatched(t *testing.T) {
	for about, tc := range map[string]struct {
		args []string
		own  string
		want []string
	}{
		"nothing was said":           {},
		"the environment names one":  {own: "a", want: []string{"a"}},
		"the flag wins":              {args: []string{"--namespaces=b, c,b"}, own: "a", want: []string{"b", "c"}},
		"a flag that names none":     {args: []string{"--namespaces= ,"}, own: "a", want: []string{"a"}},
		"neither of both names any":  {args: []string{"--namespaces= "}},
		"spaces around a name":       {args: []string{"--namespaces= b "}, want: []string{"b"}},
		"several flags are one list": {args: []string{"--namespaces=b", "--namespaces=c"}, want: []string{"b", "c"}},
	} {
		t.Run(about, func(t *testing.T) {
			c, _ := parsed(t, tc.args...)
			c.ReadEnvironment(func(name string) string { return map[string]string{"KUBERNETES_NAMESPACE": tc.own}[name] })
			if err := c.Validate(); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(c.Namespaces, tc.want) {
				t.Errorf("namespaces %q, want %q", c.Namespaces, tc.want)
			}
		})
	}
}

func TestTheLongestWait(t *testing.T) {
	for about, tc := range map[string]struct {
		args    []string
		want    time.Duration
		refused string
	}{
		"nothing was said":                       {want: 10 * time.Second},
		"a quiet period that is shorter":         {args: []string{"--settle=0"}, want: 10 * time.Second},
		"a quiet period that is longer":          {args: []string{"--settle=30s"}, want: 30 * time.Second},
		"both":                                   {args: []string{"--settle=30s", "--settle-max=1m"}, want: time.Minute},
		"both alike":                             {args: []string{"--settle=30s", "--settle-max=30s"}, want: 30 * time.Second},
		"a longest wait that is too short":       {args: []string{"--settle=30s", "--settle-max=10s"}, refused: "--settle-max=10s is shorter than --settle=30s"},
		"a longest wait alone that is too short": {args: []string{"--settle-max=500ms"}, refused: "--settle-max=500ms is shorter than --settle=1s"},
	} {
		t.Run(about, func(t *testing.T) {
			c, flags := parsed(t, tc.args...)
			err := c.Validate()
			if tc.refused != "" {
				if err == nil || !strings.Contains(err.Error(), tc.refused) {
					t.Errorf("error: %v, want it to say: %s", err, tc.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			// The commands that explain decisions use the same settings.
			if told := c.Options(flags)["settleMax"]; c.SettleMax != tc.want || told != tc.want.String() {
				t.Errorf("%s, told as %v, want %s", c.SettleMax, told, tc.want)
			}
		})
	}
}
