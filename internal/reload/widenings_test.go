package reload

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
)

// Of two edits of annotations that are too large to be kept, the latest one says since when the workload
// was opted in.
func TestWhatIsForgottenOfEditsIsNotSinceWhenSourcesAreSelected(t *testing.T) {
	large := func(prefix string) policy.Policy {
		var list strings.Builder
		for i := range 3000 {
			fmt.Fprintf(&list, "%s-%d,", prefix, i)
		}
		p, _ := policy.Parse(map[string]string{annotations.DefaultNames().ConfigMap: list.String()}, nil, annotations.DefaultNames())
		return p
	}
	for name, tc := range map[string]struct{ first, second, want time.Time }{
		"both are known":         {at(1), at(5), at(1)},
		"the first is not known": {time.Time{}, at(5), at(5)},
		"the last is not known":  {at(1), time.Time{}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			var w WorkloadSeen
			w.Widen(10, large("a"), tc.first)
			w.Widen(20, large("b"), tc.second)
			if len(w.Widened) != 1 || !w.Forgotten || w.Widened[0].Version != 20 || !w.Widened[0].OptedInAt.Equal(tc.want) {
				t.Errorf("%d are kept, forgotten %t; opted in at %s, want %s", len(w.Widened), w.Forgotten, w.Widened[0].OptedInAt, tc.want)
			}
		})
	}
}
