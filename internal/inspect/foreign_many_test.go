package inspect

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/source"
)

func TestASourceThatIsOneTooManyIsNotOneThatTheUserMayNotList(t *testing.T) {
	named := strings.ReplaceAll(web, `reloader.stakater.com/auto: "true"`, `configmap.reloader.stakater.com/reload: "infra/greeting"`)
	for read, want := range map[int]string{
		0:           "you may not list ConfigMaps in namespace infra",
		mostForeign: "it was not read, because the workloads of namespace shop name more than 200 sources of other namespaces",
	} {
		s := tell(t, named)
		s.objects.scope, s.objects.foreign = "shop", foreign{}
		for i := range read {
			s.objects.foreign[source.Key{Kind: source.ConfigMap, Namespace: "infra", Name: fmt.Sprint(i)}] = true
		}
		if a := s.status(t, "shop").Answers[0]; !strings.Contains(a.Detail, want) {
			t.Errorf("%d were read: %s, %q", read, a.State, a.Detail)
		}
	}
}

func TestTheSameSourcesOfOtherNamespacesAreReadEachTime(t *testing.T) {
	var all strings.Builder
	for i := range 20 {
		names := make([]string, 16)
		for j := range names {
			names[j] = fmt.Sprintf("infra/cm-%d", 16*i+j)
		}
		list := fmt.Sprintf("configmap.reloader.stakater.com/reload: %q", strings.Join(names, ","))
		all.WriteString(strings.NewReplacer(`reloader.stakater.com/auto: "true"`, list, "name: web,", fmt.Sprintf("name: web-%d,", i), "u-web", fmt.Sprint("u-", i)).Replace(web) + "---\n")
	}
	s := tell(t, all.String())
	s.objects.scope = "shop"
	first := s.objects.foreignKeys()
	for range 3 {
		if again := s.objects.foreignKeys(); len(first) != mostForeign || !slices.Equal(first, again) {
			t.Fatalf("%d sources, then %d others", len(first), len(again))
		}
	}
}
