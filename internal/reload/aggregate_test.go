package reload

import (
	"fmt"
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// crowded is web with more sources than its ledger has room for, all of them as the ledger has
// them.
func crowded(kind source.Kind, instance string, sources int) *situation {
	l := ledger.Ledger{UID: "uid-1", Instance: instance, Counter: 3, DataTime: 60, Entries: map[source.LocalKey]digest.Digest{}}
	s := web()
	for i := range sources {
		name := fmt.Sprintf("s-%d", i)
		l.Entries[source.LocalKey{Kind: kind, Name: name}] = digestOf("one")
		s.source(kind, name, "one", 10, 55, SourceSeen{Version: 55})
	}
	s.f.Workload.LedgerText = l.String()
	return s
}

func (s *situation) seventh(content string, seen SourceSeen) *situation {
	s.f.Concerns[7].Source.Digest, s.f.Concerns[7].Seen = digestOf(content), seen
	s.f.Concerns[7].Source.DataTime, s.f.Concerns[7].Source.EditedAt = at(150), 150
	return s
}

func TestOneDigestForManySources(t *testing.T) {
	const many = 600
	edited := SourceSeen{Content: 150, Edited: true, Version: 150}
	appeared := SourceSeen{Content: 120, Annotations: 120, Version: 120}
	compared := func(f *Facts) { f.Seen.Compared = true }
	for name, tc := range map[string]struct {
		when *situation
		want Action
	}{
		"nothing differs": {crowded(source.ConfigMap, instance, many), Nothing},
		"one was seen to change": {crowded(source.ConfigMap, instance, many).seventh("two", edited).with(compared).with(func(f *Facts) {
			f.Concerns[7].Away = Away{Version: 150, Noted: true}
		}), Reload},
		"one changed while nobody watched":       {crowded(source.ConfigMap, instance, many).seventh("two", SourceSeen{Version: 150}), ListPods},
		"one was made":                           {crowded(source.ConfigMap, instance, many).source(source.ConfigMap, "new", "x", 120, 120, appeared).with(compared), Record},
		"one was made while nobody watched":      {crowded(source.ConfigMap, instance, many).source(source.ConfigMap, "new", "x", 120, 120, SourceSeen{Version: 120}), Record},
		"one was deleted":                        {crowded(source.ConfigMap, instance, many).with(func(f *Facts) { f.Concerns = f.Concerns[1:] }).with(compared), Record},
		"one was deleted while nobody watched":   {crowded(source.ConfigMap, instance, many).with(func(f *Facts) { f.Concerns = f.Concerns[1:] }), Record},
		"its key was lost":                       {crowded(source.Secret, "key-0", many), Record},
		"its key was lost, and one changed":      {crowded(source.Secret, "key-0", many).seventh("two", edited), Reload},
		"its key was lost, and one may be newer": {crowded(source.Secret, "key-0", many).seventh("two", SourceSeen{Version: 150}), ListPods},
	} {
		t.Run(name, func(t *testing.T) {
			d := decided(t, tc.when.f)
			if d.Action != tc.want {
				t.Fatalf("decided to %s, want %s: %s", d.Action, tc.want, d.Why)
			}
			if d.Action != Record && d.Action != Reload {
				return
			}
			// What is written has to end it.
			tc.when.f.Workload.LedgerText = d.Ledger.String()
			if again := decided(t, tc.when.with(func(f *Facts) {
				for i := range f.Concerns {
					f.Concerns[i].Away = Away{}
				}
			}).f); again.Action != Nothing {
				t.Errorf("then decided to %s: %s", again.Action, again.Why)
			}
		})
	}
}

func TestALedgerThatFollowsOnOthers(t *testing.T) {
	text := func(l ledger.Ledger) string {
		if l.UID == "" {
			l.UID = "uid-1"
		}
		return l.String()
	}
	first, second := text(ledger.Ledger{Counter: 3, Writes: 9}), text(ledger.Ledger{Counter: 3, Writes: 10})
	for about, tc := range map[string]struct {
		standing string
		others   []string
		want     bool
	}{
		"the next one":                           {second, []string{first}, true},
		"the first":                              {first, []string{"", ""}, true},
		"the same again":                         {first, []string{first}, true},
		"one that was set back":                  {first, []string{second}, false},
		"the same, when it was absent":           {first, []string{"", second}, false},
		"none":                                   {"", []string{first}, false},
		"none, as before":                        {"", []string{""}, false},
		"what is no ledger":                      {"{", []string{first}, false},
		"one in place of that":                   {first, []string{"{"}, true},
		"that of another object":                 {text(ledger.Ledger{UID: "other", Counter: 4}), []string{first}, false},
		"one in place of that of another object": {first, []string{text(ledger.Ledger{UID: "other", Counter: 4})}, true},
		"that of another instance":               {text(ledger.Ledger{Instance: "other", Counter: 4}), []string{first}, false},
		"one that a newer version has written":   {`{"v":99,"uid":"uid-1"}`, []string{first}, false},
	} {
		w := workload.Workload{UID: "uid-1"}
		var others []ledger.Rank
		for _, text := range tc.others {
			others = append(others, w.LedgerRank(text))
		}
		if got := w.LedgerRank(tc.standing).Follows(others...); got != tc.want {
			t.Errorf("%s: got %t", about, got)
		}
	}
}

func TestTheEntryOfADeletedSourceThatAnExpressionNamesStays(t *testing.T) {
	s := web().ledger(func(l *ledger.Ledger) {
		l.Entries[source.LocalKey{Kind: source.ConfigMap, Name: "pat-a"}] = digestOf("A")
	}).cmSeen("two", 120)
	s.f.Workload.Policy, _ = policy.Parse(map[string]string{annotations.DefaultNames().ConfigMap: "pat-.*"}, nil, annotations.DefaultNames())
	if _, kept := decided(t, s.f).Ledger.Entries[source.LocalKey{Kind: source.ConfigMap, Name: "pat-a"}]; !kept {
		t.Error("it is dropped, and when it comes back with another content nobody knows")
	}
}
