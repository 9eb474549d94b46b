package policy_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
)

func TestVerdict(t *testing.T) {
	type situation struct {
		own, template values
		kind          source.Kind // a ConfigMap unless set
		ignored       bool
		matching      bool
		notReferred   bool
		all           bool
	}
	yes := func(rule policy.Rule) policy.Verdict { return policy.Verdict{Concerned: true, Rule: rule} }
	named := func(entry string) policy.Verdict {
		return policy.Verdict{Concerned: true, Rule: policy.RuleNamed, Entry: entry}
	}
	no := func(rule policy.Rule) policy.Verdict { return policy.Verdict{Rule: rule} }
	excluded := policy.Verdict{Rule: policy.RuleExcluded, Entry: "web"}

	// The source is called web.
	for name, tc := range map[string]struct {
		situation
		want policy.Verdict
	}{
		"no annotations":                                      {situation{}, no(policy.RuleNotOptedIn)},
		"ignore beats a named entry":                          {situation{own: values{configMapList: "web"}, ignored: true}, no(policy.RuleIgnored)},
		"ignore beats exclude":                                {situation{own: values{configMapNot: "web"}, ignored: true}, no(policy.RuleIgnored)},
		"ignore beats auto-reload-all":                        {situation{ignored: true, all: true}, no(policy.RuleIgnored)},
		"exclude beats a named entry":                         {situation{own: values{configMapList: "web", configMapNot: "a, web"}}, excluded},
		"exclude beats auto":                                  {situation{own: values{auto: "true", configMapNot: " web "}}, excluded},
		"exclude on the template":                             {situation{own: values{auto: "true"}, template: values{configMapNot: "web"}}, excluded},
		"exclude on the workload, not the other":              {situation{own: values{auto: "true", configMapNot: "a"}, template: values{configMapNot: "web"}}, yes(policy.RuleAuto)},
		"an empty exclude on the workload":                    {situation{own: values{auto: "true", configMapNot: ""}, template: values{configMapNot: "web"}}, yes(policy.RuleAuto)},
		"exclude takes no expressions":                        {situation{own: values{auto: "true", configMapNot: "w.*"}}, yes(policy.RuleAuto)},
		"exclude of another kind":                             {situation{own: values{auto: "true", secretNot: "web"}}, yes(policy.RuleAuto)},
		"exclude alone opts in for nothing":                   {situation{own: values{configMapNot: "a"}}, no(policy.RuleNotOptedIn)},
		"exclude of a Secret":                                 {situation{own: values{auto: "true", secretNot: "web"}, kind: source.Secret}, excluded},
		"exclude of a SecretProviderClass":                    {situation{own: values{auto: "true", spcNot: "web"}, kind: source.SecretProviderClass}, excluded},
		"a name":                                              {situation{own: values{configMapList: "a, web"}}, named("web")},
		"a name that nothing refers to":                       {situation{own: values{configMapList: "web"}, notReferred: true}, named("web")},
		"a name of another kind":                              {situation{own: values{secretList: "web"}}, no(policy.RuleNotOptedIn)},
		"a name on the list of Secrets":                       {situation{own: values{secretList: "web"}, kind: source.Secret}, named("web")},
		"a name on the list of classes":                       {situation{own: values{spcList: "web"}, kind: source.SecretProviderClass}, named("web")},
		"a name beats auto false":                             {situation{own: values{configMapList: "web", auto: "false"}}, named("web")},
		"a name beats the typed auto false":                   {situation{own: values{configMapList: "web", configMapAuto: "false"}, all: true}, named("web")},
		"an expression, as it was written":                    {situation{own: values{configMapList: "x, w[a-e]b "}}, named("w[a-e]b")},
		"an expression must match to the end":                 {situation{own: values{configMapList: "we?"}}, no(policy.RuleNoEntryMatches)},
		"an expression must match from the start":             {situation{own: values{configMapList: "e?b"}}, no(policy.RuleNoEntryMatches)},
		"each side of an alternative is whole":                {situation{own: values{configMapList: "w|b"}}, no(policy.RuleNoEntryMatches)},
		"the longer side of an alternative":                   {situation{own: values{configMapList: "w|we|web"}}, named("w|we|web")},
		"an expression that would rather be short":            {situation{own: values{configMapList: "w.*?"}}, named("w.*?")},
		"an expression with anchors of its own":               {situation{own: values{configMapList: "^web$"}}, named("^web$")},
		"an expression that starts a quotation":               {situation{own: values{configMapList: `\Qweb`}}, named(`\Qweb`)},
		"the first entry that matches is told":                {situation{own: values{configMapList: "a,w.*,web"}}, named("w.*")},
		"a bad expression before a name":                      {situation{own: values{configMapList: "(,web"}}, named("web")},
		"nothing but bad expressions":                         {situation{own: values{configMapList: "("}}, no(policy.RuleNotOptedIn)},
		"a list without this source, but auto":                {situation{own: values{configMapList: "a", auto: "true"}}, yes(policy.RuleAuto)},
		"a list and search":                                   {situation{own: values{configMapList: "a", search: "true"}, matching: true}, yes(policy.RuleSearch)},
		"a list and auto, but no reference":                   {situation{own: values{configMapList: "a", auto: "true"}, notReferred: true}, no(policy.RuleNoEntryMatches)},
		"a list is an opt-in beside all":                      {situation{own: values{configMapList: "a"}, all: true}, yes(policy.RuleAutoAll)},
		"search and match":                                    {situation{own: values{search: "true"}, matching: true}, yes(policy.RuleSearch)},
		"search without match":                                {situation{own: values{search: "true"}}, no(policy.RuleNoMatchAnnotation)},
		"search and match without reference":                  {situation{own: values{search: "true"}, matching: true, notReferred: true}, no(policy.RuleNotReferred)},
		"match without search":                                {situation{matching: true}, no(policy.RuleNotOptedIn)},
		"search in another spelling":                          {situation{own: values{search: "1"}, matching: true}, no(policy.RuleNotOptedIn)},
		"search and match beat auto false":                    {situation{own: values{search: "true", auto: "false"}, matching: true}, yes(policy.RuleSearch)},
		"search is asked before auto":                         {situation{own: values{search: "true", auto: "true"}, matching: true}, yes(policy.RuleSearch)},
		"search without match, but auto":                      {situation{own: values{search: "true", auto: "true"}}, yes(policy.RuleAuto)},
		"auto":                                                {situation{own: values{auto: "true"}}, yes(policy.RuleAuto)},
		"auto in other spellings":                             {situation{own: values{auto: "1"}}, yes(policy.RuleAuto)},
		"auto without reference":                              {situation{own: values{auto: "true"}, notReferred: true}, no(policy.RuleNotReferred)},
		"auto on a Secret":                                    {situation{own: values{auto: "true"}, kind: source.Secret}, yes(policy.RuleAuto)},
		"typed auto":                                          {situation{own: values{configMapAuto: "true"}}, yes(policy.RuleTypedAuto)},
		"typed auto of another kind":                          {situation{own: values{secretAuto: "true"}}, no(policy.RuleNotOptedIn)},
		"typed auto on a Secret":                              {situation{own: values{secretAuto: "true"}, kind: source.Secret}, yes(policy.RuleTypedAuto)},
		"typed auto on a SecretProviderClass":                 {situation{own: values{spcAuto: "true"}, kind: source.SecretProviderClass}, yes(policy.RuleTypedAuto)},
		"auto beats typed auto false":                         {situation{own: values{auto: "true", configMapAuto: "false"}}, yes(policy.RuleAuto)},
		"typed auto beats auto false":                         {situation{own: values{auto: "false", configMapAuto: "true"}}, yes(policy.RuleTypedAuto)},
		"auto that is no boolean":                             {situation{own: values{auto: "yes"}}, no(policy.RuleOptedOut)},
		"all":                                                 {situation{all: true}, yes(policy.RuleAutoAll)},
		"all without reference":                               {situation{all: true, notReferred: true}, no(policy.RuleNotReferred)},
		"auto false opts out of all":                          {situation{own: values{auto: "false"}, all: true}, no(policy.RuleOptedOut)},
		"typed auto false opts out of all":                    {situation{own: values{configMapAuto: "false"}, all: true}, no(policy.RuleOptedOut)},
		"typed auto false of another kind":                    {situation{own: values{secretAuto: "false"}, all: true}, yes(policy.RuleAutoAll)},
		"auto that is no boolean opts out of all":             {situation{own: values{auto: "yes"}, all: true}, no(policy.RuleOptedOut)},
		"an empty auto is none beside all":                    {situation{own: values{auto: ""}, all: true}, yes(policy.RuleAutoAll)},
		"an empty typed auto is none beside all":              {situation{own: values{configMapAuto: ""}, all: true}, yes(policy.RuleAutoAll)},
		"an empty auto is no opt-in":                          {situation{own: values{auto: ""}}, no(policy.RuleNotOptedIn)},
		"an empty search does not opt out of all":             {situation{own: values{search: ""}, all: true}, yes(policy.RuleAutoAll)},
		"auto on the template":                                {situation{template: values{auto: "true"}}, yes(policy.RuleAuto)},
		"a list on the template":                              {situation{template: values{configMapList: "web"}, notReferred: true}, named("web")},
		"search on the template":                              {situation{template: values{search: "true"}, matching: true}, yes(policy.RuleSearch)},
		"auto false on the template, beside all":              {situation{template: values{auto: "false"}, all: true}, no(policy.RuleOptedOut)},
		"the template loses to auto":                          {situation{own: values{auto: "false"}, template: values{auto: "true"}}, no(policy.RuleOptedOut)},
		"the template loses to typed auto":                    {situation{own: values{configMapAuto: "false"}, template: values{auto: "true"}}, no(policy.RuleOptedOut)},
		"the template loses to search":                        {situation{own: values{search: "false"}, template: values{auto: "true"}}, no(policy.RuleNotOptedIn)},
		"the template loses to a list":                        {situation{own: values{configMapList: "a"}, template: values{auto: "true"}}, no(policy.RuleNoEntryMatches)},
		"the template loses to an empty list":                 {situation{own: values{configMapList: ""}, template: values{auto: "true"}}, no(policy.RuleNotOptedIn)},
		"the template loses to an empty auto":                 {situation{own: values{auto: ""}, template: values{auto: "true"}}, no(policy.RuleNotOptedIn)},
		"the template loses to an empty search":               {situation{own: values{search: ""}, template: values{auto: "true"}}, no(policy.RuleNotOptedIn)},
		"a list of another kind leaves the template its say":  {situation{own: values{secretList: "a"}, template: values{auto: "true"}}, yes(policy.RuleAuto)},
		"typed auto of another kind leaves it as well":        {situation{own: values{secretAuto: "false"}, template: values{auto: "true"}}, yes(policy.RuleAuto)},
		"exclude leaves it as well":                           {situation{own: values{configMapNot: "a"}, template: values{auto: "true"}}, yes(policy.RuleAuto)},
		"settings leave it as well":                           {situation{own: values{settle: "1s", strategy: "restart"}, template: values{auto: "true"}}, yes(policy.RuleAuto)},
		"the template is taken whole, not key by key":         {situation{own: values{search: "true"}, template: values{configMapList: "web"}}, no(policy.RuleNoMatchAnnotation)},
		"what is no kind of source concerns nobody":           {situation{own: values{auto: "true", configMapList: "web"}, kind: 77, all: true}, no(policy.RuleOptedOut)},
		"what is no kind of source, with ignore":              {situation{own: values{auto: "true"}, kind: 77, ignored: true}, no(policy.RuleIgnored)},
		"a list of Secrets does not keep ConfigMaps from all": {situation{own: values{secretList: "a"}, all: true}, yes(policy.RuleAutoAll)},
	} {
		t.Run(name, func(t *testing.T) {
			policy, _ := parse(tc.own, tc.template)
			src := source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "web"}
			if tc.kind != 0 {
				src.Kind = tc.kind
			}
			got := policy.Verdict(src, source.Annotations{Match: tc.matching, Ignore: tc.ignored}, !tc.notReferred, tc.all)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", got.Rule, diff)
			}
		})
	}
}

func TestOptedIn(t *testing.T) {
	for name, tc := range map[string]struct {
		own       values
		want, all bool
	}{
		"no annotations":             {nil, false, true},
		"auto":                       {values{auto: "true"}, true, true},
		"auto false":                 {values{auto: "false"}, false, false},
		"typed auto":                 {values{spcAuto: "true"}, true, true},
		"typed auto false":           {values{spcAuto: "false"}, false, true},
		"every typed auto false":     {values{configMapAuto: "false", secretAuto: "false", spcAuto: "false"}, false, false},
		"search":                     {values{search: "true"}, true, true},
		"search, opted out":          {values{search: "true", auto: "false"}, true, true},
		"a list, opted out":          {values{secretList: "a", auto: "false"}, true, true},
		"an empty list, opted out":   {values{secretList: " ,", auto: "false"}, false, false},
		"a bad list, opted out":      {values{secretList: "(", auto: "false"}, false, false},
		"exclude is not an opt-in":   {values{secretNot: "a"}, false, true},
		"settings are not opting in": {values{settle: "1s", pausePeriod: "1m"}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			policy, _ := parse(tc.own, nil)
			if got := policy.OptedIn(false); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
			if got := policy.OptedIn(true); got != tc.all {
				t.Errorf("with auto-reload-all: got %v, want %v", got, tc.all)
			}
		})
	}
}

func TestRulesHaveDistinctTexts(t *testing.T) {
	seen := map[string]policy.Rule{}
	for rule := policy.RuleIgnored; rule <= policy.RuleNotOptedIn; rule++ {
		text := rule.String()
		if other, ok := seen[text]; ok || text == "" || strings.HasPrefix(text, "Rule(") {
			t.Errorf("rules %d and %d are both %q", rule, other, text)
		}
		seen[text] = rule
	}
	if got, want := policy.Rule(0).String(), "Rule(0)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
