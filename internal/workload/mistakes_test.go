package workload

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
)

type texts = map[string]string

func TestMistakesOfWorkloads(t *testing.T) {
	names := annotations.DefaultNames()
	const (
		inTemplate = " of the pod template"
		meant      = `: does nothing. Did you mean `
		onSource   = "does nothing here; it belongs on the ConfigMap or Secret"
		beside     = "has no effect with reloader.stakater.com/auto, which covers all sources that the workload references"
	)
	for name, tc := range map[string]struct {
		kind          string
		own, template texts
		want          []string
	}{
		"all is well": {"Deployment", texts{names.Auto: "true", names.PausePeriod: "5m"}, texts{names.Search: "true"}, nil},
		"a typo": {
			"Deployment", texts{"reloader.stakater.com/atuo": "true"}, nil,
			[]string{`annotation reloader.stakater.com/atuo has "true"` + meant + names.Auto + "?"},
		},
		"a typo in the pod template": {
			"Deployment", nil, texts{"reloader.stakater.com/atuo": "true"},
			[]string{`annotation reloader.stakater.com/atuo` + inTemplate + ` has "true"` + meant + names.Auto + "?"},
		},
		"keys of users in the domain of Reroll": {
			"Deployment", texts{"reroll.dev/auto": "true", "reroll.dev/ignore": "true"}, texts{"reroll.dev/enabled": "yes"},
			[]string{
				`annotation reroll.dev/auto has "true": does nothing. Did you mean reloader.stakater.com/auto?`,
				`annotation reroll.dev/ignore has "true": does nothing. Did you mean reloader.stakater.com/ignore, which belongs on the ConfigMap or Secret?`,
				`annotation reroll.dev/enabled` + inTemplate + ` has "yes": does nothing. Did you mean reloader.stakater.com/auto?`,
			},
		},
		"the keys of Reroll": {
			"Job", texts{
				annotations.Ledger: "{}", annotations.Held: "true", annotations.StaysSuspended: "true", annotations.Replaces: "{}", annotations.Deletes: "a",
				annotations.Signed: "a", annotations.Run: "1", annotations.Settle: "1s",
			}, texts{annotations.Rolled: "1-1", annotations.Ledger: "{}", annotations.Run: "1"}, nil,
		},
		"a typo of what belongs elsewhere": {
			"Deployment", texts{"reloader.stakater.com/mach": "true"}, nil,
			[]string{`annotation reloader.stakater.com/mach has "true"` + meant + names.Match + ", which belongs on the ConfigMap or Secret?"},
		},
		"what belongs on a source": {
			"DaemonSet", texts{names.Match: "true"}, texts{names.Ignore: "yes"},
			[]string{`annotation reloader.stakater.com/match has "true": ` + onSource, `annotation reloader.stakater.com/ignore` + inTemplate + ` has "yes": ` + onSource},
		},
		"search alone": {"Deployment", texts{names.Search: "true"}, nil, nil},
		"search beside auto": {
			"Deployment", texts{names.Search: "true", names.Auto: "T"}, nil,
			[]string{`annotation reloader.stakater.com/search has "true": ` + beside},
		},
		"search beside auto in the pod template": {
			"Deployment", nil, texts{names.Search: "true", names.Auto: "true"},
			[]string{`annotation reloader.stakater.com/search` + inTemplate + ` has "true": ` + beside},
		},
		"search beside auto, for one kind of source": {
			"Deployment", texts{names.ConfigMap: "a"}, texts{names.Search: "true", names.Auto: "true"},
			[]string{`annotation reloader.stakater.com/search` + inTemplate + ` has "true": ` + beside},
		},
		"search beside auto where nobody looks":   {"Deployment", texts{names.Auto: "false"}, texts{names.Search: "true", names.Auto: "true"}, nil},
		"search beside auto in another place":     {"Deployment", texts{names.Search: "true"}, texts{names.Auto: "true"}, nil},
		"search beside auto that is off":          {"Deployment", texts{names.Search: "true", names.Auto: "false"}, nil, nil},
		"search beside auto for one kind":         {"Deployment", texts{names.Search: "true", names.ConfigMapAuto: "true"}, nil, nil},
		"a strategy and a pause where they count": {"Rollout", texts{names.RolloutStrategy: "restart"}, nil, nil},
		"a strategy that is none": {
			"Rollout", texts{names.RolloutStrategy: "canary"}, nil,
			[]string{`annotation reloader.stakater.com/rollout-strategy has "canary": counts as "rollout"; write "rollout" or "restart"`},
		},
		"a strategy on what is no Rollout": {
			"Deployment", texts{names.RolloutStrategy: "restart"}, nil,
			[]string{`annotation reloader.stakater.com/rollout-strategy has "restart": does nothing on a Deployment; it is for Argo Rollouts`},
		},
		"a strategy that is none, on what is no Rollout": {
			"StatefulSet", nil, texts{names.RolloutStrategy: "canary"},
			[]string{`annotation reloader.stakater.com/rollout-strategy` + inTemplate + ` has "canary": does nothing on a StatefulSet; it is for Argo Rollouts`},
		},
		"a pause in words": {
			"Deployment", texts{names.PausePeriod: "5 minutes"}, nil,
			[]string{`annotation deployment.reloader.stakater.com/pause-period has "5 minutes": has no effect; write a duration above zero such as 5m`},
		},
		"a pause below zero": {
			"Deployment", texts{names.PausePeriod: "-3s"}, nil,
			[]string{`annotation deployment.reloader.stakater.com/pause-period has "-3s": has no effect; write a duration above zero such as 5m`},
		},
		"a pause of what is no Deployment": {
			"Rollout", texts{names.PausePeriod: "5 minutes"}, nil,
			[]string{`annotation deployment.reloader.stakater.com/pause-period has "5 minutes": does nothing on a Rollout; it is for Deployments`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := New(kindNamed(tc.kind), &metav1.ObjectMeta{Annotations: tc.own}, nil,
				&corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: tc.template}}, names)
			var got []string
			for _, p := range w.Mistakes {
				got = append(got, p.String())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheMistakesOfOneObjectAreBounded(t *testing.T) {
	own := texts{}
	for letter := 'a'; letter <= 'z'; letter++ {
		own["reloader.stakater.com/aut"+string(letter)] = "true"
	}
	w := New(kindNamed("Deployment"), &metav1.ObjectMeta{Annotations: own}, nil, &corev1.PodTemplateSpec{}, annotations.DefaultNames())
	if len(w.Mistakes) != annotations.MaxMistakes {
		t.Errorf("%d are kept", len(w.Mistakes))
	}
}

func TestMistakesOfSources(t *testing.T) {
	names := annotations.DefaultNames()
	const onlyTrue = `: counts as false; only "true" turns it on`
	for name, tc := range map[string]struct {
		own  texts
		want []string
	}{
		"all is well":          {texts{names.Match: "true", names.Ignore: "false", "app.kubernetes.io/name": "match"}, nil},
		"match in another way": {texts{names.Match: "True"}, []string{`annotation reloader.stakater.com/match has "True"` + onlyTrue}},
		"match with yes":       {texts{names.Match: "yes"}, []string{`annotation reloader.stakater.com/match has "yes"` + onlyTrue}},
		"nothing to ignore":    {texts{names.Ignore: ""}, []string{`annotation reloader.stakater.com/ignore has ""` + onlyTrue}},
		"typos": {texts{"reloader.stakater.com/mach": "true", "reloader.stakater.com/ingore": "true"}, []string{
			`annotation reloader.stakater.com/ingore has "true": does nothing. Did you mean reloader.stakater.com/ignore?`,
			`annotation reloader.stakater.com/mach has "true": does nothing. Did you mean reloader.stakater.com/match?`,
		}},
		"a typo of what belongs elsewhere": {texts{"reloader.stakater.com/atuo": "true"}, []string{
			`annotation reloader.stakater.com/atuo has "true": does nothing. Did you mean reloader.stakater.com/auto, which belongs on the workload that uses this object?`,
		}},
		"keys of users in the domain of Reroll": {texts{"reroll.dev/match": "true", "reroll.dev/auto": "true"}, []string{
			`annotation reroll.dev/auto has "true": does nothing. Did you mean reloader.stakater.com/auto, which belongs on the workload that uses this object?`,
			`annotation reroll.dev/match has "true": does nothing. Did you mean reloader.stakater.com/match?`,
		}},
		"the keys of Reroll": {texts{annotations.About: "a", annotations.Coverage: "v1"}, nil},
		"what belongs on a workload": {texts{names.Auto: "true", names.ConfigMap: strings.Repeat("é", 5000)}, []string{
			`annotation configmap.reloader.stakater.com/reload has "` + strings.Repeat("é", 50) + `…": does nothing here; it belongs on the workload that uses this object`,
			`annotation reloader.stakater.com/auto has "true": does nothing here; it belongs on the workload that uses this object`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			meta := metav1.ObjectMeta{Annotations: tc.own}
			for _, src := range []source.Source{
				source.FromConfigMap(&corev1.ConfigMap{ObjectMeta: meta}, names), source.FromSecret(&corev1.Secret{ObjectMeta: meta}, digest.Key{}, names),
			} {
				var got []string
				for _, p := range src.Mistakes {
					got = append(got, p.String())
				}
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

func kindNamed(name string) Kind {
	return Kind{Name: name, Restartable: name == "Rollout", Pausable: name == "Deployment"}
}

func TestSearchingWhereAllAreOptedIn(t *testing.T) {
	names := annotations.DefaultNames()
	const message = "has no effect with --auto-reload-all, which covers all sources that the workload references"
	for about, tc := range map[string]struct {
		own, template map[string]string
		want          []annotations.Mistake
	}{
		"nothing else is said":         {map[string]string{names.Search: "true"}, nil, []annotations.Mistake{{Annotation: names.Search, InTemplate: false, Value: "true", Message: message}}},
		"in the pod template":          {nil, map[string]string{names.Search: "true"}, []annotations.Mistake{{Annotation: names.Search, InTemplate: true, Value: "true", Message: message}}},
		"beside auto":                  {map[string]string{names.Search: "true", names.Auto: "true"}, nil, nil},
		"opted out":                    {map[string]string{names.Search: "true", names.Auto: "false"}, nil, nil},
		"opted out for a kind":         {map[string]string{names.Search: "true", names.SecretAuto: "false"}, nil, nil},
		"opted in for a kind":          {map[string]string{names.Search: "true", names.SecretAuto: "true"}, nil, []annotations.Mistake{{Annotation: names.Search, InTemplate: false, Value: "true", Message: message}}},
		"it does not search":           {map[string]string{names.Search: "false"}, nil, nil},
		"the pod template has no say":  {map[string]string{names.Search: "false"}, map[string]string{names.Search: "true"}, nil},
		"nothing is said about search": {nil, nil, nil},
	} {
		t.Run(about, func(t *testing.T) {
			meta, template := &metav1.ObjectMeta{Annotations: tc.own}, &corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: tc.template}}
			w := New(Kind{Name: "Deployment", Pausable: true}, meta, nil, template, names)
			before := len(w.Mistakes)
			if got := w.AllMistakes(true, policy.Policy{})[before:]; !slices.Equal(got, tc.want) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			out, _ := policy.ParseNamespace(map[string]string{annotations.AutoOfNamespace: "false"}, names)
			if got := w.AllMistakes(true, out)[before:]; len(got) > 0 {
				t.Errorf("its namespace opts out: %+v", got)
			}
			in, _ := policy.ParseNamespace(map[string]string{annotations.AutoOfNamespace: "true"}, names)
			for i := range tc.want {
				tc.want[i].Message = "has no effect with reroll.dev/auto on the namespace, which covers all sources that the workload references"
			}
			if got := w.AllMistakes(false, in)[before:]; !slices.Equal(got, tc.want) {
				t.Errorf("its namespace opts in: got %+v, want %+v", got, tc.want)
			}
		})
	}
}
