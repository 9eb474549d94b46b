package reload

import (
	"maps"
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
)

// A ledger shows what selected the sources. Whether workloads are opted in by default may differ
// since: at each start by --auto-reload-all, or by an annotation of the namespace.
func TestASourceThatIsNotSelectedAnyMoreWhenAnotherDefaultOptsIn(t *testing.T) {
	inNamespace := func(value string) policy.Policy {
		defaults, _ := policy.ParseNamespace(map[string]string{annotations.AutoOfNamespace: value}, annotations.DefaultNames())
		return defaults
	}
	type change struct {
		before, after bool
		defaults      policy.Policy // of the namespace, after it
		own           map[string]string
		refers        bool
	}
	names := annotations.DefaultNames()
	for name, tc := range map[string]struct {
		change change
		want   Action
	}{
		"all workloads are opted in":                            {change{after: true}, Reload},
		"all are opted in no longer":                            {change{before: true}, Reload},
		"the namespace opts in":                                 {change{defaults: inNamespace("true")}, Reload},
		"the namespace opts out":                                {change{before: true, after: true, defaults: inNamespace("false")}, Reload},
		"none are, and the source may have been one of them":    {change{before: true, refers: true}, Record},
		"none are, and the workload had opted out for its kind": {change{before: true, refers: true, own: map[string]string{names.ConfigMapAuto: "false"}}, Reload},
		"all are, and the workload opts out for its kind":       {change{after: true, refers: true, own: map[string]string{names.ConfigMapAuto: "false"}}, Reload},
		"all are, and a list selects others":                    {change{after: true, own: map[string]string{names.ConfigMap: "other"}}, Reload},
	} {
		own := map[string]string{annotations.Sources: selector}
		maps.Copy(own, tc.change.own)
		changed := func(onDelete bool) *situation {
			s := web().with(selects).annotated(own)
			if tc.change.refers {
				s.refersTo(cmKey)
			}
			s.ledger(func(l *ledger.Ledger) {
				l.Selecting, l.OnDelete = s.f.Workload.Selecting(tc.change.before), onDelete
			})
			return s.with(func(f *Facts) {
				f.AutoReloadAll, f.OnDelete, f.SettlePeriod = tc.change.after, onDelete, 1
				f.Workload.Policy = f.Workload.Policy.Under(tc.change.defaults)
			})
		}
		t.Run(name, func(t *testing.T) {
			lost := changed(true).with(func(f *Facts) { f.Spared, f.Left = []source.LocalKey{cmKey}, []Left{{Key: cmKey}} })
			if d := decided(t, lost.f); d.Action != tc.want {
				t.Errorf("without its labels, it was decided to %s: %s", d.Action, d.Why)
			}
			if d := decided(t, changed(true).f); d.Action != tc.want {
				t.Errorf("deleted, it was decided to %s: %s", d.Action, d.Why)
			}
			// If it is created again with other data, that is a change.
			d := decided(t, changed(false).f)
			if _, stays := d.Ledger.Entries[cmKey]; d.Action != Record || !stays {
				t.Errorf("deleted, it was decided to %s: %s; the ledger is %s", d.Action, d.Why, d.Ledger)
			}
		})
	}

	another := web().with(selects).ledger(func(l *ledger.Ledger) { l.Selecting, l.OnDelete = digestOf("other"), true })
	another.with(func(f *Facts) {
		f.AutoReloadAll, f.OnDelete, f.SettlePeriod, f.Left = true, true, 1, []Left{{Key: cmKey}}
	})
	if d := decided(t, another.f); d.Action != Record {
		t.Errorf("selected by another selector, it was decided to %s: %s", d.Action, d.Why)
	}
}

// Otherwise, if the list has its name again later, the deletion would count then.
func TestADeletedSourceThatAListNamesNoLonger(t *testing.T) {
	s := web().with(selects).annotated(map[string]string{annotations.DefaultNames().ConfigMap: "app-.*"}).with(onDelete)
	s.ledger(func(l *ledger.Ledger) { l.OnDelete = true }).with(func(f *Facts) {
		f.Gone = map[source.LocalKey]Departure{cmKey: {Version: 130, Source: source.Source{Key: cmKey.In("shop")}}}
	})
	d := decided(t, s.f)
	if _, remains := d.Ledger.Entries[cmKey]; d.Action != Record || remains {
		t.Errorf("decided to %s (%s), and the ledger is %s", d.Action, d.Why, d.Ledger)
	}
}
