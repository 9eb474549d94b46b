package policy_test

import (
	"testing"

	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
)

// No annotation is for ClusterTrustBundles alone, except for the one that excludes them.
func TestBundlesOfCertificates(t *testing.T) {
	const exclude = "reroll.dev/exclude-cluster-trust-bundles"
	company := source.LocalKey{Kind: source.ClusterTrustBundle, Name: "company"}
	signed := source.LocalKey{Kind: source.ClusterTrustBundle, Name: "example.com/internal{stage=live}"}
	for name, tc := range map[string]struct {
		own    values
		bundle source.LocalKey
		match  bool
		all    bool
		want   policy.Rule
	}{
		"auto":                                {values{auto: "true"}, company, false, false, policy.RuleAuto},
		"auto, by signer":                     {values{auto: "true"}, signed, false, false, policy.RuleAuto},
		"all":                                 {nil, company, false, true, policy.RuleAutoAll},
		"auto false":                          {values{auto: "false"}, company, false, true, policy.RuleOptedOut},
		"auto for another kind":               {values{configMapAuto: "true"}, company, false, false, policy.RuleNotOptedIn},
		"one kind opts out of all":            {values{configMapAuto: "false"}, company, false, true, policy.RuleAutoAll},
		"every kind opts out of all":          {values{configMapAuto: "false", secretAuto: "false", spcAuto: "false"}, company, false, true, policy.RuleOptedOut},
		"every kind opts out, but auto":       {values{configMapAuto: "false", secretAuto: "false", spcAuto: "false", auto: "true"}, company, false, true, policy.RuleAuto},
		"search and match":                    {values{search: "true"}, company, true, false, policy.RuleSearch},
		"search without match":                {values{search: "true"}, company, false, false, policy.RuleNoMatchAnnotation},
		"excluded by name":                    {values{auto: "true", exclude: "company"}, company, false, false, policy.RuleExcluded},
		"excluded by signer":                  {values{auto: "true", exclude: "other,example.com/internal"}, signed, false, false, policy.RuleExcluded},
		"another one is excluded":             {values{auto: "true", exclude: "example.com/other"}, signed, false, false, policy.RuleAuto},
		"a Secret of this name is excluded":   {values{auto: "true", secretNot: "company"}, company, false, false, policy.RuleAuto},
		"a list of ConfigMaps with this name": {values{configMapList: "company"}, company, false, false, policy.RuleNotOptedIn},
	} {
		t.Run(name, func(t *testing.T) {
			p, mistakes := parse(tc.own, nil)
			if len(mistakes) != 0 {
				t.Errorf("mistakes: %v", mistakes)
			}
			if got := p.Verdict(tc.bundle.In("shop"), source.Annotations{Match: tc.match}, true, tc.all); got.Rule != tc.want {
				t.Errorf("%s, want %s", got.Rule, tc.want)
			}
		})
	}
}
