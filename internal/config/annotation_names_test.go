package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/internal/annotations"
)

func TestAnnotationsKeepTheirNamesUnlessRenamed(t *testing.T) {
	cfg, err := parse(t, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(annotations.DefaultNames(), cfg.Names); diff != "" {
		t.Error(diff)
	}
}

func TestEveryFlagRenamesItsAnnotation(t *testing.T) {
	for flag, name := range map[string]func(*annotations.Names) *string{
		"configmap-annotation":             func(n *annotations.Names) *string { return &n.ConfigMap },
		"secret-annotation":                func(n *annotations.Names) *string { return &n.Secret },
		"auto-annotation":                  func(n *annotations.Names) *string { return &n.Auto },
		"configmap-auto-annotation":        func(n *annotations.Names) *string { return &n.ConfigMapAuto },
		"secret-auto-annotation":           func(n *annotations.Names) *string { return &n.SecretAuto },
		"auto-search-annotation":           func(n *annotations.Names) *string { return &n.Search },
		"search-match-annotation":          func(n *annotations.Names) *string { return &n.Match },
		"ignore-annotation":                func(n *annotations.Names) *string { return &n.Ignore },
		"pause-deployment-annotation":      func(n *annotations.Names) *string { return &n.PausePeriod },
		"pause-deployment-time-annotation": func(n *annotations.Names) *string { return &n.PausedAt },
	} {
		t.Run(flag, func(t *testing.T) {
			cfg, err := parse(t, nil, "--"+flag, " Example.org/Reload ")
			if err != nil {
				t.Fatal(err)
			}
			want := annotations.DefaultNames()
			*name(&want) = "Example.org/Reload"
			if diff := cmp.Diff(want, cfg.Names); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEveryMistakeAboutAnnotationsIsNamed(t *testing.T) {
	const twice = "has the same key, and one annotation cannot have both meanings; set another key"
	for args, want := range map[string][]string{
		"--auto-annotation=":                                              {"--auto-annotation is empty: set an annotation key, such as reloader.stakater.com/auto"},
		"--ignore-annotation=a/b/c":                                       {"--ignore-annotation=a/b/c is not an annotation key: write a key such as"},
		"--ignore-annotation=a_b/c":                                       {"--ignore-annotation=a_b/c is not an annotation key: write a key such as"},
		"--auto-annotation=x --secret-annotation=x":                       {"--auto-annotation=x: --secret-annotation " + twice},
		"--auto-annotation=x --ignore-annotation=x --secret-annotation=x": {"--auto-annotation=x: --secret-annotation " + twice, "--ignore-annotation=x: --secret-annotation " + twice},
		"--auto-annotation=reloader.stakater.com/search":                  {"--auto-search-annotation=reloader.stakater.com/search: --auto-annotation " + twice},
		"--auto-annotation=reroll.dev/ledger":                             {"--auto-annotation=reroll.dev/ledger: the controller uses this key for another purpose"},
		"--auto-annotation=reloader.stakater.com/last-reloaded-from":      {"--auto-annotation=reloader.stakater.com/last-reloaded-from: the controller uses this key for another purpose"},
		// Two flags that swap their names are still different.
		"--auto-annotation=reloader.stakater.com/search --auto-search-annotation=reloader.stakater.com/auto": nil,
	} {
		t.Run(args, func(t *testing.T) {
			_, err := parse(t, nil, strings.Fields(args)...)
			var lines []string
			if err != nil {
				lines = strings.Split(err.Error(), "\n")
			}
			if len(lines) != len(want) {
				t.Fatalf("got %d mistakes, want %d:\n%v", len(lines), len(want), err)
			}
			for i := range want {
				if !strings.HasPrefix(lines[i], want[i]) {
					t.Errorf("mistake %d: %s\nwant it to begin with: %s", i+1, lines[i], want[i])
				}
			}
		})
	}
}
