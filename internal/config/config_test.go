package config

import (
	"slices"
	"testing"
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
