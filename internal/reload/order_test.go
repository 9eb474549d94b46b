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
