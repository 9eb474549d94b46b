package reload

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// aggregated gives the workload a ledger with one digest for all ConfigMaps, and a template from after
// the deletion.
func (s *situation) aggregated(optional bool) *situation {
	s.f.Seen.Template, s.f.Seen.Compared = 120, true
	c := &s.f.Concerns[0]
	c.Away = Away{Version: 130, Noted: true}
	if optional {
		c.Away.Version = 110
		c.Uses = []workload.Use{{How: workload.UseEnvFrom, Container: "app", Optional: true}}
	}
	return s.ledger(func(l *ledger.Ledger) {
		l.Entries = map[source.LocalKey]digest.Digest{}
		l.Aggregates = map[source.Kind]ledger.Total{source.ConfigMap: {Count: 1, Digest: digestOf("x")}}
	})
}

// ConfigMap cm had other data when it was deleted at 110. It was created again at 130, with data that
// no ledger has.
func TestASourceThatWasDeletedAndIsCreatedAgain(t *testing.T) {
	again := func() *situation {
		s := web().cm("two", 130)
		s.f.Concerns[0].Seen = SourceSeen{Content: 130, Created: 130, Departed: 110, Edited: true, Annotations: 1, Version: 130}
		return s
	}
	// It was edited at 100. The reload for that came after the deletion.
	asItWas := func(f *Facts) {
		f.Concerns[0].Seen.Content, f.Concerns[0].Seen.Written = 100, at(100)
		f.Seen.Template, f.Seen.Compared = 120, true
	}
	undone := func(f *Facts) { f.Seen.TemplateReverted, f.Workload.RolledOut = true, true }
	for name, tc := range map[string]struct {
		when *situation
		want Action
	}{
		"the workload used it before":              {again(), Reload},
		"its template is from before the deletion": {again().with(func(f *Facts) { f.Seen.Template = 105 }), Reload},
		"its Pods were started without it":         {again().with(func(f *Facts) { f.Seen.Template = 120 }), Record},
		"it was opted in before the deletion":      {again().with(func(f *Facts) { f.Seen.Policy = 105 }), Reload},
		"it was opted in without it":               {again().with(func(f *Facts) { f.Seen.Policy = 120 }), Record},
		"its template has Pods from before": {again().with(func(f *Facts) {
			f.Seen.Template, f.Seen.TemplateReverted, f.Workload.RolledOut = 120, true, true
		}), Reload},
		"its reload ended without it, and it is back as it was":          {again().with(asItWas), Record},
		"that reload was undone, and Pods from before its edit are back": {again().with(asItWas).with(undone).pods(1, 99), Reload},
		"that reload was undone, and Pods from after its edit are back":  {again().with(asItWas).with(undone).pods(1, 106), Record},
		"the same, and the removal of a key has no time": {again().with(asItWas).with(undone).with(func(f *Facts) {
			f.Concerns[0].Seen.Timeless = true
		}).pods(1, 129), Reload},
		"the same, and all Pods are from after its creation": {again().with(asItWas).with(undone).with(func(f *Facts) {
			f.Concerns[0].Seen.Timeless = true
		}).pods(1, 136), Record},
		"it was edited since": {again().with(func(f *Facts) {
			f.Seen.Template, f.Concerns[0].Seen.Content = 120, 135
		}), Reload},
		"its ledger has one digest, and Pods were started without it": {again().aggregated(false), Record},
		"its ledger has one digest, and Pods do without it":           {again().aggregated(true), Reload},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Decide(tc.when.f); got.Action != tc.want {
				t.Errorf("got %s (%s), want %s", got.Action, got.Why, tc.want)
			}
		})
	}
}

// A reload for the deletion of ConfigMap cm, which no watch has shown, dropped its entry and was undone:
// Pods from before are back. It was created again at 130.
func TestASourceThatIsCreatedBehindPodsThatAreBack(t *testing.T) {
	back := func() *situation {
		s := webReverted(0).with(func(f *Facts) { f.Concerns, f.OnDelete = nil, true }).ledgerOf(func(l *ledger.Ledger) {
			l.OnDelete = true
			delete(l.Entries, cmKey)
		})
		return s.source(source.ConfigMap, "cm", "two", 130, 130, SourceSeen{Content: 130, Created: 130, Annotations: 1, Version: 130})
	}
	for name, tc := range map[string]struct {
		when *situation
		want Action
	}{
		"the end of the rollout is awaited":         {back().with(func(f *Facts) { f.Workload.RolledOut = false }).pods(2, 99), AwaitRollout},
		"then the Pods are asked":                   {back(), ListPods},
		"one is older":                              {back().pods(1, 129), Reload},
		"all are younger":                           {back().pods(2, 130), Record},
		"there are none":                            {back().pods(0, 0), Record},
		"there are some, and none of them is found": {back().with(guessed).with(func(f *Facts) { f.Workload.Progress.Total = 1 }).pods(0, 0), Reload},
		"the controller has restarted": {back().with(func(f *Facts) {
			f.Seen, f.Concerns[0].Seen = WorkloadSeen{Since: 140}, SourceSeen{Version: 130}
		}).pods(1, 129), Reload},
		"deletions are no changes": {back().ledgerOf(func(l *ledger.Ledger) { l.OnDelete = false }).with(func(f *Facts) { f.OnDelete = false }), Record},
		"it concerns the workload since then, which we never rolled": {back().ledgerOf(func(l *ledger.Ledger) { l.Counter = 0 }).with(func(f *Facts) {
			f.Seen.Adopted = 140
		}), Record},
		"only another client's rollout may be undone": {back().pods(1, 129).ledgerOf(func(l *ledger.Ledger) { l.Marks = digest.Digest{} }), Record},
		"that reload has started all Pods":            {back().with(func(f *Facts) { f.Seen.TemplateReverted = false }).pods(1, 129), Record},
	} {
		t.Run(name, func(t *testing.T) {
			if d := decided(t, tc.when.f); d.Action != tc.want {
				t.Errorf("got %s (%s), want %s", d.Action, d.Why, tc.want)
			}
		})
	}
}

// A ledger notes the deletion of ConfigMap cm without a reload: it did not concern the workload then. It
// was created again at 130 as it was.
func TestASourceThatReturnsAsItWas(t *testing.T) {
	back := func(creates bool) *situation {
		s := web().with(onDelete).ledger(func(l *ledger.Ledger) {
			l.OnDelete, l.Gone = true, map[source.LocalKey]struct{}{{Kind: source.ConfigMap, Name: "cm"}: {}}
		}).cm("one", 130)
		s.f.Concerns[0].Seen = SourceSeen{Content: 130, Created: 130, Annotations: 1, Version: 130}
		s.f.Concerns[0].Source.Created = at(130)
		s.f.OnCreate, s.f.Seen.Compared = creates, true
		return s
	}
	for name, tc := range map[string]struct {
		when *situation
		want Action
	}{
		"a creation is a change":                {back(true), Reload},
		"a creation is none":                    {back(false), Record},
		"its Pods were started since":           {back(true).with(func(f *Facts) { f.Seen.Template = 140 }), Record},
		"it concerns the workload only since":   {back(true).with(func(f *Facts) { f.Seen.Policy = 140 }), Record},
		"it was created right after the object": {back(true).with(func(f *Facts) { f.Workload.Created, f.SettlePeriod = at(130), time.Second }), Record},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Decide(tc.when.f); got.Action != tc.want {
				t.Errorf("got %s (%s), want %s", got.Action, got.Why, tc.want)
			}
		})
	}
}

// The template of web began to use ConfigMap cm at 125. It was deleted at 130, before a ledger recorded
// its data: Pods may have started with it or without it. It is created again at 150.
func TestASourceThatIsDeletedBeforeALedgerHasIt(t *testing.T) {
	deleted := func(optional bool) *situation {
		s := web().annotated(map[string]string{annotations.DefaultNames().Auto: "true"}).cm("one", 120).ledger(func(l *ledger.Ledger) {
			l.Entries = map[source.LocalKey]digest.Digest{secKey: digestOf("s")}
		})
		left := Departure{Version: 130, Source: s.f.Concerns[0].Source, Seen: SourceSeen{Version: 120}}
		s.f.Concerns, s.f.Gone, s.f.Seen.Template, s.f.OnCreate = nil, map[source.LocalKey]Departure{cmKey: left}, 125, true
		s.f.Workload.References = []workload.Reference{{Key: cmKey, Uses: []workload.Use{{How: workload.UseEnvFrom, Container: "app", Optional: optional}}}}
		return s
	}
	never := func(f *Facts) { f.OnCreate = false }
	restarted := func(f *Facts) { f.Seen, f.Concerns[0].Seen = WorkloadSeen{Since: 150}, SourceSeen{Version: 150} }
	for name, tc := range map[string]struct {
		when  *situation
		data  string
		since func(*Facts)
		want  Action
	}{
		"as it was, and Pods start without it":                {deleted(true), "one", nil, Reload},
		"with other data, and Pods start without it":          {deleted(true), "two", nil, Reload},
		"as it was, while no controller ran":                  {deleted(true), "one", restarted, ListPods},
		"as it was, and Pods start without it, after another": {deleted(true), "one", func(f *Facts) { f.Seen.Template = 160 }, Record},
		"as it was, and Pods wait for it":                     {deleted(false), "one", nil, Nothing},
		"as it was, and a creation is no change":              {deleted(true).with(never), "one", nil, Nothing},
		"with other data, and a creation is no change":        {deleted(true).with(never), "two", nil, Reload},
	} {
		t.Run(name, func(t *testing.T) {
			first := decided(t, tc.when.f)
			if first.Action != Record {
				t.Fatalf("got %s (%s), want %s", first.Action, first.Why, Record)
			}
			s := tc.when.cm(tc.data, 150)
			c := &s.f.Concerns[0]
			c.Uses = s.f.Workload.References[0].Uses
			c.Seen = SourceSeen{Content: 150, Created: 150, Departed: 130, Edited: true, Annotations: 150, Version: 150}
			if tc.data == "one" {
				c.Seen.Content = 0
			}
			s.f.Gone, s.f.Workload.LedgerText, s.f.Seen.Compared = nil, first.Ledger.String(), true
			if tc.since != nil {
				tc.since(&s.f)
			}
			if d := decided(t, s.f); d.Action != tc.want {
				t.Errorf("got %s (%s), want %s", d.Action, d.Why, tc.want)
			}
		})
	}
}

// ConfigMap cm was deleted at 110 and created again at 130, as the watch has shown. A snapshot has it since,
// which shows no version of a later edit. The bundles of a union may be older than its return, and that is
// what moved its time.
func TestAnEditInAGapAfterASourceWasCreatedAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		version          uint64
		created, written int64
		want             Action
	}{
		"it was edited since":                          {150, 130, 150, ListPods},
		"it is as it was created":                      {150, 130, 130, Record},
		"it is a union, and is back":                   {130, 50, 130, Record},
		"it is a union, and may have changed in a gap": {150, 50, 130, ListPods},
	} {
		t.Run(name, func(t *testing.T) {
			s := web().source(source.ConfigMap, "cm", "two", tc.created, tc.written, SourceSeen{Created: 130, Departed: 110, Version: tc.version})
			s.f.Seen.Compared = true
			if d := decided(t, s.f); d.Action != tc.want {
				t.Errorf("decided to %s, want %s: %s", d.Action, tc.want, d.Why)
			}
		})
	}
}
