package config

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

func TestSelectors(t *testing.T) {
	for about, tc := range map[string]struct {
		given []string
		want  string
	}{
		"none":                             {nil, ""},
		"an empty one":                     {[]string{""}, ""},
		"a label with a value":             {[]string{"team=a"}, "team=a"},
		"a label with any value":           {[]string{"team"}, "team"},
		"a label that is not there":        {[]string{"!team"}, "!team"},
		"another value":                    {[]string{"team!=a"}, "team!=a"},
		"one of several values":            {[]string{"team in (a,b)"}, "team in (a,b)"},
		"none of several, and another":     {[]string{"team notin (a, b),env=x"}, "env=x,team notin (a,b)"},
		"all of several":                   {[]string{"team=a,env=b"}, "env=b,team=a"},
		"all of several flags":             {[]string{"team=a", "env"}, "env,team=a"},
		"all of several in one value":      {[]string{`"team=a, env:b"`}, "env=b,team=a"},
		"the old form":                     {[]string{"team:a"}, "team=a"},
		"the old form for any value":       {[]string{"team:*"}, "team"},
		"the other old form for any value": {[]string{"example.org/team=*"}, "example.org/team"},
		"all forms":                        {[]string{"a:b,c:*,d=*,e in (f,g)"}, "a=b,c,d,e in (f,g)"},
		"an empty value":                   {[]string{"team="}, "team="},
	} {
		t.Run(about, func(t *testing.T) {
			for flag, of := range map[string]func(*Config) labels.Selector{
				"--namespace-selector":      func(c *Config) labels.Selector { return c.Selectors.Namespaces },
				"--resource-label-selector": func(c *Config) labels.Selector { return c.Selectors.Resources },
			} {
				var args []string
				for _, value := range tc.given {
					args = append(args, flag+"="+value)
				}
				cfg, err := parse(t, nil, args...)
				if err != nil {
					t.Fatal(err)
				}
				got := ""
				if s := of(cfg); s != nil {
					got = s.String()
				}
				if got != tc.want {
					t.Errorf("%s: got %q, want %q", flag, got, tc.want)
				}
			}
		})
	}
}

func TestInvalidSelectors(t *testing.T) {
	for _, value := range []string{"a=b=c", "a b", "a in b", "a in (b", "a=*b", "a:b:c", "-=x"} {
		for _, flag := range []string{"--namespace-selector", "--resource-label-selector"} {
			_, err := parse(t, nil, flag+"="+value)
			if err == nil || !strings.HasPrefix(err.Error(), flag+"="+value+" is not a label selector: write key=value") {
				t.Errorf("%s=%s: %v", flag, value, err)
			}
		}
	}
}

func TestNamespacesAreSelectedOnlyWhereAllAreWatched(t *testing.T) {
	args := []string{"--namespaces-to-ignore= a ,b,a,,", "--namespace-selector=team", "--resource-label-selector=team"}
	cfg, err := parse(t, nil, args...)
	if err != nil || !slices.Equal(cfg.Selectors.NamespacesToIgnore, []string{"a", "b"}) || cfg.Selectors.Namespaces == nil || len(cfg.Warnings) > 0 {
		t.Errorf("all: %+v, %v, %q", cfg.Selectors, err, cfg.Warnings)
	}
	for about, tc := range map[string]struct {
		env  map[string]string
		args []string
	}{
		"by a flag":        {nil, []string{"--namespaces=x"}},
		"by a environment": {map[string]string{"KUBERNETES_NAMESPACE": "x"}, nil},
	} {
		t.Run(about, func(t *testing.T) {
			cfg, err := parse(t, tc.env, append(tc.args, args...)...)
			if err != nil || cfg.Selectors.NamespacesToIgnore != nil || cfg.Selectors.Namespaces != nil || cfg.Selectors.Resources == nil {
				t.Errorf("%+v, %v", cfg.Selectors, err)
			}
			want := []string{"--namespaces-to-ignore has no effect: it applies only if all namespaces are watched", "--namespace-selector has no effect: it applies only if all namespaces are watched"}
			if !slices.EqualFunc(cfg.Warnings, want, strings.HasPrefix) {
				t.Errorf("warned: %q", cfg.Warnings)
			}
		})
	}
}
