package policy

import (
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
)

func TestASourceOfAnotherNamespaceNeedsConsent(t *testing.T) {
	names := annotations.DefaultNames()
	allow := func(text string) source.Annotations {
		from, _ := annotations.ReadAllowFrom(map[string]string{annotations.AllowFromKey: text})
		return source.Annotations{AllowFrom: from}
	}
	ignored, unselected, matching := allow("shop"), allow("shop"), allow("bank")
	ignored.Ignore, unselected.Unselected, matching.Match, matching.Labels = true, true, true, source.AnyLabels()
	hidden := allow("bank")
	hidden.Ignore, hidden.Unselected = true, true
	for name, tc := range map[string]struct {
		own    map[string]string
		key    string
		ann    source.Annotations
		refers bool
		want   Rule
	}{
		"named and allowed":                     {map[string]string{names.ConfigMap: "infra/ca"}, "infra/ca", allow("shop"), false, RuleNamed},
		"named and not allowed":                 {map[string]string{names.ConfigMap: "infra/ca"}, "infra/ca", source.Annotations{}, false, RuleNoConsent},
		"named and another namespace allowed":   {map[string]string{names.ConfigMap: "infra/ca"}, "infra/ca", allow("bank, shop-*"), false, RuleNoConsent},
		"allowed and not named":                 {map[string]string{names.ConfigMap: "infra/cb"}, "infra/ca", allow("shop"), false, RuleNoConsent},
		"named for another kind":                {map[string]string{names.Secret: "infra/ca"}, "infra/ca", allow("shop"), false, RuleNoConsent},
		"consent that the workload forges":      {map[string]string{names.ConfigMap: "infra/ca", annotations.AllowFromKey: "shop"}, "infra/ca", allow("bank"), false, RuleNoConsent},
		"an expression that would match":        {map[string]string{names.ConfigMap: "infra.ca,.*"}, "infra/ca", allow("shop"), false, RuleNoConsent},
		"auto, even if the template refers":     {map[string]string{names.Auto: "true"}, "infra/ca", allow("shop"), true, RuleNoConsent},
		"search and match":                      {map[string]string{names.Search: "true"}, "infra/ca", matching, true, RuleNoConsent},
		"selected by its labels":                {map[string]string{annotations.Sources: "a=b"}, "infra/ca", matching, false, RuleNoConsent},
		"ignored, which only its owner may see": {map[string]string{names.ConfigMap: "infra/ca"}, "infra/ca", hidden, false, RuleNoConsent},
		"allowed and ignored":                   {map[string]string{names.ConfigMap: "infra/ca"}, "infra/ca", ignored, false, RuleIgnored},
		"allowed and not selected":              {map[string]string{names.ConfigMap: "infra/ca"}, "infra/ca", unselected, false, RuleUnselected},
		"consent for the source of that name":   {map[string]string{names.ConfigMap: "infra/ca"}, "ca", allow("shop"), false, RuleNoEntryMatches},
		"its own namespace":                     {map[string]string{names.ConfigMap: "shop/ca"}, "ca", allow("shop"), true, RuleNoEntryMatches},
	} {
		t.Run(name, func(t *testing.T) {
			for _, all := range []bool{false, true} {
				p, _ := Parse(tc.own, nil, names)
				got := p.Verdict(source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: tc.key}, tc.ann, tc.refers, all)
				byFlag := all && got.Rule == RuleAutoAll
				if got.Rule != tc.want && !byFlag || got.Concerned != (got.Rule == RuleNamed || byFlag) {
					t.Errorf("all %t: %+v (%s)", all, got, got.Rule)
				}
			}
		})
	}
}
