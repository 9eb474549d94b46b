package reload

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
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

// An annotation names a source since version 125, and another one has selected sources without a label
// all the time. The labels changed in version 130, after its data was edited in 120.
func TestASourceIsCoveredSinceWithTheLabelsOfThen(t *testing.T) {
	names := annotations.DefaultNames()
	unlabeled := map[string]string{annotations.Sources: "!plugins"}
	for name, tc := range map[string]struct {
		before, now source.Labels
		want        Action
	}{
		"it was not selected before, and is now": {grafana(), source.LabelsOf(nil), Record},
		"it was selected before, and is not now": {source.LabelsOf(nil), grafana(), Reload},
		"it was selected before, and still is":   {source.LabelsOf(nil), source.LabelsOf(map[string]string{"team": "shop"}), Reload},
		"it was not selected before, and is not": {grafana(), source.LabelsOf(map[string]string{"plugins": "loki"}), Record},
	} {
		t.Run(name, func(t *testing.T) {
			s := web().with(selects)
			seen := relabeled(relabeling{130, tc.before})
			seen.Content, seen.Edited = 120, true
			s.ledger(without(s)).selected("two", 115, seen).with(func(f *Facts) {
				before, _ := policy.Parse(unlabeled, nil, names)
				f.Workload.Policy, _ = policy.Parse(map[string]string{annotations.Sources: "!plugins", names.ConfigMap: "cm"}, nil, names)
				f.Seen.Policy, f.Seen.Widened = 125, []Widening{{Version: 125, Before: before}}
				f.Concerns[0].Source.Annotations.Labels, f.Concerns[0].Verdict.Rule = tc.now, policy.RuleNamed
			})
			if d := decided(t, s.f); d.Action != tc.want {
				t.Errorf("decided to %s, want %s: %s", d.Action, tc.want, d.Why)
			}
		})
	}
}
