package notice

import (
	"fmt"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

func web() *workload.Workload {
	return &workload.Workload{Key: workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"}, UID: "u-1"}
}

func concern(kind source.Kind, name string, rule policy.Rule, entry string) reload.Concern {
	return reload.Concern{
		Source:  source.Source{Key: source.Key{Kind: kind, Namespace: "shop", Name: name}},
		Verdict: policy.Verdict{Concerned: true, Rule: rule, Entry: entry},
	}
}

func awaited(c reload.Concern) reload.Concern {
	c.Deleted = true
	return c
}

func TestEachSourceIsWatchedForAReason(t *testing.T) {
	for want, concerns := range map[string][]reload.Concern{
		"Nothing rolls this Deployment yet: its annotations select no ConfigMap or Secret that it references or that exists": nil,
		"A change of ConfigMap 'a' (auto) rolls this Deployment":                                                             {concern(source.ConfigMap, "a", policy.RuleAuto, "")},
		"A change of ConfigMap 'a' (auto for ConfigMaps) and Secret 'b' (named) rolls this Deployment": {
			concern(source.ConfigMap, "a", policy.RuleTypedAuto, ""), concern(source.Secret, "b", policy.RuleNamed, "b"),
		},
		"A change of ConfigMap 'a' (auto) and Secret 'b' (auto, once it is created) rolls this Deployment": {
			concern(source.ConfigMap, "a", policy.RuleAuto, ""), awaited(concern(source.Secret, "b", policy.RuleAuto, "")),
		},
		"A change of ConfigMap 'a' (--auto-reload-all), ConfigMap 'b' (search and match) and Secret 'c' (named by 'c|d') rolls this Deployment": {
			concern(source.ConfigMap, "a", policy.RuleAutoAll, ""), concern(source.ConfigMap, "b", policy.RuleSearch, ""), concern(source.Secret, "c", policy.RuleNamed, "c|d"),
		},
	} {
		if n := OptedIn(web(), concerns); n.Text != want || n.Reason != "Watching" || n.Warning != false {
			t.Errorf("got %+v, want %q", n, want)
		}
	}
}

func TestTheSentenceAboutManySourcesEnds(t *testing.T) {
	for about, length := range map[string]int{"short names": 3, "long names": 250} {
		var concerns []reload.Concern
		for range 5000 {
			concerns = append(concerns, concern(source.Secret, strings.Repeat("x", length), policy.RuleNamed, ".*"))
		}
		note := OptedIn(web(), concerns).Text
		const each = "Secret '' (named by '.*'), "
		if len(note) > MaxText || len(note) < MaxText-len(each)-length || !strings.HasSuffix(note, " more rolls this Deployment") {
			t.Errorf("%s: %d bytes: %s", about, len(note), note)
		}
		if named := strings.Count(note, "Secret '"); !strings.Contains(note, fmt.Sprintf(" and %d more rolls", len(concerns)-named)) {
			t.Errorf("%s: %d are named: %s", about, named, note)
		}
	}
}
