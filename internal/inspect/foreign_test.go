package inspect

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// The ConfigMap of the other namespace is not found, because it was deleted while no controller ran,
// or because the user may not list it there.
func TestASourceOfAnotherNamespaceThatTheUserMayNotListIsNotDeleted(t *testing.T) {
	named := strings.NewReplacer(`reloader.stakater.com/auto: "true"`, `configmap.reloader.stakater.com/reload: "infra/greeting"`,
		"name: greeting, namespace: shop, ", "name: greeting, namespace: infra, annotations: {reroll.dev/allow-from: shop}, ").Replace(web)
	for _, may := range []bool{true, false} {
		s := tell(t, "# flags: --reload-on-delete\n"+named)
		s.objects.Keep("configmaps", map[types.NamespacedName]struct{}{})
		if !may {
			s.objects.scope, s.objects.foreign = "shop", foreign{}
		}
		a := s.status(t, "shop").Answers[0]
		if changes := len(a.Decision.Changes); (changes == 1) != may {
			t.Errorf("may list %t: %s, %q, %d changes", may, a.State, a.Detail, changes)
		}
	}
}
