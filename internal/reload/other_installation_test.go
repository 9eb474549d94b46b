package reload

import (
	"testing"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
)

func TestAnUnknownInstallationTakesTheLedgerOver(t *testing.T) {
	written := func(instance string, writes int64) func(*ledger.Ledger) {
		return func(l *ledger.Ledger) { l.Instance, l.Writes = instance, writes }
	}
	ours := func(l *ledger.Ledger) { l.Writes = 2 }
	for about, tc := range map[string]struct {
		when *situation
		want bool
	}{
		"it wrote after this one":                       {web().ledger(written("key-9", 3)).remembered(ours), true},
		"it wrote as often as this one":                 {web().ledger(written("key-9", 2)).remembered(ours), true},
		"a rollback brought an earlier ledger back":     {web().ledger(written("key-9", 1)).remembered(ours), false},
		"it is known":                                   {web().ledger(written("key-0", 3)).remembered(ours), false},
		"this one wrote again":                          {web().ledger(func(l *ledger.Ledger) { l.Writes = 3 }).remembered(ours), false},
		"the ledger was removed":                        {web().remembered(ours), false},
		"this one found the ledger of the other":        {web().ledger(written("key-9", 3)), false},
		"the remembered ledger was not written by ours": {web().ledger(written("key-9", 3)).remembered(written("key-8", 2)), false},
	} {
		t.Run(about, func(t *testing.T) {
			f := tc.when.with(func(f *Facts) { f.Others = map[string]string{"key-0": "platform"} }).f
			if got := f.TakenOver(); got != tc.want {
				t.Errorf("taken over: %t, want %t", got, tc.want)
			}
		})
	}
}

// Two installations watch the namespace, and the ledger is from the other one.
func TestAWorkloadIsLeftToTheInstallationThatAdoptedIt(t *testing.T) {
	const elsewhere = "platform"
	theirs := func(l *ledger.Ledger) {
		l.Instance = "key-0"
		l.Entries[source.LocalKey{Kind: source.Secret, Name: "sec"}] = digestOf("s1, by their key")
	}
	both := func(l *ledger.Ledger) {
		theirs(l)
		l.Aggregates = map[source.Kind]ledger.Total{source.ConfigMap: {Count: 1, Digest: ledger.Aggregate(source.ConfigMap, map[source.LocalKey]digest.Digest{{Kind: source.ConfigMap, Name: "cm"}: digestOf("one")})}}
		delete(l.Entries, source.LocalKey{Kind: source.ConfigMap, Name: "cm"})
	}
	sec := func(s *situation, data int64, seen SourceSeen) *situation {
		return s.source(source.Secret, "sec", "s", 10, data, seen)
	}
	waited := func(f *Facts) { f.Waited = true }
	for about, tc := range map[string]struct {
		when   *situation
		left   bool
		behind bool
		want   Action
	}{
		"it has the data":                                 {sec(web().ledger(theirs).cm("one", 60), 55, SourceSeen{Version: 55}), true, false, Nothing},
		"it has the data, and was waited for":             {sec(web().ledger(theirs).cm("one", 60), 55, SourceSeen{Version: 55}).with(waited), true, false, Nothing},
		"it has the data, as one digest for all":          {sec(web().ledger(both).cm("one", 60), 55, SourceSeen{Version: 55}), true, false, Nothing},
		"it took a ledger of ours":                        {sec(web().ledger(theirs).remembered(nil).cm("one", 60), 55, SourceSeen{Version: 55}), true, false, Nothing},
		"a ConfigMap changed":                             {sec(web().ledger(theirs).cmSeen("two", 120), 55, SourceSeen{Version: 55}), true, true, Nothing},
		"a ConfigMap changed, and it did nothing":         {sec(web().ledger(theirs).cmSeen("two", 120), 55, SourceSeen{Version: 55}).with(waited), false, false, Reload},
		"one of all ConfigMaps changed":                   {sec(web().ledger(both).cmSeen("two", 120), 55, SourceSeen{Version: 55}), true, true, Nothing},
		"a Secret is newer than its ledger":               {sec(web().ledger(theirs).cm("one", 60), 120, SourceSeen{Version: 120}), true, true, Nothing},
		"a Secret changed, and it did nothing":            {sec(web().ledger(theirs).cm("one", 60), 120, SourceSeen{Content: 120, Edited: true, Version: 120}).with(waited), false, false, Reload},
		"a key of a Secret was removed, as seen":          {sec(web().ledger(theirs).cm("one", 60), 55, SourceSeen{Content: 120, Edited: true, Version: 120}), true, true, Nothing},
		"a key was removed, and it did nothing":           {sec(web().ledger(theirs).cm("one", 60), 55, SourceSeen{Content: 120, Edited: true, Version: 120}).with(waited), false, false, Reload},
		"a source that its ledger does not have":          {web().ledger(func(l *ledger.Ledger) { l.Instance = "key-0" }).source(source.ConfigMap, "more", "m", 10, 20, SourceSeen{Version: 20}).cm("one", 60), true, true, Nothing},
		"the ledger is ours":                              {web().ledger(nil).cmSeen("two", 120), false, false, Reload},
		"the ledger is from an installation nobody knows": {web().ledger(func(l *ledger.Ledger) { l.Instance = "key-9" }).cmSeen("two", 120), false, false, Reload},
		"the ledger was copied from another workload": {
			web().ledger(func(l *ledger.Ledger) { theirs(l); l.UID = "uid-2" }).cmSeen("two", 120), false, false, Reload},
		"there is no ledger": {web().cmSeen("two", 120), false, false, Reload},
	} {
		t.Run(about, func(t *testing.T) {
			d := decided(t, tc.when.with(func(f *Facts) { f.Others = map[string]string{"key-0": elsewhere} }).f)
			if d.Action != tc.want || (d.LeftTo == elsewhere) != tc.left || d.Behind != tc.behind {
				t.Errorf("decided to %s (%s), left to %q, behind: %t", d.Action, d.Why, d.LeftTo, d.Behind)
			}
		})
	}
}
