package notice

import (
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
)

func TestSourcesThatDoNotExist(t *testing.T) {
	missing := func(name string, properties string) reload.MissingSource {
		kind := source.ConfigMap
		if strings.Contains(properties, "secret") {
			kind = source.Secret
		}
		return reload.MissingSource{
			Key:        source.Key{Kind: kind, Namespace: "shop", Name: name},
			Referenced: strings.Contains(properties, "referenced"), Deleted: strings.Contains(properties, "deleted"), Reloads: strings.Contains(properties, "reloads"),
		}
	}
	expression := func(kind source.Kind, text string) policy.NamedSource {
		return policy.NamedSource{Kind: kind, Text: text, Expression: true}
	}
	type lacks struct {
		sources   []reload.MissingSource
		unmatched []policy.NamedSource
	}
	for about, tc := range map[string]struct {
		lacks lacks
		want  string
	}{
		"one that the template references was deleted": {
			lacks{sources: []reload.MissingSource{missing("app", "referenced deleted reloads")}},
			"ConfigMap shop/app was deleted; new Pods of this Deployment cannot start, and existing Pods keep its data. If it is created with other data, Reroll reloads this Deployment",
		},
		"two were deleted, and deletions reload": {
			lacks{sources: []reload.MissingSource{missing("app", "referenced deleted"), missing("db", "secret referenced deleted")}},
			"ConfigMap shop/app and Secret shop/db were deleted; new Pods of this Deployment cannot start, and existing Pods keep their data",
		},
		"one that the annotations name was deleted": {
			lacks{sources: []reload.MissingSource{missing("app", "deleted reloads")}},
			"ConfigMap shop/app was deleted; the annotations of this Deployment name it. If it is created with other data, Reroll reloads this Deployment",
		},
		"one that the template references never existed": {
			lacks{sources: []reload.MissingSource{missing("db", "secret referenced")}},
			"Secret shop/db does not exist; new Pods of this Deployment cannot start. Check the spelling, or create it: Reroll watches for it",
		},
		"two that the annotations name never existed": {
			lacks{sources: []reload.MissingSource{missing("my.config", ""), missing("db", "secret")}},
			"ConfigMap shop/my.config and Secret shop/db do not exist; the annotations of this Deployment name them. Check the spelling, or create them: Reroll watches for them",
		},
		"one was deleted, another never existed": {
			lacks{sources: []reload.MissingSource{missing("a", "referenced"), missing("b", "referenced deleted")}},
			"ConfigMap shop/b was deleted; new Pods of this Deployment cannot start, and existing Pods keep its data. " +
				"ConfigMap shop/a does not exist; new Pods of this Deployment cannot start. Check the spelling, or create it: Reroll watches for it",
		},
		"an expression matches none": {
			lacks{unmatched: []policy.NamedSource{expression(source.ConfigMap, "app-.*"), expression(source.Secret, strings.Repeat("x", 4000)+".*")}},
			"In namespace shop, 'app-.*' matches no ConfigMap and '" + strings.Repeat("x", 100) + "…' matches no Secret. Check the spelling, or create it: Reroll watches for it",
		},
	} {
		t.Run(about, func(t *testing.T) {
			if n := Missing(web(), tc.lacks.sources, tc.lacks.unmatched); n.Text != tc.want || n.Reason != "SourceMissing" || !n.Warning {
				t.Errorf("got %+v, want %q", n, tc.want)
			}
		})
	}
}
