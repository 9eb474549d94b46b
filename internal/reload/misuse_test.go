package reload

import (
	"slices"
	"strings"
	"testing"
)

func TestMisuse(t *testing.T) {
	names := DefaultNames()
	for name, tc := range map[string]struct {
		own  map[string]string
		want []string
	}{
		"all is well":              {map[string]string{names.Auto: "true", "app.kubernetes.io/name": "auto"}, nil},
		"two letters swapped":      {map[string]string{"reloader.stakater.com/atuo": "true"}, []string{"there is reloader.stakater.com/auto"}},
		"a letter missing":         {map[string]string{"reloader.stakater.com/serch": "true"}, []string{"there is reloader.stakater.com/search"}},
		"a typo in the domain":     {map[string]string{"reloader.stakatar.com/auto": "true"}, []string{"there is reloader.stakater.com/auto"}},
		"a kind in the plural":     {map[string]string{"configmaps.reloader.stakater.com/reload": "a"}, []string{"there is configmap.reloader.stakater.com/reload"}},
		"one of ours":              {map[string]string{"reroll.dev/setle": "1s"}, []string{"there is reroll.dev/settle"}},
		"somebody else's":          {map[string]string{"example.org/atuo": "true"}, nil},
		"far from all":             {map[string]string{"reloader.stakater.com/something-else": "true"}, nil},
		"what belongs on a source": {map[string]string{names.Match: "true"}, []string{"belongs on the ConfigMap or Secret"}},
		"search beside auto":       {map[string]string{names.Search: "true", names.Auto: "true"}, []string{"has no effect beside reloader.stakater.com/auto"}},
		"search alone":             {map[string]string{names.Search: "true"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			policy, _ := ParsePolicy(tc.own, nil, names)
			got := misuse(tc.own, policy, names)
			if len(got) != len(tc.want) {
				t.Fatalf("found %v, want %q", got, tc.want)
			}
			for i, want := range tc.want {
				if !strings.Contains(got[i].String(), want) {
					t.Errorf("it says %q, want %q", got[i], want)
				}
			}
		})
	}
}

func TestAnAnnotationOnASourceThatBelongsOnAWorkload(t *testing.T) {
	names := DefaultNames()
	if got := misplaced(map[string]string{names.Match: "true"}, names); got != "" {
		t.Errorf("%s is said to be misplaced", got)
	}
	if got := misplaced(map[string]string{names.Auto: "true"}, names); got != names.Auto {
		t.Errorf("got %q", got)
	}
}

func TestDistance(t *testing.T) {
	for words, want := range map[[2]string]int{
		{"auto", "auto"}: 0, {"auto", "atuo"}: 1, {"auto", "aut"}: 1, {"auto", "autos"}: 1, {"auto", "aito"}: 1,
		{"auto", ""}: 4, {"auto", "match"}: 4,
	} {
		if got := distance(words[0], words[1]); got != want {
			t.Errorf("%q and %q differ by %d, want %d", words[0], words[1], got, want)
		}
	}
}

func TestASourceThatIsNamedAndDoesNotExist(t *testing.T) {
	for list, want := range map[string][]NamedSource{
		"cm, spared, unselected": nil,
		"cm, mising":             {{ConfigMap, "mising", false}},
		"mising, mising":         {{ConfigMap, "mising", false}},
		// A dot means any character, and stands in names of objects nevertheless.
		"my.config":           {{ConfigMap, "my.config", false}},
		"my.config, db.app-1": {{ConfigMap, "my.config", false}, {ConfigMap, "db.app-1", false}},
		"spa.ed":              nil,
		"app-.*":              {{ConfigMap, "app-.*", true}},
		"My.Config":           {{ConfigMap, "My.Config", true}},
		"a..b":                {{ConfigMap, "a..b", true}},
		"a.-b":                {{ConfigMap, "a.-b", true}},
		"a.b-":                {{ConfigMap, "a.b-", true}},
		"c.*, sp.*, unsel.*":  nil,
		"only-a-secret":       {{ConfigMap, "only-a-secret", false}},
		"only-a-.*":           {{ConfigMap, "only-a-.*", true}},
	} {
		t.Run(list, func(t *testing.T) {
			s := web().cm("one", 60)
			s.f.Workload.Policy, _ = ParsePolicy(map[string]string{DefaultNames().ConfigMap: list}, nil, DefaultNames())
			s.f.Spared = []LocalKey{{ConfigMap, "spared"}, {Secret, "only-a-secret"}}
			s.f.Unselected = []LocalKey{{ConfigMap, "unselected"}}
			if got := s.f.Missing(); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
