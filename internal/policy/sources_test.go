package policy_test

import (
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
)

func TestASelectorSelectsSourcesThatNothingReferences(t *testing.T) {
	grafana, other := source.LabelsOf(map[string]string{"plugins": "grafana"}), source.LabelsOf(map[string]string{"plugins": "loki"})
	const text = "plugins=grafana"
	for name, tc := range map[string]struct {
		own, template values
		kind          source.Kind
		ann           source.Annotations
		refers        bool
		want          policy.Rule
	}{
		"selected":                        {own: values{annotations.Sources: text}, ann: source.Annotations{Labels: grafana}, want: policy.RuleSelected},
		"a Secret":                        {own: values{annotations.Sources: text}, kind: source.Secret, ann: source.Annotations{Labels: grafana}, want: policy.RuleSelected},
		"a SecretProviderClass":           {own: values{annotations.Sources: text}, kind: source.SecretProviderClass, ann: source.Annotations{Labels: grafana}, want: policy.RuleNotOptedIn},
		"on the pod template":             {template: values{annotations.Sources: text}, ann: source.Annotations{Labels: grafana}, want: policy.RuleSelected},
		"the workload has another one":    {own: values{annotations.Sources: "a=b"}, template: values{annotations.Sources: text}, ann: source.Annotations{Labels: grafana}, want: policy.RuleLabelsDiffer},
		"the workload has an invalid one": {own: values{annotations.Sources: "a=b=c"}, template: values{annotations.Sources: text}, ann: source.Annotations{Labels: grafana}, want: policy.RuleNotOptedIn},
		"auto on the template still counts": {own: values{annotations.Sources: text}, template: values{auto: "true"}, ann: source.Annotations{Labels: other}, refers: true,
			want: policy.RuleAuto},
		"other labels":                    {own: values{annotations.Sources: text}, ann: source.Annotations{Labels: other}, want: policy.RuleLabelsDiffer},
		"other labels, and referenced":    {own: values{annotations.Sources: text}, ann: source.Annotations{Labels: other}, refers: true, want: policy.RuleLabelsDiffer},
		"labels that are unknown":         {own: values{annotations.Sources: text}, want: policy.RuleLabelsDiffer},
		"it opts out of auto":             {own: values{annotations.Sources: text, auto: "false"}, ann: source.Annotations{Labels: grafana}, want: policy.RuleSelected},
		"named, too":                      {own: values{annotations.Sources: text, configMapList: "cfg"}, ann: source.Annotations{Labels: grafana}, want: policy.RuleNamed},
		"excluded":                        {own: values{annotations.Sources: text, configMapNot: "cfg"}, ann: source.Annotations{Labels: grafana}, want: policy.RuleExcluded},
		"ignored":                         {own: values{annotations.Sources: text}, ann: source.Annotations{Labels: grafana, Ignore: true}, want: policy.RuleIgnored},
		"not selected for the controller": {own: values{annotations.Sources: text}, ann: source.Annotations{Labels: grafana, Unselected: true}, want: policy.RuleUnselected},
		"searched, and no match":          {own: values{annotations.Sources: text, search: "true"}, ann: source.Annotations{Labels: other}, refers: true, want: policy.RuleNoMatchAnnotation},
	} {
		t.Run(name, func(t *testing.T) {
			kind := tc.kind
			if kind == 0 {
				kind = source.ConfigMap
			}
			parsed, _ := parse(tc.own, tc.template)
			got := parsed.Verdict(source.Key{Kind: kind, Namespace: "shop", Name: "cfg"}, tc.ann, tc.refers, false)
			if got.Rule != tc.want {
				t.Errorf("got %s, want %s", got.Rule, tc.want)
			}
			if got.Rule == policy.RuleSelected && got.Entry != text {
				t.Errorf("the entry is %q", got.Entry)
			}
		})
	}
}

func TestAMistakeInASelectorHarmsNothingElse(t *testing.T) {
	for text, want := range map[string]string{"": "is empty", "a=b=c": "not a label selector", strings.Repeat("a", 3000): "characters"} {
		parsed, mistakes := parse(values{annotations.Sources: text, auto: "true"}, nil)
		if len(mistakes) != 1 || !strings.Contains(mistakes[0].String(), want) {
			t.Errorf("%.10q: %v", text, mistakes)
		}
		if !parsed.OptedIn(false) || parsed.Selector() != nil {
			t.Errorf("%.10q is used, or auto is not", text)
		}
	}
	if parsed, _ := parse(values{annotations.Sources: ""}, nil); parsed.OptedIn(false) {
		t.Error("an empty selector opts in")
	}
}

func TestAnotherSelectorSelectsMoreThanBefore(t *testing.T) {
	a, _ := parse(values{annotations.Sources: "a=b, c"}, nil)
	reworded, _ := parse(values{annotations.Sources: "c,a==b"}, nil)
	b, _ := parse(values{annotations.Sources: "a=c"}, nil)
	none, _ := parse(nil, nil)
	for name, tc := range map[string]struct {
		now, before policy.Policy
		want        bool
	}{
		"the first one": {a, none, true}, "another": {b, a, true}, "none any more": {none, a, false}, "other words": {reworded, a, false},
	} {
		if got := tc.now.Widens(tc.before, false); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
		if got := tc.now.SameSources(tc.before); got != (name == "other words") {
			t.Errorf("%s: the same sources: %t", name, got)
		}
	}
	if below := (policy.Policy{}).Over(a); below.Selector() == nil {
		t.Error("the selector of the object with the template is lost")
	}
}

func TestTextsOfAPolicyShowWhatElseDecides(t *testing.T) {
	texts := func(own values, all bool) string {
		parsed, _ := parse(own, nil)
		return strings.Join(parsed.Texts(all), "|")
	}
	base := texts(values{annotations.Sources: "a=b"}, false)
	seen := map[string]bool{base: true}
	for _, own := range []values{
		{annotations.Sources: "a=c"}, {annotations.Sources: "a=b", configMapList: "x"}, {annotations.Sources: "a=b", configMapList: "x,y"},
		{annotations.Sources: "a=b", configMapNot: "x"}, {annotations.Sources: "a=b", auto: "true"}, {annotations.Sources: "a=b", search: "true"},
	} {
		text := texts(own, false)
		if seen[text] {
			t.Errorf("%v is like another one", own)
		}
		seen[text] = true
	}
	if texts(values{annotations.Sources: "a=b"}, true) == base {
		t.Error("that all are opted in is like that none is")
	}
	// The same sources are selected, whichever opts in.
	namespace, _ := policy.ParseNamespace(values{annotations.AutoOfNamespace: "true"}, annotations.DefaultNames())
	plain, _ := parse(values{annotations.Sources: "a=b"}, nil)
	plain = plain.Under(namespace)
	byFlag, byNamespace := texts(values{annotations.Sources: "a=b"}, true), strings.Join(plain.Texts(false), "|")
	if own := texts(values{annotations.Sources: "a=b", auto: "true"}, false); byNamespace != byFlag || own != byFlag {
		t.Errorf("opted in by the flag, %q; by the namespace, %q; by an annotation, %q", byFlag, byNamespace, own)
	}
	if texts(values{auto: "true"}, false) != "" {
		t.Error("a policy without a selector has texts")
	}
}
