package reload

import (
	"testing"

	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
)

// What is known of the order of two events decides, although only one of them may have been seen.
func TestDataFromBeforeItsUse(t *testing.T) {
	// It refers to a Secret of which a key was removed at 110, in a template that is back.
	redone := func(referenced uint64) *situation {
		removed := SourceSeen{Content: 110, Edited: true, Timeless: true, Version: 110}
		return web().ledger(nil).cm("one", 60).source(source.Secret, "sec", "s", 10, 20, removed).pods(1, 126).with(func(f *Facts) {
			f.Seen.Template, f.Seen.TemplateReverted, f.Workload.RolledOut = 130, true, true
			f.Seen.Referenced = map[source.LocalKey]uint64{secKey: referenced}
		})
	}
	// Annotations name it, so Pods may have read it without a reference.
	named := func(f *Facts) { f.Concerns[1].Verdict.Rule = policy.RuleNamed }
	// A snapshot brings other data than the first ledger has, in version 120.
	adopted := func(version uint64) *situation {
		return web().ledger(nil).cm("two", 120).pods(1, 110).with(func(f *Facts) { f.Seen.Adopted = version })
	}
	for name, tc := range map[string]struct {
		when *situation
		want Action
	}{
		"a new reference is undone and redone, and no Pod had it before the change": {redone(120), Record},
		"a new reference is undone and redone, and Pods had it before the change":   {redone(105), Reload},
		"a reference is undone and redone, and Pods may have had it all the time":   {redone(0), Reload},
		"the same as the first, and annotations named the source all the time":      {redone(120).with(named), Reload},
		"the workload asked for it later":                                           {adopted(121), Record},
		"the workload asked for it before":                                          {adopted(119), Reload},
	} {
		t.Run(name, func(t *testing.T) {
			if d := decided(t, tc.when.f); d.Action != tc.want {
				t.Errorf("decided to %s (%s), want %s", d.Action, d.Why, tc.want)
			}
		})
	}
}

// With --reload-on-create, a source may be new for a workload, or new with its labels. No watch has shown
// that, and the times that the API shows are from after the Pods. But a watch has shown a later edit.
func TestASourceThatIsNoNewerThanItsData(t *testing.T) {
	edited := SourceSeen{Content: 120, Edited: true, Version: 130}
	labeled := func() *situation {
		s := web().with(selects)
		return s.ledger(without(s)).with(onCreate).selected("one", 120, edited).with(func(f *Facts) { f.Concerns[0].Source.LabeledAt = 130 })
	}
	madeAndSeen := func(seen SourceSeen) *situation {
		return web().refersTo(newKey).ledger(nil).cm("one", 60).with(onCreate).source(source.ConfigMap, "new", "x", 110, 120, seen)
	}
	created := func() *situation { return madeAndSeen(edited) }
	// A snapshot has brought the data in version 120, and the watch has shown only a note since.
	annotated := func() *situation { return madeAndSeen(SourceSeen{Bound: 120, Version: 130}) }
	// Of these versions, the first is since when the workload uses the source, and the other is its template.
	used := func(s *situation, since, template uint64) *situation {
		s.f.Seen.Policy, s.f.Seen.Template = since, template
		return s.pods(1, 100)
	}
	for name, tc := range map[string]struct {
		when *situation
		want Action
	}{
		"it got the labels before the workload selected them":    {used(labeled(), 125, 90), Record},
		"it got the labels before the Pods of the last template": {used(labeled(), 90, 125), Record},
		"it was edited while the workload selected its labels":   {used(labeled(), 115, 90), Reload},
		"it got the labels after that edit, as a watch has shown": {used(labeled(), 90, 125).with(func(f *Facts) {
			f.Concerns[0].Seen.Relabeled = relabeled(relabeling{130, source.LabelsOf(nil)}).Relabeled
		}), Reload},
		"it was created before the annotations named it":      {used(created(), 125, 90), Record},
		"it was created before the Pods of the last template": {used(created(), 90, 125), Record},
		"it was edited after the workload began to use it":    {used(created(), 115, 115), Reload},
		"it was listed, and only annotated since":             {used(annotated(), 115, 115), Reload},
		"it was listed, then used, then annotated":            {used(annotated(), 125, 125), Record},
	} {
		t.Run(name, func(t *testing.T) {
			if d := decided(t, tc.when.f); d.Action != tc.want {
				t.Errorf("decided to %s (%s), want %s", d.Action, d.Why, tc.want)
			}
		})
	}
}
