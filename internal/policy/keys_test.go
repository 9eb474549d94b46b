package policy_test

import (
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
)

func TestWhichKeysCount(t *testing.T) {
	cm := source.LocalKey{Kind: source.ConfigMap, Name: "app"}
	used := source.OnlyKeys([]string{"level"})
	for about, tc := range map[string]struct {
		own, template, namespace string
		key                      source.LocalKey
		used                     *source.Keys
		rule                     policy.Rule
		byDefault                policy.KeyMode
		want                     string
		cause                    policy.KeyCause
	}{
		"by default":                       {used: used, want: "all keys: --keys"},
		"the flag":                         {used: used, byDefault: policy.KeysUsed, want: "level: --keys", cause: policy.KeysOfTemplate},
		"the namespace":                    {namespace: "used", used: used, want: "level: reroll.dev/keys on the namespace", cause: policy.KeysOfTemplate},
		"the namespace counts all":         {namespace: "all", used: used, byDefault: policy.KeysUsed, want: "all keys: reroll.dev/keys on the namespace"},
		"a list on the namespace":          {namespace: "configmap/app=x", used: used, want: "all keys: --keys"},
		"the template":                     {template: "used", namespace: "all", used: used, want: "level: reroll.dev/keys on the pod template", cause: policy.KeysOfTemplate},
		"the workload":                     {own: "all", template: "used", namespace: "used", used: used, want: "all keys: reroll.dev/keys on the workload"},
		"a mistake counts all":             {own: "usde", namespace: "used", byDefault: policy.KeysUsed, used: used, want: "all keys: reroll.dev/keys on the workload"},
		"an empty one has no effect":       {own: "", template: " ", namespace: "used", used: used, want: "level: reroll.dev/keys on the namespace", cause: policy.KeysOfTemplate},
		"a list":                           {own: "configmap/app=a,!b", used: used, want: "a: reroll.dev/keys on the workload", cause: policy.KeysListed},
		"a list of another source":         {own: "configmap/other=a", used: used, want: "all keys: --keys"},
		"a list, and the namespace":        {own: "configmap/other=a", namespace: "used", used: used, want: "level: reroll.dev/keys on the namespace", cause: policy.KeysOfTemplate},
		"a list of a Secret of that name":  {own: "secret/app=a", used: used, want: "all keys: --keys"},
		"used, and a list":                 {own: "used,configmap/other=a", used: used, want: "level: reroll.dev/keys on the workload", cause: policy.KeysOfTemplate},
		"all, and a list":                  {own: "all,configmap/other=a", namespace: "used", used: used, want: "all keys: reroll.dev/keys on the workload"},
		"named":                            {own: "used", used: used, rule: policy.RuleNamed, want: "all keys: reroll.dev/keys on the workload", cause: policy.KeysNamed},
		"selected by labels":               {own: "used", used: used, rule: policy.RuleSelected, want: "all keys: reroll.dev/keys on the workload", cause: policy.KeysSelected},
		"named and listed":                 {own: "configmap/app=a", used: used, rule: policy.RuleNamed, want: "a: reroll.dev/keys on the workload", cause: policy.KeysListed},
		"a whole source":                   {own: "used", want: "all keys: reroll.dev/keys on the workload", cause: policy.KeysOfTemplate},
		"the list twice":                   {own: "configmap/app=a configmap/app=!b,c", used: used, want: "a, c: reroll.dev/keys on the workload", cause: policy.KeysListed},
		"a SecretProviderClass":            {own: "used", key: source.LocalKey{Kind: source.SecretProviderClass, Name: "app"}, used: used, want: "all keys: "},
		"a ClusterTrustBundle":             {own: "used", key: source.LocalKey{Kind: source.ClusterTrustBundle, Name: "app"}, used: used, want: "all keys: "},
		"the template of a broken one":     {own: "=", template: "used", used: used, want: "all keys: reroll.dev/keys on the workload"},
		"a list on the template":           {template: "configmap/app=a", used: used, want: "a: reroll.dev/keys on the pod template", cause: policy.KeysListed},
		"the own one hides the template's": {own: "configmap/other=a", template: "configmap/app=a", used: used, want: "all keys: --keys"},
	} {
		t.Run(about, func(t *testing.T) {
			of := func(text string) values {
				if text == "" && !strings.HasPrefix(about, "an empty one") {
					return nil
				}
				return values{annotations.Keys: text}
			}
			namespace, _ := policy.ParseNamespace(of(tc.namespace), annotations.DefaultNames())
			parsed, _ := policy.Parse(of(tc.own), of(tc.template), annotations.DefaultNames())
			parsed = parsed.Under(namespace)
			key := tc.key
			if key == (source.LocalKey{}) {
				key = cm
			}
			rule := parsed.KeyRule()
			got := rule.Of(key, tc.used, tc.rule, tc.byDefault)
			if text := got.Keys.String() + ": " + got.SetBy; text != tc.want || got.Cause != tc.cause {
				t.Errorf("%s, cause %d; want %s, cause %d", text, got.Cause, tc.want, tc.cause)
			}
			if got.Keys != nil && !rule.Restricts(tc.byDefault) {
				t.Error("the rule does not restrict keys")
			}
		})
	}
}

func TestAMistakeInAListOfKeysIsReported(t *testing.T) {
	for text, want := range map[string]string{
		"usde":      `cannot be read, so all keys count: "usde" belongs to no source; write "used", "all", or a list`,
		"app=level": `"app" is neither configmap/NAME nor secret/NAME`,
		"":          `has no effect; write "used", "all", or a list such as "configmap/app=logging.yaml,!banner", or remove the annotation`,
	} {
		parsed, mistakes := parse(values{annotations.Keys: text, auto: "true"}, nil)
		if len(mistakes) != 1 || !strings.Contains(mistakes[0].String(), want) || !parsed.OptedIn(false) {
			t.Errorf("%q: %v", text, mistakes)
		}
	}
	if _, mistakes := policy.ParseNamespace(values{annotations.Keys: "configmap/app=a"}, annotations.DefaultNames()); len(mistakes) != 1 || !strings.Contains(mistakes[0].String(), `has no effect on a namespace; write "used" or "all"`) {
		t.Errorf("a list on a namespace: %v", mistakes)
	}
}

func TestOtherKeysAreAnotherPolicyWithTheSameSources(t *testing.T) {
	a, _ := parse(values{annotations.Keys: "used", auto: "true"}, nil)
	b, _ := parse(values{annotations.Keys: "configmap/app=a", auto: "true"}, nil)
	if a.Equal(b) || !a.SameSources(b) || a.Widens(b, false) || b.Widens(a, false) {
		t.Error("another choice of keys must be another policy, and select the same sources")
	}
	again, _ := parse(values{annotations.Keys: "configmap/app=a", auto: "true"}, nil)
	if !b.Equal(again) {
		t.Error("an equal list is another policy")
	}
}
