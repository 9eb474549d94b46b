package reload

import (
	"slices"
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
)

// In these tests, web selects sources by their labels. It references none.
const selector = "plugins=grafana"

func grafana() source.Labels { return source.LabelsOf(map[string]string{"plugins": "grafana"}) }

func selects(f *Facts) {
	f.Workload.References = nil
	f.Workload.Policy, _ = policy.Parse(map[string]string{annotations.Sources: selector}, nil, annotations.DefaultNames())
}

// selected is ConfigMap cm, which has the labels now.
func (s *situation) selected(content string, data int64, seen SourceSeen) *situation {
	s.source(source.ConfigMap, "cm", content, 10, data, seen)
	c := &s.f.Concerns[len(s.f.Concerns)-1]
	c.Source.Annotations.Labels = grafana()
	c.Verdict = policy.Verdict{Concerned: true, Rule: policy.RuleSelected, Entry: selector}
	return s
}

// selecting makes the ledger that of the present selector.
func selecting(s *situation) func(*ledger.Ledger) {
	return func(l *ledger.Ledger) { l.Selecting = s.f.Workload.Selecting(false) }
}

func without(s *situation) func(*ledger.Ledger) {
	return func(l *ledger.Ledger) {
		selecting(s)(l)
		l.Entries = map[source.LocalKey]digest.Digest{{Kind: source.ConfigMap, Name: "other"}: digestOf("x")}
	}
}

// relabeling is a version with other labels than before.
type relabeling = change[source.Labels]

// relabeled is a history of labels: before each version, the source had other labels than now, or the
// same.
func relabeled(steps ...relabeling) SourceSeen {
	return SourceSeen{Version: 130, Relabeled: &Changes[source.Labels]{steps}}
}

func TestASourceThatGetsTheLabels(t *testing.T) {
	entered := relabeled(relabeling{130, source.LabelsOf(nil)})
	seen := func(seen SourceSeen) *situation {
		s := web().with(selects)
		return s.ledger(without(s)).with(onCreate).selected("one", 20, seen).with(func(f *Facts) { f.Concerns[0].Source.LabeledAt = 130 })
	}
	edited := func(at uint64) SourceSeen {
		seen := entered
		seen.Content, seen.Edited, seen.Annotations, seen.Version = at, true, 1, max(at, 130)
		return seen
	}
	unseen := func(labeled int64) *situation {
		return seen(SourceSeen{Version: 130}).with(func(f *Facts) { f.Concerns[0].Source.LabeledAt = labeled })
	}
	again := entered // with the labels that it got before
	again.Content, again.Created, again.Departed, again.Edited, again.Version = 150, 150, 140, true, 150
	never := func(f *Facts) { f.OnCreate = false }
	waits := func(l *ledger.Ledger) { l.Entries[cmKey] = digest.Digest{} }
	for name, tc := range map[string]struct {
		when *situation
		want Action
	}{
		"it is like one that is created":                         {seen(entered), Reload},
		"which counts for nobody":                                {seen(entered).with(never), Record},
		"its data was edited before, and creations do not count": {seen(edited(120)).with(never), Record},
		"its data was edited since":                              {seen(edited(131)).with(never), Reload},
		"its Pods were started since":                            {seen(entered).with(func(f *Facts) { f.Seen.Template = 131 }), Record},
		"it had the labels before, and got others":               {seen(relabeled(relabeling{130, grafana()})), ListPods},
		"it had them, and began to count with others": {seen(relabeled(relabeling{130, grafana()})).with(func(f *Facts) {
			f.Concerns[0].Seen.Annotations, f.Seen.ComparedAt = 130, 120
		}), Record},
		"it had them, and began to count before the comparison": {seen(relabeled(relabeling{130, grafana()})).with(func(f *Facts) {
			f.Concerns[0].Seen.Annotations, f.Seen.ComparedAt = 110, 120
		}), ListPods},
		"it had the labels before an edit, and got others since": {seen(edited(120)).with(never).with(func(f *Facts) { f.Concerns[0].Seen.Relabeled = relabeled(relabeling{130, grafana()}).Relabeled }), Reload},
		"it got the labels, and others since":                    {seen(relabeled(relabeling{110, source.LabelsOf(nil)}, relabeling{130, grafana()})), Reload},
		"it was created again since the workload selects it":     {seen(again).with(func(f *Facts) { f.Seen.Policy, f.Concerns[0].Source.Created = 145, at(150) }), Reload},
		"it concerns the workload anyway":                        {seen(entered).refersTo(cmKey).annotated(map[string]string{annotations.Sources: selector, annotations.DefaultNames().Auto: "true"}), Record},
		"at a time that only an earlier comparison shows":        {seen(entered).with(func(f *Facts) { f.Concerns[0].Source.LabeledAt, f.Seen.ComparedAt = 0, 120 }), Reload},
		"at a time that nothing shows, not even a comparison":    {seen(entered).with(func(f *Facts) { f.Concerns[0].Source.LabeledAt = 0 }), Record},
		"while no controller ran":                                {unseen(125).pods(1, 100), Reload},
		"while no controller ran, and the Pods are younger":      {unseen(125).pods(1, 200), Record},
		"while no controller ran, and its Pods are unknown":      {unseen(125), ListPods},
		"its reload waits":                                       {seen(entered).ledgerOf(waits), Reload},
		"its reload waits, and its data may be later": {seen(entered).ledgerOf(waits).with(func(f *Facts) {
			f.Concerns[0].Seen.Version, f.Seen.Template, f.Concerns[0].Source.DataTime = 150, 140, at(145)
		}).pods(1, 100), Reload},
		"its reload waits since before this controller":               {unseen(125).ledgerOf(waits).pods(1, 100), Reload},
		"its reload waits, and its Pods were started since":           {unseen(125).ledgerOf(waits).pods(1, 200), Record},
		"at a time from before the workload was opted in":             {unseen(125).with(func(f *Facts) { f.Workload.OptedInAt = at(126) }).pods(1, 100), Record},
		"at a time that nothing shows":                                {unseen(0).pods(1, 100), Record},
		"when there was no ledger":                                    {unseen(125).pods(1, 100).with(func(f *Facts) { f.Workload.LedgerText = "" }), Record},
		"with the workload":                                           {unseen(71).with(func(f *Facts) { f.Workload.Created = at(70) }).pods(1, 70), Record},
		"by its labels, but it is concerned by its name all the time": {seen(entered).with(func(f *Facts) { f.Concerns[0].Verdict.Rule = policy.RuleNamed }), Record},
	} {
		t.Run(name, func(t *testing.T) {
			d := decided(t, tc.when.f)
			if d.Action != tc.want {
				t.Fatalf("decided to %s, want %s: %s", d.Action, tc.want, d.Why)
			}
			if d.Action == ListPods {
				return
			}
			if d.Ledger.Entries[cmKey] != digestOf("one") || d.Ledger.Selecting != tc.when.f.Workload.Selecting(false) {
				t.Errorf("the ledger is %s", d.Ledger)
			}
			tc.when.f.Workload.LedgerText = d.Ledger.String()
			if again := decided(t, tc.when.f); again.Action != Nothing {
				t.Errorf("after that it was decided to %s: %s", again.Action, again.Why)
			}
		})
	}
}

func TestASourceThatLosesTheLabels(t *testing.T) {
	left := func(version uint64) func(*Facts) {
		return func(f *Facts) {
			f.Spared, f.Left = []source.LocalKey{cmKey}, []Left{{Key: cmKey, Version: version}}
		}
	}
	uncounted := func(f *Facts) { f.Left[0].Uncounted = true }
	deleting := func(f *Facts) { f.OnDelete, f.SettlePeriod = true, 1 }
	when := func(version uint64) *situation {
		s := web().with(selects).with(deleting)
		return s.ledger(func(l *ledger.Ledger) { selecting(s)(l); l.OnDelete = true }).with(left(version))
	}
	for name, tc := range map[string]struct {
		when *situation
		want Action
	}{
		"it is like one that is deleted":                {when(130), Reload},
		"while no controller ran":                       {when(0), Reload},
		"which counts for nobody":                       {when(130).with(func(f *Facts) { f.OnDelete = false }), Record},
		"while it was ignored":                          {when(130).with(uncounted), Record},
		"and was ignored later, while its reload waits": {when(130).with(uncounted).ledgerOf(func(l *ledger.Ledger) { l.Entries[cmKey] = digest.Digest{} }), Reload},
		"before deletions counted":                      {when(0).ledgerOf(func(l *ledger.Ledger) { l.OnDelete = false }), Record},
		"somebody else has rolled the workload":         {when(130).with(func(f *Facts) { f.Seen.Template = 131 }), Record},
		"the template came back since":                  {when(130).with(func(f *Facts) { f.Seen.Template, f.Seen.TemplateReverted = 131, true }), Reload},
		"it never had them":                             {when(130).ledgerOf(func(l *ledger.Ledger) { l.Entries = nil }), Nothing},
		"the workload selects others now":               {when(130).annotated(map[string]string{annotations.Sources: "plugins=loki"}), Record},
		"the workload named it, and does not":           {when(130).ledgerOf(func(l *ledger.Ledger) { l.Selecting = digestOf("other") }), Record},
		"the workload selects none now":                 {when(130).annotated(nil), Record},
		"it is known for another reason not to count":   {when(130).with(func(f *Facts) { f.Left = nil }), Record},
	} {
		t.Run(name, func(t *testing.T) {
			d := decided(t, tc.when.f)
			if d.Action != tc.want {
				t.Fatalf("decided to %s, want %s: %s", d.Action, tc.want, d.Why)
			}
			if d.Action == Nothing {
				return
			}
			if _, stays := d.Ledger.Entries[cmKey]; stays {
				t.Errorf("the ledger is %s", d.Ledger)
			}
			if d.Action == Reload && (!d.Changes[0].Deleted || d.Changes[0].Verdict.Rule != policy.RuleSelected) {
				t.Errorf("the change is %+v", d.Changes[0])
			}
			if again := decided(t, tc.when.with(func(f *Facts) { f.Workload.LedgerText = d.Ledger.String() }).f); again.Action != Nothing && !tc.when.f.Seen.TemplateReverted {
				t.Errorf("after that it was decided to %s: %s", again.Action, again.Why)
			}
		})
	}
}

// An annotation selects a source without the labels for a while, and its reload begins to wait then.
func TestAnAnnotationThatIsRemovedWhileItsReloadWaits(t *testing.T) {
	opted := map[string]string{annotations.Sources: selector, annotations.DefaultNames().Auto: "true"}
	edited := SourceSeen{Content: 120, Edited: true, Annotations: 1, Version: 120}
	for name, tc := range map[string]struct {
		before *situation // with that annotation
		after  func(*Facts)
		want   Action
		stays  bool
	}{
		"the reload ends": {web().source(source.ConfigMap, "cm", "two", 10, 120, edited), func(f *Facts) {
			f.Concerns, f.Spared, f.Left = nil, []source.LocalKey{cmKey}, []Left{{Key: cmKey}}
		}, Record, false},
		"the reload stays, because the source has the labels, too": {web().selected("two", 120, edited), func(*Facts) {}, Reload, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.before.refersTo(cmKey).with(func(f *Facts) { f.OnDelete, f.SettlePeriod = true, 1 })
			s.annotated(map[string]string{annotations.Sources: selector})
			s.ledger(func(l *ledger.Ledger) { selecting(s)(l); l.OnDelete = true }).annotated(opted)
			d := decided(t, s.f)
			if d.Action != Reload {
				t.Fatalf("decided to %s: %s", d.Action, d.Why)
			}
			held, _ := s.f.Defer(&d, false)
			s.annotated(map[string]string{annotations.Sources: selector}).with(tc.after).with(func(f *Facts) { f.Workload.LedgerText = held.Ledger.String() })
			after := Decide(s.f)
			if _, stays := after.Ledger.Entries[cmKey]; after.Action != tc.want || stays != tc.stays {
				t.Errorf("once the annotation is removed, it was decided to %s: %s; the ledger is %s", after.Action, after.Why, after.Ledger)
			}
		})
	}
}

func TestSinceWhenASourceHasLostTheLabels(t *testing.T) {
	labels := func(plugins string) source.Labels { return source.LabelsOf(map[string]string{"plugins": plugins}) }
	lost := relabeled(relabeling{110, labels("none")}, relabeling{120, labels("grafana")})
	counts := func(since uint64) SourceSeen {
		seen := lost
		seen.Annotations = since
		return seen
	}
	for name, tc := range map[string]struct {
		seen SourceSeen
		want []Left
	}{
		"it counted before":           {counts(1), []Left{{cmKey, 120, false}}},
		"it counts since just before": {counts(119), []Left{{cmKey, 120, false}}},
		"it was ignored until then":   {counts(120), []Left{{cmKey, 120, true}}},
		"nobody saw it":               {SourceSeen{Annotations: 120, Version: 130}, []Left{{cmKey, 0, false}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := web().with(selects)
			src := source.Source{Key: cmKey.In("shop"), Annotations: source.Annotations{Labels: labels("loki")}}
			if s.f.Spare(&src, tc.seen); !slices.Equal(s.f.Left, tc.want) {
				t.Errorf("got %v, want %v", s.f.Left, tc.want)
			}
		})
	}
}

func TestADeletedSourceThatOnlyLabelsSelected(t *testing.T) {
	deleting := func(f *Facts) { f.OnDelete, f.SettlePeriod = true, 1 }
	others := func(l *ledger.Ledger) { l.OnDelete, l.Selecting = true, digestOf("x") }
	reselected := func(l *ledger.Ledger) { l.Selecting = digestOf("x") }
	seen := func(f *Facts) {
		deleting(f)
		had := source.Annotations{Labels: source.LabelsOf(map[string]string{"plugins": "grafana"})}
		f.Gone = map[source.LocalKey]Departure{cmKey: {Version: 130, Source: source.Source{Key: cmKey.In("shop"), Annotations: had}}}
	}
	for name, tc := range map[string]struct {
		change  func(*ledger.Ledger)
		with    func(*Facts)
		want    Action
		remains bool
	}{
		"its entry stays, in case it is created again": {func(*ledger.Ledger) {}, func(*Facts) {}, Nothing, true},
		"deletions count": {func(l *ledger.Ledger) { l.OnDelete = true }, deleting, Reload, false},
		"something else selected it, and does not any more":                           {others, deleting, Record, false},
		"another annotation selected it before, and the watch has shown the deletion": {others, seen, Reload, false},
		"another annotation selected it before, and no deletion counts": {reselected, func(f *Facts) {
			seen(f)
			f.OnDelete = false
		}, Record, true},
		"another annotation selected it before, and it did not have the labels any more": {reselected, func(f *Facts) {
			seen(f)
			f.OnDelete, f.Gone[cmKey] = false, Departure{Version: 130, Source: source.Source{Key: cmKey.In("shop")}}
		}, Record, false},
		"the workload was opted in after the watch has shown the deletion, and none counts": {reselected, func(f *Facts) {
			seen(f)
			f.OnDelete, f.Seen.Policy = false, 131
		}, Record, false},
		"the workload was opted in after the watch has shown the deletion": {others, func(f *Facts) {
			seen(f)
			f.Seen.Policy = 131
		}, Record, false},
		"its reload has waited since, so it has been compared since": {func(l *ledger.Ledger) {
			others(l)
			l.Entries[cmKey] = digest.Digest{}
		}, func(f *Facts) {
			seen(f)
			f.Seen.Policy = 131
		}, Reload, false},
		"an earlier version wrote the ledger": {func(l *ledger.Ledger) { l.Selecting = digest.Digest{} }, func(*Facts) {}, Record, false},
		"deletions count, and it is known that it had others": {func(l *ledger.Ledger) { l.OnDelete = true }, func(f *Facts) {
			deleting(f)
			f.Gone = map[source.LocalKey]Departure{cmKey: {Version: 130, Source: source.Source{Key: cmKey.In("shop"), Annotations: source.Annotations{Labels: source.LabelsOf(nil)}}}}
		}, Record, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := web().with(selects)
			s.ledger(func(l *ledger.Ledger) { selecting(s)(l); tc.change(l) }).with(tc.with)
			d := decided(t, s.f)
			if d.Action != tc.want {
				t.Fatalf("decided to %s, want %s: %s", d.Action, tc.want, d.Why)
			}
			if _, remains := d.Ledger.Entries[cmKey]; d.Action != Nothing && remains != tc.remains {
				t.Errorf("the ledger is %s", d.Ledger)
			}
		})
	}
	// A reference that only decides if the workload is opted in for references does not count.
	s := web().with(selects).with(deleting)
	s.ledger(func(l *ledger.Ledger) { selecting(s)(l); l.OnDelete = true })
	if d := decided(t, s.refersTo(newKey).f); d.Action != Reload {
		t.Errorf("with another reference, it was decided to %s: %s", d.Action, d.Why)
	}
	// It was opted in for another reason before, and no longer is.
	referenced := web().with(selects).refersTo(cmKey).with(deleting)
	if d := decided(t, referenced.ledger(func(l *ledger.Ledger) { l.OnDelete, l.Selecting = true, digestOf("x") }).f); d.Action != Record {
		t.Errorf("a source that concerned the workload for another reason before: decided to %s: %s", d.Action, d.Why)
	}
	// Created again with other data, it is a change, although nothing else shows that it was there.
	s = web().with(selects)
	if d := decided(t, s.ledger(selecting(s)).selected("two", 120, SourceSeen{Content: 120, Created: 120, Annotations: 120, Version: 120}).f); d.Action != Reload {
		t.Errorf("created again with other data, it was decided to %s: %s", d.Action, d.Why)
	}
}

func TestTheMarkOfASelectedSourceIsInTheFirstContainer(t *testing.T) {
	s := web().with(selects)
	d := decided(t, s.ledger(selecting(s)).selected("two", 120, SourceSeen{Content: 120, Edited: true, Annotations: 1, Version: 120}).f)
	if d.Action != Reload {
		t.Fatalf("decided to %s", d.Action)
	}
	if m := d.Mark(&s.f.Workload, WorkloadSeen{}, digest.SecretMarksKeyed, at(100)); len(m.Env) != 1 || m.Env[0].Container != "app" {
		t.Errorf("the mark is %+v", m)
	}
}

func TestASelectorThatSelectsNothing(t *testing.T) {
	s := web().with(selects)
	if got := s.f.Unmatched(); len(got) != 1 || got[0].Text != selector || !got[0].Labels {
		t.Errorf("got %v", got)
	}
	another := web().with(selects).ledger(func(l *ledger.Ledger) { l.Selecting = digest.Digest{7} })
	if got := another.f.Unmatched(); len(got) != 1 {
		t.Errorf("another selector selected one before: got %v", got)
	}
	before := web().with(selects)
	foreign := web().with(selects).selected("one", 20, SourceSeen{}).with(func(f *Facts) {
		f.Concerns[0].Source.Key.Name, f.Concerns[0].Verdict.Rule = "infra/ca", policy.RuleNamed
	})
	if got := foreign.f.Unmatched(); len(got) != 1 {
		t.Errorf("a source of another namespace, which no selector reaches: got %v", got)
	}
	for name, s := range map[string]*situation{
		"one is selected":           web().with(selects).selected("one", 20, SourceSeen{}),
		"one was selected before":   before.ledger(selecting(before)),
		"Secrets are not watched":   web().with(selects).with(func(f *Facts) { f.Unread = []source.Kind{source.Secret} }),
		"there is no selector":      web().annotated(nil),
		"one is selected and named": web().with(selects).selected("one", 20, SourceSeen{}).with(func(f *Facts) { f.Concerns[0].Verdict.Rule = policy.RuleNamed }),
	} {
		if got := s.f.Unmatched(); len(got) != 0 {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
