package policy_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
)

const (
	auto          = "reloader.stakater.com/auto"
	configMapAuto = "configmap.reloader.stakater.com/auto"
	secretAuto    = "secret.reloader.stakater.com/auto"
	spcAuto       = "secretproviderclass.reloader.stakater.com/auto"
	search        = "reloader.stakater.com/search"
	configMapList = "configmap.reloader.stakater.com/reload"
	secretList    = "secret.reloader.stakater.com/reload"
	spcList       = "secretproviderclass.reloader.stakater.com/reload"
	configMapNot  = "configmaps.exclude.reloader.stakater.com/reload"
	secretNot     = "secrets.exclude.reloader.stakater.com/reload"
	spcNot        = "secretproviderclasses.exclude.reloader.stakater.com/reload"
	strategy      = "reloader.stakater.com/rollout-strategy"
	pausePeriod   = "deployment.reloader.stakater.com/pause-period"
	settle        = "reroll.dev/settle"
)

type values = map[string]string

func parse(own, template values) (policy.Policy, []annotations.Mistake) {
	return policy.Parse(own, template, annotations.DefaultNames())
}

func TestMistakes(t *testing.T) {
	for name, tc := range map[string]struct {
		own, template values
		want          []string
	}{
		"no annotations": {},
		"everything right": {own: values{
			auto: "T", configMapAuto: "0", secretAuto: "FALSE", spcAuto: "true", search: "false",
			configMapList: "a,b.*", secretList: "", spcList: ",", configMapNot: "a", secretNot: "b", spcNot: "c",
			strategy: "restart", pausePeriod: "5m", settle: "0s",
		}},
		"a boolean that is none": {
			own:  values{auto: "yes"},
			want: []string{`annotation reloader.stakater.com/auto has "yes": not a boolean and counts as false; write "true" or "false"`},
		},
		"an empty boolean": {
			own:  values{secretAuto: ""},
			want: []string{`annotation secret.reloader.stakater.com/auto has "": has no effect; write "true" or "false", or remove the annotation`},
		},
		"search in another spelling": {
			own:  values{search: "True"},
			want: []string{`annotation reloader.stakater.com/search has "True": counts as false; only "true" turns it on`},
		},
		"an empty search": {
			own:  values{search: ""},
			want: []string{`annotation reloader.stakater.com/search has "": counts as false; only "true" turns it on`},
		},
		"one bad expression among good ones": {
			own: values{configMapList: "a, b(, c"},
			want: []string{"annotation configmap.reloader.stakater.com/reload has \"b(\": not a regular expression " +
				"(error parsing regexp: missing closing ): `b(`); write a name, or an expression that matches the whole name"},
		},
		"expressions that are right only once they stand in parentheses": {
			own: values{configMapList: "a)|(?:b"},
			want: []string{"annotation configmap.reloader.stakater.com/reload has \"a)|(?:b\": not a regular expression " +
				"(error parsing regexp: unexpected ): `a)|(?:b`); write a name, or an expression that matches the whole name"},
		},
		"an expression among exclusions, which are names": {
			own: values{configMapNot: "web, noisy-.*,my.config"},
			want: []string{`annotation configmaps.exclude.reloader.stakater.com/reload has "noisy-.*": excludes nothing: ` +
				`it is not a valid name, and expressions do not work here; write names`},
		},
		"a name in upper case among exclusions of the pod template": {
			own:      values{configMapNot: "web"},
			template: values{configMapNot: "Web", secretNot: "DB"},
			want: []string{`annotation secrets.exclude.reloader.stakater.com/reload of the pod template has "DB": excludes nothing: ` +
				`it is not a valid name, and expressions do not work here; write names`},
		},
		"an unknown strategy": {
			own:  values{strategy: "Restart"},
			want: []string{`annotation reloader.stakater.com/rollout-strategy has "Restart": counts as "rollout"; write "rollout" or "restart"`},
		},
		"no time to pause": {
			own:  values{pausePeriod: "0s"},
			want: []string{`annotation deployment.reloader.stakater.com/pause-period has "0s": has no effect; write a duration above zero such as 5m`},
		},
		"a pause without unit": {
			own:  values{pausePeriod: "5"},
			want: []string{`annotation deployment.reloader.stakater.com/pause-period has "5": has no effect; write a duration above zero such as 5m`},
		},
		"a negative time to settle": {
			own:  values{settle: "-1s"},
			want: []string{`annotation reroll.dev/settle has "-1s": has no effect; write a duration of zero or more such as 3s`},
		},
		"a mistake in the pod template": {
			own:      values{configMapNot: "a"},
			template: values{auto: "on", settle: "soon"},
			want: []string{
				`annotation reloader.stakater.com/auto of the pod template has "on": not a boolean and counts as false; write "true" or "false"`,
				`annotation reroll.dev/settle of the pod template has "soon": has no effect; write a duration of zero or more such as 3s`,
			},
		},
		"a mistake in the pod template that nobody reads": {
			own:      values{auto: "true", settle: "1s"},
			template: values{auto: "on", settle: "soon", configMapList: "("},
		},
		"a mistake in both places, each read for another kind of source": {
			own:      values{configMapList: "a", auto: "x"},
			template: values{auto: "y"},
			want:     []string{`annotation reloader.stakater.com/auto has "x": not a boolean and counts as false; write "true" or "false"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, mistakes := parse(tc.own, tc.template)
			var got []string
			for _, mistake := range mistakes {
				got = append(got, mistake.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNamedEntries(t *testing.T) {
	for name, tc := range map[string]struct {
		list            string
		exact, patterns []string
	}{
		"empty":                           {"", nil, nil},
		"nothing but commas and spaces":   {" , ,,", nil, nil},
		"names":                           {"b, a,\tc ", []string{"b", "a", "c"}, nil},
		"names and expressions":           {"a,b.*,c,d|e", []string{"a", "c"}, []string{"b.*", "d|e"}},
		"a dot makes an expression":       {"app.yaml", nil, []string{"app.yaml"}},
		"bad expressions are left out":    {"a,[,b+", []string{"a"}, []string{"b+"}},
		"a comma ends an entry, always":   {"a{1,2}", nil, []string{"a{1", "2}"}},
		"the same name twice counts once": {"a,b,a", []string{"a", "b"}, nil},
		"the same expression twice":       {"b.*,a,b.*", []string{"a"}, []string{"b.*"}},
	} {
		t.Run(name, func(t *testing.T) {
			for kind, list := range map[source.Kind]string{
				source.ConfigMap: configMapList, source.Secret: secretList, source.SecretProviderClass: spcList,
			} {
				policy, _ := parse(values{list: tc.list}, nil)
				if diff := cmp.Diff([][]string{tc.exact, tc.patterns}, [][]string{policy.ExactNames(kind), policy.Patterns(kind)}); diff != "" {
					t.Errorf("%s: exact names, patterns (-want +got):\n%s", kind, diff)
				}
				for _, other := range []source.Kind{0, source.ConfigMap, source.Secret, source.SecretProviderClass} {
					if other != kind && len(policy.ExactNames(other))+len(policy.Patterns(other)) > 0 {
						t.Errorf("%s has entries from the list of %s", other, kind)
					}
				}
			}
		})
	}
}

func TestSettings(t *testing.T) {
	type settings struct {
		Settle, Pause       time.Duration
		SettleSet, PauseSet bool
		Rollout             string
	}
	for name, tc := range map[string]struct {
		own, template values
		want          settings
	}{
		"nothing set": {nil, nil, settings{Rollout: "rollout"}},
		"set on the workload": {
			values{settle: "3s", pausePeriod: "5m", strategy: "restart"}, nil,
			settings{Settle: 3 * time.Second, SettleSet: true, Pause: 5 * time.Minute, PauseSet: true, Rollout: "restart"},
		},
		"set on the pod template, though the workload has its own opt-in": {
			values{auto: "true"}, values{settle: "3s", pausePeriod: "5m", strategy: "restart"},
			settings{Settle: 3 * time.Second, SettleSet: true, Pause: 5 * time.Minute, PauseSet: true, Rollout: "restart"},
		},
		"each on its own, the workload first": {
			values{settle: "1s", strategy: "rollout"}, values{settle: "3s", pausePeriod: "5m", strategy: "restart"},
			settings{Settle: time.Second, SettleSet: true, Pause: 5 * time.Minute, PauseSet: true, Rollout: "rollout"},
		},
		"no quiet period at all": {
			values{settle: "0"}, nil, settings{SettleSet: true, Rollout: "rollout"},
		},
		"mistakes of the workload do not bring the template's value back": {
			values{settle: "x", pausePeriod: "-5m", strategy: ""}, values{settle: "3s", pausePeriod: "5m", strategy: "restart"},
			settings{Rollout: "rollout"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			policy, _ := parse(tc.own, tc.template)
			var got settings
			got.Settle, got.SettleSet = policy.Settle()
			got.Pause, got.PauseSet = policy.PausePeriod()
			got.Rollout = policy.RolloutStrategy().String()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPolicyFollowsRenamedAnnotations(t *testing.T) {
	names := annotations.DefaultNames()
	names.Auto, names.ConfigMap, names.PausePeriod = "example.com/auto", "example.com/list", "example.com/pause"
	policy, mistakes := policy.Parse(values{
		"example.com/list": "a", "example.com/pause": "1m", configMapList: "b", pausePeriod: "x", auto: "x",
	}, nil, names)
	if len(mistakes) > 0 {
		t.Errorf("got mistakes %v", mistakes)
	}
	if diff := cmp.Diff([]string{"a"}, policy.ExactNames(source.ConfigMap)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if period, ok := policy.PausePeriod(); !ok || period != time.Minute {
		t.Errorf("got %v, %v", period, ok)
	}
}

func FuzzParsePolicy(f *testing.F) {
	keys := []string{
		auto, configMapAuto, secretAuto, spcAuto, search, configMapList, secretList, spcList,
		configMapNot, secretNot, spcNot, strategy, pausePeriod, settle,
	}
	for _, value := range []string{
		"", "true", "a,b", "a.*,(", `\Qa`, "a)(b", "(?i)WEB", "((a{10}){10}){10}", "5m", "-1h", "restart", "\x00\xff", strings.Repeat("(", 2000), "a$^b", "(?m)^a$",
	} {
		f.Add(value, value, "web")
		f.Add("true", value, "web")
		f.Add(value, "", "")
	}
	f.Fuzz(func(t *testing.T, own, template, name string) {
		ownValues, templateValues := values{}, values{}
		for i, key := range keys {
			// Where a workload has all annotations, nothing else is ever read.
			if i%2 == len(own)%2 {
				ownValues[key] = own
			}
			templateValues[key] = template
		}
		for _, set := range [][2]values{{ownValues, templateValues}, {nil, templateValues}, {templateValues, nil}} {
			policy, mistakes := parse(set[0], set[1])
			for _, mistake := range mistakes {
				if mistake.Message == "" || set[0][mistake.Annotation] != "" && mistake.InTemplate {
					t.Errorf("got mistake %+v", mistake)
				}
			}
			if period, ok := policy.PausePeriod(); ok && period <= 0 {
				t.Errorf("paused for %v", period)
			}
			if period, ok := policy.Settle(); ok && period < 0 {
				t.Errorf("settles for %v", period)
			}
			for kind := range source.SecretProviderClass + 2 {
				checkVerdicts(t, policy, source.Key{Kind: kind, Name: name})
			}
		}
	})
}

// checkVerdicts looks at what must hold whatever the annotations are.
func checkVerdicts(t *testing.T, p policy.Policy, src source.Key) {
	t.Helper()
	for bits := range 16 {
		has := func(bit int) bool { return bits&bit != 0 }
		ann := source.Annotations{Match: has(1), Ignore: has(2)}
		refers, all := has(4), has(8)
		verdict := p.Verdict(src, ann, refers, all)
		switch {
		case strings.HasPrefix(verdict.Rule.String(), "Rule("):
			t.Errorf("no rule in %+v", verdict)
		case verdict.Concerned && !p.OptedIn(all):
			t.Errorf("%+v, but nothing could concern the workload", verdict)
		case verdict.Concerned && ann.Ignore:
			t.Errorf("%+v, but the source is to be ignored", verdict)
		case verdict.Concerned && !refers && verdict.Rule != policy.RuleNamed:
			t.Errorf("%+v, but nothing refers to the source", verdict)
		}
	}
}
