package stamp

import (
	"slices"
	"testing"

	"github.com/reroll-dev/reroll/internal/kinds"
)

func TestTheKindsAreThoseOfTheController(t *testing.T) {
	known, here := kinds.All(), builtIn(true)
	for _, k := range here {
		if _, ok := known.Of(k.Group, k.Kind); !ok {
			t.Errorf("%s of %s is not one of the controller's", k.Kind, k.Group)
		}
	}
	for _, k := range known {
		if !slices.ContainsFunc(here, func(h Kind) bool {
			of, _ := known.Of(h.Group, h.Kind)
			return of.Name == k.Name
		}) {
			t.Errorf("%s is not stamped", k.Name)
		}
	}
}
