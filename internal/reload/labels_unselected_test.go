package reload

import (
	"maps"
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
)

// The annotations of a workload change while the selectors of the controller exclude a source that it
// references: it was opted in for its references, and now it has a selector by labels.
func TestASourceThatIsNotSelectedWhenAnotherAnnotationSelects(t *testing.T) {
	names := annotations.DefaultNames()
	has := func(value string) source.Annotations {
		return source.Annotations{Unselected: true, Labels: source.LabelsOf(map[string]string{"plugins": value})}
	}
	ignored := has("loki")
	ignored.Ignore = true
	waits := func(l *ledger.Ledger) { l.Entries[cmKey] = digest.Digest{} }
	for name, tc := range map[string]struct {
		own    map[string]string // beside the selector
		source source.Annotations
		change func(*ledger.Ledger)
		stays  bool
	}{
		"its reference does not count any more":                         {nil, has("loki"), nil, false},
		"its reference does not count any more, while its reload waits": {nil, has("loki"), waits, false},
		"its reference does not count any more, and it is ignored":      {nil, ignored, nil, false},
		"its reference counts":                                          {map[string]string{names.Auto: "true"}, has("loki"), nil, true},
		"its reference counts, while its reload waits":                  {map[string]string{names.Auto: "true"}, has("loki"), waits, true},
		"its reference counts if it matches":                            {map[string]string{names.Search: "true"}, has("loki"), nil, true},
		"it has the labels":                                             {nil, has("grafana"), nil, true},
		"the workload names it":                                         {map[string]string{names.ConfigMap: "cm"}, has("loki"), nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			own := map[string]string{annotations.Sources: selector}
			maps.Copy(own, tc.own)
			unselected := func() *situation {
				s := web().with(onDelete).annotated(own)
				return s.unselected(tc.source).ledger(func(l *ledger.Ledger) {
					l.OnDelete = true
					if tc.change != nil {
						tc.change(l)
					}
				})
			}
			s := unselected()
			d := decided(t, s.f)
			if _, stays := d.Ledger.Entries[cmKey]; d.Action != Record || stays != tc.stays {
				t.Fatalf("not selected, it was decided to %s: %s; the ledger is %s", d.Action, d.Why, d.Ledger)
			}
			if !tc.stays {
				s.f.Workload.LedgerText, s.f.Unselected, s.f.Unlabeled = d.Ledger.String(), nil, nil
				s.f.Spared, s.f.Left = []source.LocalKey{cmKey}, []Left{{Key: cmKey}}
				if again := decided(t, s.f); again.Action != Nothing {
					t.Errorf("selected again, it was decided to %s: %s", again.Action, again.Why)
				}
			}

			// The reload for another source waits meanwhile.
			other := unselected().source(source.Secret, "sec", "two", 10, 120, SourceSeen{Content: 120, Edited: true, Annotations: 1, Version: 120})
			other.ledgerOf(func(l *ledger.Ledger) { l.Entries[secKey] = digestOf("one") })
			reload := decided(t, other.f)
			held, _ := other.f.Defer(&reload, false)
			if _, stays := held.Ledger.Entries[cmKey]; reload.Action != Reload || stays != tc.stays {
				t.Errorf("while a reload waits, it was decided to %s: %s; the ledger is %s", reload.Action, reload.Why, held.Ledger)
			}
		})
	}

	// A source that the labels select is deleted before the ledger has it.
	left := web().with(onDelete).annotated(map[string]string{annotations.Sources: selector}).unselected(has("loki"))
	left.ledger(func(l *ledger.Ledger) { l.OnDelete = true })
	had := source.Annotations{Labels: source.LabelsOf(map[string]string{"plugins": "grafana"})}
	left.f.Gone = map[source.LocalKey]Departure{newKey: {Version: 130, Source: source.Source{Key: newKey.In("shop"), Annotations: had}}}
	d := decided(t, left.f)
	_, stays := d.Ledger.Entries[cmKey]
	if _, has := d.Ledger.Entries[newKey]; !has || stays {
		t.Errorf("decided to %s: %s; the ledger is %s", d.Action, d.Why, d.Ledger)
	}

	// If nothing else selects sources than before, it may have the labels when it is selected again.
	s := web().with(onDelete).with(selects).unselected(has("loki"))
	s.source(source.Secret, "sec", "two", 10, 120, SourceSeen{Content: 120, Edited: true, Annotations: 1, Version: 120})
	s.ledger(func(l *ledger.Ledger) { selecting(s)(l); l.Entries[secKey], l.OnDelete = digestOf("one"), true })
	if d := decided(t, s.f); d.Action != Reload || d.Ledger.Entries[cmKey] != digestOf("one") {
		t.Errorf("decided to %s: %s; the ledger is %s", d.Action, d.Why, d.Ledger)
	}
}

// unselected is ConfigMap cm, which exists and is not selected by the controller.
func (s *situation) unselected(has source.Annotations) *situation {
	s.f.Unselect(&source.Source{Key: cmKey.In("shop"), Annotations: has})
	return s
}
