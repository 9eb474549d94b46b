package reload

import (
	"slices"
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
)

func TestASourceThatIsNamedAndDoesNotExist(t *testing.T) {
	for list, want := range map[string][]policy.NamedSource{
		"cm, spared, unselected": nil,
		"cm, mising":             {{Kind: source.ConfigMap, Text: "mising", Expression: false}},
		"mising, mising":         {{Kind: source.ConfigMap, Text: "mising", Expression: false}},
		// A dot matches any character, and is also valid in names of objects.
		"my.config":           {{Kind: source.ConfigMap, Text: "my.config", Expression: false}},
		"my.config, db.app-1": {{Kind: source.ConfigMap, Text: "my.config", Expression: false}, {Kind: source.ConfigMap, Text: "db.app-1", Expression: false}},
		"spa.ed":              nil,
		"app-.*":              {{Kind: source.ConfigMap, Text: "app-.*", Expression: true}},
		"My.Config":           {{Kind: source.ConfigMap, Text: "My.Config", Expression: true}},
		"a..b":                {{Kind: source.ConfigMap, Text: "a..b", Expression: true}},
		"a.-b":                {{Kind: source.ConfigMap, Text: "a.-b", Expression: true}},
		"a.b-":                {{Kind: source.ConfigMap, Text: "a.b-", Expression: true}},
		"c.*, sp.*, unsel.*":  nil,
		"only-a-secret":       {{Kind: source.ConfigMap, Text: "only-a-secret", Expression: false}},
		"only-a-.*":           {{Kind: source.ConfigMap, Text: "only-a-.*", Expression: true}},
	} {
		t.Run(list, func(t *testing.T) {
			s := web().cm("one", 60)
			s.f.Workload.Policy, _ = policy.Parse(map[string]string{annotations.DefaultNames().ConfigMap: list}, nil, annotations.DefaultNames())
			s.f.Spared = []source.LocalKey{{Kind: source.ConfigMap, Name: "spared"}, {Kind: source.Secret, Name: "only-a-secret"}}
			s.f.Unselected = []source.LocalKey{{Kind: source.ConfigMap, Name: "unselected"}}
			if got := s.f.Missing(); !slices.Equal(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
