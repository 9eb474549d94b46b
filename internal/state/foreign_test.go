package state

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
)

// foreignCM is a ConfigMap of namespace infra.
func foreignCM(name, content string, version int, allow string) source.Source {
	meta := metav1.ObjectMeta{Namespace: "infra", Name: name, UID: types.UID("infra-" + name), ResourceVersion: strconv.Itoa(version)}
	if allow != "" {
		meta.Annotations = map[string]string{annotations.AllowFromKey: allow}
	}
	src := source.FromConfigMap(&corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{"text": content}}, annotations.DefaultNames())
	src.Untracked = false
	return src
}

func TestASourceOfAnotherNamespaceFindsItsWorkloads(t *testing.T) {
	many := func(name string) string {
		names := []string{name}
		for i := range 100 {
			names = append(names, fmt.Sprintf("local-%d", i))
		}
		return strings.Join(names, ",")
	}
	for about, tc := range map[string]struct {
		named, allow string
		queued       bool
		want         []string
	}{
		"named and allowed":           {"infra/cm", "shop", true, []string{"infra/cm"}},
		"beside one of the same name": {"cm,infra/cm", "shop", true, []string{"cm", "infra/cm"}},
		"beside an expression":        {"c.*,infra/cm", "shop", true, []string{"cm", "infra/cm"}},
		"among many":                  {many("infra/cm"), "shop", true, []string{"infra/cm"}},
		"not allowed":                 {"infra/cm", "bank", true, nil},
		"not named":                   {"cm", "shop", false, []string{"cm"}},
		"an expression alone":         {".*", "*", false, []string{"cm"}},
		"another one":                 {"infra/other", "shop", false, nil},
	} {
		t.Run(about, func(t *testing.T) {
			s := New(false)
			s.PutWorkload(deployment("web", "", 1, byName, tc.named), live)
			s.PutSource(configMap("cm", "local", 2), live)
			queued := s.PutSource(foreignCM("cm", "one", 3, tc.allow), live)
			if slices.Contains(queued, webKey()) != tc.queued {
				t.Errorf("queued %v", queued)
			}
			got := concerned(s, "web")
			slices.Sort(got)
			if !slices.Equal(got, tc.want) {
				t.Errorf("concerned by %v, want %v", got, tc.want)
			}
			if queued := s.PutSource(foreignCM("cm", "two", 4, tc.allow), live); slices.Contains(queued, webKey()) != tc.queued {
				t.Errorf("queued after an edit: %v", queued)
			}
			f, _ := s.Facts(webKey())
			for _, c := range f.Concerns {
				if foreign := c.Source.Key.Name == "infra/cm"; c.Source.Key.Namespace != "shop" || foreign != c.Source.Key.IsForeign() || foreign && c.Seen.Content != 4 || !foreign && c.Seen.Content != 2 {
					t.Errorf("%s: seen %+v", c.Source.Key, c.Seen)
				}
			}
			s.DeleteWorkload(webKey())
			if len(s.index.bySource)+len(s.index.trying) > 0 {
				t.Errorf("the index keeps %v, %v", s.index.bySource, s.index.trying)
			}
		})
	}
}

func TestWhatChangedElsewhereIsRememberedForItsOwnName(t *testing.T) {
	s := New(false)
	s.PutWorkload(deployment("web", "", 1, byName, "cm,infra/cm"), live)
	s.PutSource(configMap("cm", "local", 2), live)
	s.PutSource(foreignCM("cm", "one", 3, "shop"), live)
	f, _ := s.Facts(webKey())
	s.Compared(&f)
	s.PutSource(foreignCM("cm", "two", 4, "shop"), live)
	for key, want := range map[string]uint64{"cm": 0, "infra/cm": 4} {
		if got := s.workloads[webKey()].away[source.LocalKey{Kind: source.ConfigMap, Name: key}].Version; got != want {
			t.Errorf("%s was away in version %d, want %d", key, got, want)
		}
	}
	s.DeleteSource(source.Key{Kind: source.ConfigMap, Namespace: "infra", Name: "cm"}, reload.Departure{Version: 5})
	f, _ = s.Facts(webKey())
	left, ok := f.Gone[source.LocalKey{Kind: source.ConfigMap, Name: "infra/cm"}]
	if !ok || len(f.Gone) != 1 || left.Source.Key != (source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "infra/cm"}) {
		t.Errorf("gone %v", f.Gone)
	}
}

func TestConsentQueuesWorkloadsAndMovesNoOther(t *testing.T) {
	s := New(false)
	s.PutWorkload(deployment("web", "", 1, byName, "infra/cm"), live)
	s.PutSource(foreignCM("cm", "one", 3, ""), live)
	if queued := s.PutSource(foreignCM("cm", "one", 4, "shop"), live); len(queued) != 1 {
		t.Errorf("given: queued %v", queued)
	}
	if queued := s.PutSource(foreignCM("cm", "one", 5, "shop, shop"), live); len(queued) > 0 {
		t.Errorf("the same consent in other words: queued %v", queued)
	}
	if queued := s.PutSource(foreignCM("cm", "one", 6, ""), live); len(queued) != 1 || len(concerned(s, "web")) > 0 {
		t.Errorf("withdrawn: queued %v, concerned by %v", queued, concerned(s, "web"))
	}
}

func TestWavesStayInTheirNamespace(t *testing.T) {
	s := New(true)
	s.PutWorkload(deployment("web", "cm", 1, byName, "infra/cm", annotations.Wave, "1"), live)
	src := foreignCM("cm", "one", 3, "shop")
	s.PutSource(src, live)
	if _, in := s.FactsAlone(webKey(), &src); in {
		t.Error("a workload of another namespace takes part")
	}
}

func TestANamespaceThatIsSelectedQueuesThoseThatNameItsSources(t *testing.T) {
	s := New(false)
	s.PutWorkload(deployment("web", "", 1, byName, "infra/cm"), live)
	if queued := s.SelectNamespace("infra", 2, metav1.Now().Time); !slices.Contains(queued, webKey()) {
		t.Errorf("queued %v", queued)
	}
}

func TestVerdictsOfOtherNamespacesComeFromFacts(t *testing.T) {
	s := New(false)
	s.PutWorkload(deployment("web", "", 1, byName, "infra/cm"), live)
	s.PutSource(foreignCM("cm", "one", 3, "shop"), live)
	f, _ := s.Facts(webKey())
	if len(f.Concerns) != 1 || f.Concerns[0].Verdict.Rule != policy.RuleNamed || f.Concerns[0].Verdict.Entry != "infra/cm" {
		t.Errorf("%+v", f.Concerns)
	}
}

func TestAllKeysOfASourceInAnotherNamespaceCount(t *testing.T) {
	for _, keys := range []string{"used", "configmap/cm=text", "configmap/infra/cm=other", "configmap/cm=other"} {
		s := New(false)
		s.PutWorkload(deployment("web", "", 1, byName, "cm,infra/cm", annotations.Keys, keys), live)
		s.PutSource(configMap("cm", "local", 2), live)
		s.PutSource(foreignCM("cm", "one", 3, "shop"), live)
		if queued := s.PutSource(foreignCM("cm", "two", 4, "shop"), live); len(queued) != 1 {
			t.Errorf("%s: queued %v", keys, queued)
		}
		f, _ := s.Facts(webKey())
		for _, c := range f.Concerns {
			if c.Source.Key.IsForeign() && (c.Keys != nil || c.Seen.Content != 4) {
				t.Errorf("%s: keys %v, seen %+v", keys, c.Keys, c.Seen)
			}
		}
	}
}
