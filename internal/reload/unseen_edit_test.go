package reload

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
)

func TestAnEditThatNobodySawCountsOnlyIfItWasCovered(t *testing.T) {
	mixed := func(f *Facts) { f.Concerns[0].Source.EditedAt = 0 } // its manager owns labels beside the data
	asked := func(second int64) func(*Facts) {
		return func(f *Facts) { f.Workload.OptedInAt = at(second) }
	}
	all := func(second int64) func(*Facts) {
		return func(f *Facts) {
			f.Workload.OptedInAt, f.AutoReloadAll, f.Concerns[0].Verdict.Rule = time.Time{}, true, policy.RuleAutoAll
			if second != 0 {
				f.Coverage.AllSince = at(second)
			}
		}
	}
	namespace := func(second, itself int64) func(*Facts) {
		return func(f *Facts) {
			defaults, _ := policy.ParseNamespace(map[string]string{annotations.AutoOfNamespace: "true"}, annotations.DefaultNames())
			f.Workload.Policy, f.Workload.OptedInAt = policy.Policy{}.Under(defaults), time.Time{}
			f.Concerns[0].Verdict.Rule = policy.RuleAutoNamespace
			if second != 0 {
				f.OptedInByNamespaceAt = at(second)
			}
			if itself != 0 {
				f.Workload.OptedInAt = at(itself)
			}
		}
	}
	// ConfigMap cm was written at second 80. The pod, if there is one, was created before that.
	edited := func() *situation { return web().cm("two", 80).pods(1, 70) }
	matched := func(f *Facts) { f.Concerns[0].Source.MatchedAt, f.Concerns[0].Source.Annotations.Match = 81, true }
	auto := func(f *Facts) {
		f.Workload.Policy, _ = policy.Parse(map[string]string{"reloader.stakater.com/auto": "true"}, nil, annotations.DefaultNames())
	}
	// Its annotations selected a source before they were edited in second 81 to select more.
	widened := func(before string, second int64) func(*Facts) {
		return func(f *Facts) {
			step := Widening{Version: 75}
			step.Before, _ = policy.Parse(map[string]string{annotations.DefaultNames().ConfigMap: before}, nil, annotations.DefaultNames())
			if second != 0 {
				step.OptedInAt = at(second)
			}
			f.Workload.OptedInAt, f.Seen.Policy = at(81), 75
			f.Seen.Widened = append([]Widening{step}, f.Seen.Widened...)
		}
	}
	searches := func(f *Facts) {
		f.Workload.Policy, _ = policy.Parse(map[string]string{"reloader.stakater.com/search": "true"}, nil, annotations.DefaultNames())
	}
	madeAnew := func(covered int64) func(*Facts) {
		return func(f *Facts) {
			if f.Installed = at(90); covered != 0 {
				f.Coverage.Since = at(covered)
			}
		}
	}
	lost := func() *situation {
		return web().ledger(otherKeyWithSecret).source(source.Secret, "sec", "s2", 10, 80, SourceSeen{Version: 80}).pods(1, 70)
	}
	for name, tc := range map[string]struct {
		when     *situation
		want     Action
		unproven int
	}{
		"the workload asked for it before":                           {edited(), Reload, 0},
		"the workload asked for it later":                            {edited().with(asked(81)), Record, 0},
		"nothing tells when it asked for it":                         {edited().with(func(f *Facts) { f.Workload.OptedInAt = time.Time{} }), Record, 0},
		"it asked in the same second":                                {edited().with(asked(80)), Reload, 0},
		"it asked before, and for more later":                        {edited().with(widened("cm", 79)), Reload, 0},
		"it asked later, and for another one before":                 {edited().with(widened("other", 79)), Record, 0},
		"it asked for more later, nothing tells since when it asked": {edited().with(widened("cm", 0)), Record, 0},
		"the same, and it was edited after that":                     {web().cm("two", 82).pods(1, 70).with(widened("cm", 0)), Reload, 0},
		"it asked for more twice":                                    {edited().with(widened("cm,other", 81)).with(widened("cm", 79)), Reload, 0},
		"it asked later, and for more after that":                    {edited().with(widened("cm", 81)).with(widened("other", 79)), Record, 0},
		"it asked later, as all do, and for another one before": {edited().with(widened("other", 79)).with(func(f *Facts) {
			f.AutoReloadAll, f.Coverage.AllSince = true, at(82)
		}), Record, 0},
		"the settings covered it later":                              {edited().with(func(f *Facts) { f.Coverage.Since = at(81) }), Record, 0},
		"the digest key was made anew since, and covered it before":  {edited().with(madeAnew(50)), Reload, 0},
		"the same, and the settings covered it later":                {edited().with(madeAnew(85)), Record, 0},
		"the same, and nothing tells since when they covered it":     {edited().with(madeAnew(0)), Record, 0},
		"its namespace was selected later":                           {edited().with(func(f *Facts) { f.SelectedAt = at(81) }), Record, 0},
		"its namespace was selected before":                          {edited().with(func(f *Facts) { f.SelectedAt = at(79) }), Reload, 0},
		"all were opted in before":                                   {edited().with(all(79)), Reload, 0},
		"all were opted in later":                                    {edited().with(all(81)), Record, 0},
		"all are opted in, nothing tells since when":                 {edited().with(all(0)), Record, 0},
		"all are, and the namespace opted out until then":            {edited().with(all(70)).with(func(f *Facts) { f.OptedInByNamespaceAt = at(81) }), Record, 0},
		"all are, and the namespace was written before":              {edited().with(all(70)).with(func(f *Facts) { f.OptedInByNamespaceAt = at(79) }), Reload, 0},
		"its namespace opted in before":                              {edited().with(namespace(79, 0)), Reload, 0},
		"its namespace opted in later":                               {edited().with(namespace(81, 0)), Record, 0},
		"its namespace opts in, nothing tells since when":            {edited().with(namespace(0, 0)), Record, 0},
		"its namespace opted in later, and it for Secrets before":    {edited().with(namespace(81, 79)), Record, 0},
		"it began to match searches later, and concerns it anyway":   {edited().with(auto).with(matched), Reload, 0},
		"it began to match searches later, and concerns it for that": {edited().with(searches).with(matched), Record, 1},
		"it matched searches before":                                 {edited().with(searches).with(matched).with(func(f *Facts) { f.Concerns[0].Source.MatchedAt = 79 }), Reload, 0},
		"a label may be all that was written":                        {edited().with(mixed), Record, 1},
		"the same, and no pod is older":                              {edited().with(mixed).pods(1, 90), Record, 0},
		"the same, and the pods were not asked yet":                  {edited().with(mixed).with(func(f *Facts) { f.Pods = nil }), ListPods, 0},
		"the data were edited, a label was written later":            {edited().with(func(f *Facts) { f.Concerns[0].Source.EditedAt = 75 }), Reload, 0},
		"the same, and the pod is from in between":                   {web().cm("two", 90).pods(1, 82).with(func(f *Facts) { f.Concerns[0].Source.EditedAt = 75 }), Record, 1},
		"the data were edited before it asked, a label later":        {edited().with(asked(76)).with(func(f *Facts) { f.Concerns[0].Source.EditedAt = 75 }), Record, 1},
		"the ledger has other sources":                               {edited().ledger(func(l *ledger.Ledger) { clear(l.Entries) }).with(asked(81)), Record, 0},
		"the edit was seen, whoever owns what":                       {web().cmSeen("two", 120).with(mixed), Reload, 0},
		"the key of the digests was lost":                            {lost(), Reload, 0},
		"the key was lost, and a label may be all that was written":  {lost().with(mixed), Record, 0},
		"made while nobody watched, and it asked before": {web().refersTo(newKey).cm("one", 20).with(onCreate).
			source(source.ConfigMap, "new", "x", 90, 90, SourceSeen{Version: 90}).pods(1, 80), Reload, 0},
		"made while nobody watched, and it asked later": {web().refersTo(newKey).cm("one", 20).with(onCreate).with(asked(91)).
			source(source.ConfigMap, "new", "x", 90, 90, SourceSeen{Version: 90}).pods(1, 80), Record, 0},
	} {
		t.Run(name, func(t *testing.T) {
			d := decided(t, tc.when.f)
			if d.Action != tc.want || len(d.Unproven) != tc.unproven {
				t.Errorf("decided to %s, with %v unproven, want %s with %d: %s", d.Action, d.Unproven, tc.want, tc.unproven, d.Why)
			}
		})
	}
}
