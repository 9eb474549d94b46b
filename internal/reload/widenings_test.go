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
// since second 100. The labels changed in version 130, after its data was edited.
func TestASourceIsCoveredSinceWithTheLabelsOfThen(t *testing.T) {
	names, none := annotations.DefaultNames(), source.LabelsOf(nil)
	relabeledOften := relabeled()
	for version := range uint64(maxChanges + 1) { // the first of them is forgotten
		relabeledOften.Relabel(126+version, grafana())
	}
	edited := func(f *Facts) { f.Concerns[0].Seen.Content, f.Concerns[0].Seen.Edited = 120, true }
	unseen := func(f *Facts) { f.Concerns[0].Source.EditedAt, f.Concerns[0].Seen.Bound = 115, 118 }
	for name, tc := range map[string]struct {
		seen SourceSeen
		now  source.Labels
		edit func(*Facts)
		want Action
	}{
		"it was not selected before, and is now":             {relabeled(relabeling{130, grafana()}), none, edited, Record},
		"it was selected before, and is not now":             {relabeled(relabeling{130, none}), grafana(), edited, Reload},
		"it was selected before, and still is":               {relabeled(relabeling{130, none}), source.LabelsOf(map[string]string{"team": "shop"}), edited, Reload},
		"it was not selected before, and is not":             {relabeled(relabeling{130, grafana()}), source.LabelsOf(map[string]string{"plugins": "loki"}), edited, Record},
		"it changed so often that the first is forgotten":    {relabeledOften, none, edited, Reload},
		"no watch has shown the edit, and it was selected":   {relabeled(relabeling{130, none}), grafana(), unseen, Reload},
		"no watch has shown the edit, and it was not so yet": {relabeled(relabeling{130, grafana()}), none, unseen, Record},
	} {
		t.Run(name, func(t *testing.T) {
			s := web().with(selects)
			s.ledger(without(s)).selected("two", 115, tc.seen).pods(1, 105).with(func(f *Facts) {
				before, _ := policy.Parse(map[string]string{annotations.Sources: "!plugins"}, nil, names)
				f.Workload.Policy, _ = policy.Parse(map[string]string{annotations.Sources: "!plugins", names.ConfigMap: "cm"}, nil, names)
				f.Workload.OptedInAt, f.Seen.Policy = at(125), 125
				f.Seen.Widened = []Widening{{Version: 125, Before: before, OptedInAt: at(100)}}
				f.Concerns[0].Source.Annotations.Labels, f.Concerns[0].Verdict.Rule = tc.now, policy.RuleNamed
			}).with(tc.edit)
			if d := decided(t, s.f); d.Action != tc.want {
				t.Errorf("decided to %s, want %s: %s", d.Action, tc.want, d.Why)
			}
		})
	}
}
