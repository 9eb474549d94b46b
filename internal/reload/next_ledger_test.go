package reload

import (
	"testing"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
)

func TestMarksOfTheLatestReloadAreKeptIfTheDigestKeyIsLost(t *testing.T) {
	marks := digestOf("marks")
	lost := func(sum string, content uint64, edited int64) *situation {
		return web().ledger(func(l *ledger.Ledger) {
			otherKeyWithSecret(l)
			l.Marks, l.Entries[source.LocalKey{Kind: source.Secret, Name: "sec"}] = marks, digestOf(sum)
		}).source(source.Secret, "sec", "s", 10, edited, SourceSeen{Content: content, Edited: content != 0, Version: 55}).
			with(func(f *Facts) { f.Seen.Template, f.Seen.TemplateReverted = 120, false })
	}
	for name, tc := range map[string]struct {
		when *situation
		want digest.Digest
	}{
		"nothing shows other data": {lost("under the lost key", 0, 55), marks},
		"an edit after the ledger": {lost("under the lost key", 0, 61), digest.Digest{}},
		"a later write that may be an edit": {lost("under the lost key", 0, 61).with(func(f *Facts) {
			f.Concerns[len(f.Concerns)-1].Source.EditedAt = 0
		}), digest.Digest{}},
		"a change that was observed":                    {lost("under the lost key", 55, 55), digest.Digest{}},
		"a reload waits for it":                         {lost("", 0, 55), digest.Digest{}},
		"the key is the same, and the data is not":      {lost("other data", 0, 55).ledgerOf(func(l *ledger.Ledger) { l.Instance = instance }), digest.Digest{}},
		"nothing shows other data, without its rollout": {lost("under the lost key", 0, 55).with(func(f *Facts) { f.Seen.Template = 0 }), marks},
	} {
		t.Run(name, func(t *testing.T) {
			if d := decided(t, tc.when.f); d.Action != Record || d.Ledger.Marks != tc.want {
				t.Errorf("decided to %s with marks %x, want %x: %s", d.Action, d.Ledger.Marks, tc.want, d.Why)
			}
		})
	}
}

// ConfigMap cm has no entry, because its deletion was a change. It was created again, and has its data of
// now from before the rollout of another client.
func TestMarksAreNotKeptWithTheFirstEntryOfASourceThatPodsMayHaveHadBefore(t *testing.T) {
	marks, cm := digestOf("marks"), source.LocalKey{Kind: source.ConfigMap, Name: "cm"}
	unnamed := func() *situation {
		return theRolloutOfAnother(digestOf("before")).ledger(func(l *ledger.Ledger) { l.Marks, l.Entries = marks, nil })
	}
	for name, tc := range map[string]struct {
		when *situation
		want digest.Digest
	}{
		"it was edited since":              {unnamed(), digest.Digest{}},
		"it has what it was created with":  {unnamed().with(func(f *Facts) { f.Concerns[0].Seen.Edited = false }), marks},
		"annotations select it only since": {unnamed().with(func(f *Facts) { f.Seen.Policy = 115 }), marks},
		"the age of the Pods decides":      {unnamed().with(func(f *Facts) { f.Seen.Template, f.Seen.Since = 0, 0 }).pods(2, 200), marks},
		"one digest is for all of its kind": {unnamed().ledgerOf(func(l *ledger.Ledger) {
			l.Aggregates = map[source.Kind]ledger.Total{source.ConfigMap: {}}
		}), marks},
		"the template of now is the first to name it": {unnamed().with(func(f *Facts) { f.Seen.Referenced = map[source.LocalKey]uint64{cm: 120} }), marks},
	} {
		t.Run(name, func(t *testing.T) {
			if d := decided(t, tc.when.f); d.Action != Record || d.Ledger.Marks != tc.want {
				t.Errorf("decided to %s with marks %x, want %x: %s", d.Action, d.Ledger.Marks, tc.want, d.Why)
			}
		})
	}
}
