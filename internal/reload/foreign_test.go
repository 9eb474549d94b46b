package reload

import (
	"maps"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

var foreignKey = source.LocalKey{Kind: source.ConfigMap, Name: "infra/ca"}

func allows(text string) annotations.AllowFrom {
	from, _ := annotations.ReadAllowFrom(map[string]string{annotations.AllowFromKey: text})
	return from
}

// elsewhere is Deployment web, which names ConfigMap ca of namespace infra, and no source of its own.
func elsewhere() *situation {
	s := web()
	s.f.Workload.Policy, _ = policy.Parse(map[string]string{annotations.DefaultNames().ConfigMap: "infra/ca"}, nil, annotations.DefaultNames())
	s.f.Workload.References, s.f.Key = nil, testKey("k")
	return s
}

func (s *situation) ca(content string, data int64, allowed uint32, seen SourceSeen) *situation {
	s.source(source.ConfigMap, "infra/ca", content, 10, data, seen)
	c := &s.f.Concerns[len(s.f.Concerns)-1]
	c.Source.Annotations.AllowFrom, c.Source.AllowedAt = allows("shop"), allowed
	c.Verdict = policy.Verdict{Concerned: true, Rule: policy.RuleNamed, Entry: "infra/ca"}
	return s
}

func (s *situation) spared() *situation {
	src := source.Source{Key: foreignKey.In("shop")}
	s.f.Spare(&src, SourceSeen{Version: 60})
	return s
}

func recordsCA(l *ledger.Ledger) {
	l.Entries = map[source.LocalKey]digest.Digest{foreignKey: digestOf("one")}
}

func TestSourcesOfOtherNamespaces(t *testing.T) {
	onDelete := func(l *ledger.Ledger) { recordsCA(l); l.OnDelete = true }
	gone := func(f *Facts) {
		f.OnDelete = true
		f.Gone = map[source.LocalKey]Departure{foreignKey: {Version: 140, Source: source.Source{Key: foreignKey.In("shop"), Annotations: source.Annotations{AllowFrom: allows("shop")}}}}
	}
	ofInfra := func(origin source.Key) bool { return origin.Namespace == "infra" }
	lostKey := func(f *Facts) { f.Key = testKey("x") }
	withdrawnThenGone := func(f *Facts) {
		gone(f)
		left := f.Gone[foreignKey]
		left.Source.Annotations.AllowFrom = allows("bank")
		f.Gone[foreignKey] = left
	}
	given := func(version uint64) *Changes[annotations.AllowFrom] {
		var seen SourceSeen
		seen.Allow(version, allows("bank"))
		return seen.Allowed
	}
	for name, tc := range map[string]struct {
		given *situation
		want  Action
	}{
		"the first time":                              {elsewhere().ca("one", 52, 55, SourceSeen{Version: 60}), Record},
		"unchanged":                                   {elsewhere().ledger(recordsCA).ca("one", 60, 55, SourceSeen{Version: 60}), Nothing},
		"changed":                                     {elsewhere().ledger(recordsCA).ca("two", 140, 55, SourceSeen{Content: 140, Edited: true, Version: 140}), Reload},
		"changed before a restart, older Pods":        {elsewhere().ledger(recordsCA).ca("two", 140, 55, SourceSeen{Version: 140}).pods(1, 70), Reload},
		"changed before a restart, younger Pods":      {elsewhere().ledger(recordsCA).ca("two", 140, 55, SourceSeen{Version: 140}).pods(1, 170), Record},
		"consent is withdrawn":                        {elsewhere().ledger(recordsCA).spared(), Record},
		"without consent and entry":                   {elsewhere().spared(), Nothing},
		"consent is given, the data is older":         {elsewhere().ledger(func(l *ledger.Ledger) { l.Entries = nil }).ca("two", 140, 150, SourceSeen{Content: 140, Edited: true, Version: 150, Allowed: given(150)}), Record},
		"consent is given, then the data changes":     {elsewhere().ledger(func(l *ledger.Ledger) { l.Entries = nil }).ca("two", 160, 150, SourceSeen{Content: 160, Edited: true, Version: 160, Allowed: given(150)}), Reload},
		"consent given while away, the data is older": {elsewhere().ca("two", 140, 150, SourceSeen{Version: 150}).pods(1, 70), Record},
		"consent given while away, then the data":     {elsewhere().ca("two", 160, 150, SourceSeen{Version: 160}).pods(1, 70), Reload},
		"nothing shows when consent was given":        {elsewhere().ca("two", 160, 0, SourceSeen{Version: 160}).pods(1, 70), Record},
		"deleted, and that counts":                    {elsewhere().ledger(onDelete).with(gone), Reload},
		"deleted, and it does not":                    {elsewhere().ledger(recordsCA), Nothing},
		"deleted after consent was withdrawn":         {elsewhere().ledger(onDelete).with(withdrawnThenGone), Record},
		"a ledger with a lost key":                    {elsewhere().ledger(func(l *ledger.Ledger) { recordsCA(l); l.Instance = "key-0" }).ca("two", 55, 52, SourceSeen{Version: 60}).with(lostKey).pods(1, 70), Record},
		"a lost key, changed since":                   {elsewhere().ledger(func(l *ledger.Ledger) { recordsCA(l); l.Instance = "key-0" }).ca("two", 140, 52, SourceSeen{Content: 140, Edited: true, Version: 140}).with(lostKey), Reload},
		"a lost key, changed before a restart":        {elsewhere().ledger(func(l *ledger.Ledger) { recordsCA(l); l.Instance = "key-0" }).ca("two", 140, 52, SourceSeen{Version: 140}).with(lostKey).pods(1, 70), Reload},
		"deleted before a restart, and that counts":   {elsewhere().ledger(onDelete).with(func(f *Facts) { f.OnDelete = true }), Reload},
		"one digest for all others": {elsewhere().ledger(func(l *ledger.Ledger) {
			recordsCA(l)
			l.Aggregates = map[source.Kind]ledger.Total{source.ConfigMap: {Count: 1}}
		}).ca("two", 140, 55, SourceSeen{Content: 140, Edited: true, Version: 140}), Reload},
		"a namespace that is not watched": {elsewhere().ledger(recordsCA).ca("two", 140, 55, SourceSeen{Content: 140, Edited: true, Version: 140}).with(func(f *Facts) {
			f.LeaveOut(ofInfra)
		}), Nothing},
		"deleted in a namespace that is not watched": {elsewhere().ledger(onDelete).with(func(f *Facts) { f.OnDelete = true; f.LeaveOut(ofInfra) }), Nothing},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(tc.given.f)
			if d.Action != tc.want {
				t.Fatalf("%s (%s), want %s", d.Action, d.Why, tc.want)
			}
			if strings.HasPrefix(name, "consent is withdrawn") && len(d.Ledger.Entries) > 0 {
				t.Errorf("the ledger keeps %v", d.Ledger.Entries)
			}
			later, _ := tc.given.f.Defer(&d, false)
			for _, l := range []ledger.Ledger{d.Ledger, later.Ledger} {
				signed := l
				signed.Entries = maps.Clone(l.Entries)
				if signed.DropUnsigned(tc.given.f.Key); len(signed.Entries) != len(l.Entries) {
					t.Errorf("the next decision would not believe %s", l)
				}
			}
		})
	}
}

func TestMarksOfOtherNamespacesRevealNothing(t *testing.T) {
	s := elsewhere().ledger(recordsCA).ca("two", 140, 55, SourceSeen{Content: 140, Edited: true, Version: 140})
	plain := workload.MarkHash(source.Source{Key: foreignKey.In("infra"), Reloader: s.f.Concerns[0].Source.Reloader}, digest.SecretMarksKeyed)
	s.f.Conceal()
	once := s.f.Concerns[0].Source.Digest
	s.f.Conceal()
	if s.f.Concerns[0].Source.Digest != once || once == digestOf("two") {
		t.Errorf("digest %s", s.f.Concerns[0].Source.Digest)
	}
	d := Decide(s.f)
	for _, marks := range []digest.SecretMarks{digest.SecretMarksKeyed, digest.SecretMarksSHA1} {
		for _, step := range []ledger.Step{ledger.StepVariables, ledger.StepAnnotation} {
			d.Ledger.Step = step
			m := d.Mark(&s.f.Workload, s.f.Seen, marks, at(150))
			text := m.ReloadedFrom
			for _, env := range m.Env {
				text += env.Variable + "=" + env.Value
			}
			if text == "" || strings.Contains(text, plain) || strings.Contains(text, strings.Repeat("0", 20)) {
				t.Errorf("mark %s", text)
			}
			if step == ledger.StepVariables && !strings.HasPrefix(text, "STAKATER_INFRA_CA_CONFIGMAP=") || step == ledger.StepAnnotation && !strings.Contains(text, `"name":"ca","namespace":"infra"`) {
				t.Errorf("mark %s", text)
			}
		}
	}
}

func TestWhatAWorkloadNamesInVain(t *testing.T) {
	watched := func(source.Key) bool { return false }
	own := func(f *Facts) {
		f.Workload.Policy, _ = policy.Parse(map[string]string{annotations.DefaultNames().ConfigMap: "shop/ca"}, nil, annotations.DefaultNames())
	}
	for name, tc := range map[string]struct {
		given *situation
		want  int
	}{
		"it does not exist":  {elsewhere(), 1},
		"it does not allow":  {elsewhere().spared(), 1},
		"it allows":          {elsewhere().ca("one", 60, 55, SourceSeen{Version: 60}), 0},
		"Reroll reads none":  {elsewhere().with(func(f *Facts) { f.Unread = []source.Kind{source.ConfigMap} }), 0},
		"its own namespace":  {elsewhere().with(own), 0}, // its annotation is reported
		"it is not selected": {elsewhere().with(func(f *Facts) { f.Unselected = []source.LocalKey{foreignKey} }), 0},
	} {
		if got := tc.given.f.NotAllowed(watched); len(got) != tc.want {
			t.Errorf("%s: %v", name, got)
		}
		if missing := tc.given.f.Missing(); len(missing) > 0 {
			t.Errorf("%s: %v does not exist, which nobody else may know", name, missing)
		}
	}
	if got := elsewhere().ca("one", 60, 55, SourceSeen{Version: 60}).f.NotAllowed(func(source.Key) bool { return true }); len(got) != 1 {
		t.Errorf("not watched: %v", got)
	}
}
