package reload

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

var (
	cmKey  = source.LocalKey{Kind: source.ConfigMap, Name: "cm"}
	newKey = source.LocalKey{Kind: source.ConfigMap, Name: "new"}
	secKey = source.LocalKey{Kind: source.Secret, Name: "sec"}
)

// refersTo adds a reference to a ConfigMap.
func (s *situation) refersTo(key source.LocalKey) *situation {
	s.f.Workload.References = append(s.f.Workload.References, workload.Reference{Key: key, Uses: []workload.Use{{How: workload.UseEnvFrom, Container: "app"}}})
	slices.SortFunc(s.f.Workload.References, func(a, b workload.Reference) int { return source.CompareLocalKeys(a.Key, b.Key) })
	return s
}

// waited gives the workload a first ledger that shows only that a reload for a source waits.
func (s *situation) waited(key source.LocalKey) *situation {
	return s.ledger(func(l *ledger.Ledger) {
		l.Counter, l.DataTime, l.Entries = 0, 0, map[source.LocalKey]digest.Digest{key: {}}
	})
}

func onCreate(f *Facts) { f.OnCreate, f.SettlePeriod, f.Workload.Created = true, time.Second, at(70) }

func onDelete(f *Facts) {
	f.OnDelete, f.SettlePeriod = true, time.Second
	f.Workload.Policy, _ = policy.Parse(map[string]string{annotations.DefaultNames().Auto: "true"}, nil, annotations.DefaultNames())
}

func TestASourceThatIsMade(t *testing.T) {
	// ConfigMap new is made long after web, which has a ledger without it.
	seen := func(version uint64) *situation {
		return web().refersTo(newKey).ledger(nil).cm("one", 60).with(onCreate).
			source(source.ConfigMap, "new", "x", int64(version), int64(version), SourceSeen{Content: version, Created: version, Annotations: version, Version: version})
	}
	unseen := func(second int64) *situation {
		return web().refersTo(newKey).ledger(nil).cm("one", 60).with(onCreate).
			source(source.ConfigMap, "new", "x", second, second, SourceSeen{Version: 99})
	}
	// It was there before, and web was rolled when it was deleted, at 120.
	again := func() *situation {
		return seen(130).with(func(f *Facts) {
			f.Concerns[1].Seen.Content, f.Concerns[1].Seen.Edited, f.Concerns[1].Seen.Annotations, f.Seen.Template = 90, true, 1, 120
			f.Concerns[1].Seen.Written = at(90)
		})
	}
	waits := func(l *ledger.Ledger) { l.Entries[newKey] = digest.Digest{} }
	for name, tc := range map[string]struct {
		when *situation
		want Action
	}{
		"it counts":                  {seen(130), Reload},
		"unless nobody asked for it": {seen(130).with(func(f *Facts) { f.OnCreate = false }), Record},
		"they came together":         {seen(130).with(func(f *Facts) { f.Workload.Created = at(129) }), Record},
		"not quite":                  {seen(130).with(func(f *Facts) { f.Workload.Created = at(128) }), Reload},
		"about a second apart, and the workload had been compared": {seen(130).with(func(f *Facts) { f.Workload.Created, f.Seen.ComparedAt = at(129), 129 }), Reload},
		"it was compared with all that was there":                  {seen(130).with(func(f *Facts) { f.Workload.Created, f.Seen.ComparedAt = at(129), 130 }), Record},
		"it was compared before, within the same second":           {seen(130).with(func(f *Facts) { f.Workload.Created, f.Seen.ComparedAt = at(130), 129 }), Record},
		"it was compared before, and nobody saw the source made":   {unseen(90).with(func(f *Facts) { f.Workload.Created, f.Seen.ComparedAt = at(89), 80 }), Record},
		"it was compared before, and its quiet period is longer":   {seen(130).with(func(f *Facts) { f.Workload.Created, f.Seen.ComparedAt, f.SettlePeriod = at(128), 129, 3*time.Second }), Record},
		"it waits for no quiet, and had been compared":             {seen(130).with(func(f *Facts) { f.Workload.Created, f.Seen.ComparedAt, f.SettlePeriod = at(130), 129, 0 }), Reload},
		"it waits for no quiet, and was not compared before":       {seen(130).with(func(f *Facts) { f.Workload.Created, f.SettlePeriod = at(130), 0 }), Record},
		"its pods were ready by then":                              {seen(130).with(func(f *Facts) { f.Workload.Created, f.Seen.Ready = at(130), 129 }), Reload},
		"its pods were ready only later":                           {seen(130).with(func(f *Facts) { f.Workload.Created, f.Seen.Ready = at(130), 131 }), Record},
		"somebody else has rolled the workload":                    {seen(130).with(func(f *Facts) { f.Seen.Template = 131 }), Record},
		"the workload came to ask for it later":                    {seen(130).with(func(f *Facts) { f.Seen.Policy = 131 }), Record},
		"it came to match later":                                   {seen(130).with(func(f *Facts) { f.Concerns[1].Seen.Annotations = 131 }), Record},
		"while nobody watched: the pods are asked":                 {unseen(90), ListPods},
		"one is older":                                 {unseen(90).pods(1, 89), Reload},
		"one may have started without it":              {unseen(90).pods(1, 95), Reload},
		"all are younger":                              {unseen(90).pods(1, 96), Record},
		"there are none":                               {unseen(90).pods(0, 0), Record},
		"before the digest key was made anew":          {unseen(installed-1).with(func(f *Facts) { f.Workload.Created, f.Coverage.Since = at(1), at(2) }).pods(1, 2), Reload},
		"before the installation":                      {unseen(installed-1).with(func(f *Facts) { f.Workload.Created = at(1) }).pods(1, 2), Record},
		"there is no ledger yet, as there was nothing": {seen(130).with(func(f *Facts) { f.Workload.LedgerText, f.Concerns = "", f.Concerns[1:] }), Reload},
		"it was made, and edited at once":              {seen(130).with(func(f *Facts) { f.Concerns[1].Seen.Content, f.Concerns[1].Seen.Edited = 131, true }), Reload},
		"it was deleted, rolled for, and made again":   {again(), Reload},
		"the same, and nobody asked for it":            {again().with(func(f *Facts) { f.OnCreate = false }), Record},
		"the same, and its template may have come back": {again().with(func(f *Facts) {
			f.OnCreate, f.Seen.TemplateReverted, f.Seen.Compared, f.Workload.RolledOut = false, true, true, true
		}).pods(1, 125), Record},
		"it was edited before that, unnoticed": {again().with(func(f *Facts) {
			f.OnCreate, f.Seen.TemplateReverted, f.Seen.Compared, f.Workload.RolledOut, f.Concerns[1].Away.Version = false, true, true, true, 90
		}).pods(1, 125), Reload},
		"it was deleted, and the entry is there still": {again().ledger(func(l *ledger.Ledger) { l.Entries[newKey] = digestOf("x") }), Nothing},
		"it was deleted while a reload for it waited":  {again().ledger(waits), Reload},
		"the same, and its creation is no change":      {again().ledger(waits).with(func(f *Facts) { f.OnCreate = false }), Record},
		"made again with other data":                   {again().ledger(func(l *ledger.Ledger) { l.Entries[newKey] = digestOf("y") }).with(func(f *Facts) { f.Concerns[1].Seen.Content = 130 }), Reload},
		"it has one entry for all: that cannot be told": {seen(130).ledgerOf(func(l *ledger.Ledger) {
			l.Aggregates, l.Entries = map[source.Kind]ledger.Total{source.ConfigMap: {Digest: digestOf("others"), Count: 1}}, nil
		}).with(func(f *Facts) { f.Concerns = f.Concerns[1:] }).pods(0, 0), Record},
	} {
		t.Run(name, func(t *testing.T) {
			if d := decided(t, tc.when.f); d.Action != tc.want {
				t.Errorf("decided to %s, want %s: %s", d.Action, tc.want, d.Why)
			}
		})
	}
}

func TestASourceThatIsDeleted(t *testing.T) {
	armed := func(l *ledger.Ledger) { l.OnDelete = true }
	seen := func(version uint64) func(*Facts) {
		return func(f *Facts) { f.Gone = map[source.LocalKey]Departure{cmKey: {Version: version}} }
	}
	// Seen to be deleted, with what its annotations said by then.
	departed := func(annotations source.Annotations) func(*Facts) {
		return func(f *Facts) {
			left := source.Source{Key: cmKey.In("shop"), Digest: digestOf("one"), Annotations: annotations}
			f.Gone = map[source.LocalKey]Departure{cmKey: {Version: 130, Source: left}}
		}
	}
	policy := func(ann map[string]string) func(*Facts) {
		return func(f *Facts) { f.Workload.Policy, _ = policy.Parse(ann, nil, annotations.DefaultNames()) }
	}
	names := annotations.DefaultNames()
	// What the ledger to be written has: an entry, and that it is gone.
	type after struct{ entry, gone bool }
	for name, tc := range map[string]struct {
		when *situation
		want Action
		then after
	}{
		"while nobody watched":                       {web().with(onDelete).ledger(armed), Reload, after{}},
		"before our eyes":                            {web().with(onDelete).ledger(armed).with(seen(130)), Reload, after{}},
		"before our eyes, and the flag is new":       {web().with(onDelete).ledger(nil).with(seen(130)), Reload, after{}},
		"before the flag was given":                  {web().with(onDelete).ledger(nil), Record, after{true, true}},
		"which is noted":                             {web().with(onDelete).ledger(armed).ledgerOf(func(l *ledger.Ledger) { l.Gone = map[source.LocalKey]struct{}{cmKey: {}} }), Nothing, after{}},
		"it was noted, and is there again":           {web().with(onDelete).cm("one", 60).ledger(armed).ledgerOf(func(l *ledger.Ledger) { l.Gone = map[source.LocalKey]struct{}{cmKey: {}} }), Record, after{true, false}},
		"it was noted, and is there with other data": {web().with(onDelete).cmSeen("two", 130).ledger(armed).ledgerOf(func(l *ledger.Ledger) { l.Gone = map[source.LocalKey]struct{}{cmKey: {}} }), Reload, after{true, false}},
		"it was noted, and another source changed": {web().with(onDelete).ledger(armed).ledgerOf(func(l *ledger.Ledger) {
			l.Gone, l.Entries[source.LocalKey{Kind: source.Secret, Name: "sec"}] = map[source.LocalKey]struct{}{cmKey: {}}, digestOf("old")
		}).source(source.Secret, "sec", "x", 10, 140, SourceSeen{Content: 140, Edited: true, Annotations: 1, Version: 140}), Reload, after{}},
		"nobody asks for it":                     {web().ledger(nil), Nothing, after{}},
		"nobody asks for it any more":            {web().ledger(armed), Record, after{true, false}},
		"it is there":                            {web().with(onDelete).cm("one", 60).ledger(armed), Nothing, after{}},
		"it is there, and the flag is new":       {web().with(onDelete).cm("one", 60).ledger(nil), Record, after{true, false}},
		"it is there again, as it was":           {web().with(onDelete).cmSeen("one", 130).ledger(armed), Nothing, after{}},
		"somebody else has rolled it since":      {web().with(onDelete).ledger(armed).with(seen(130)).with(func(f *Facts) { f.Seen.Template = 131 }), Record, after{}},
		"the template came back since":           {web().with(onDelete).ledger(armed).with(seen(130)).with(func(f *Facts) { f.Seen.Template, f.Seen.TemplateReverted = 131, true }), Reload, after{}},
		"before the workload asked for anything": {web().with(onDelete).ledger(armed).with(seen(130)).with(func(f *Facts) { f.Seen.Adopted = 131 }), Record, after{true, true}},
		"before that, and it was rolled since":   {web().with(onDelete).ledger(armed).with(seen(130)).with(func(f *Facts) { f.Seen.Adopted, f.Seen.Template = 140, 131 }), Record, after{}},
		"after the workload asked for something": {web().with(onDelete).ledger(armed).with(seen(130)).with(func(f *Facts) { f.Seen.Adopted = 129 }), Reload, after{}},
		"before the workload asked for it":       {web().with(onDelete).ledger(armed).with(seen(130)).with(func(f *Facts) { f.Seen.AdoptedSources = map[source.LocalKey]uint64{cmKey: 131} }), Record, after{true, true}},
		"its kind is not read":                   {web().with(onDelete).ledger(armed).with(func(f *Facts) { f.Unread = []source.Kind{source.ConfigMap} }), Nothing, after{}},
		"it is not selected":                     {web().with(onDelete).ledger(armed).with(func(f *Facts) { f.Unselected = []source.LocalKey{cmKey} }), Nothing, after{}},
		"it was not selected when it was deleted": {web().with(onDelete).ledger(armed).with(func(f *Facts) {
			f.Gone = map[source.LocalKey]Departure{cmKey: {Version: 130, Source: source.Source{Key: cmKey.In("shop"), Annotations: source.Annotations{Unselected: true}}}}
		}), Record, after{true, true}},
		"it does not concern the workload":            {web().with(onDelete).ledger(armed).with(func(f *Facts) { f.Spared = []source.LocalKey{cmKey} }), Record, after{}},
		"the workload has opted out":                  {web().with(onDelete).ledger(armed).with(policy(nil)), Record, after{true, true}},
		"it is excluded":                              {web().with(onDelete).ledger(armed).with(policy(map[string]string{names.Auto: "true", names.ConfigMapExclude: "cm"})), Record, after{true, true}},
		"all are opted in":                            {web().with(onDelete).ledger(armed).with(policy(nil)).with(func(f *Facts) { f.AutoReloadAll = true }), Reload, after{}},
		"it is searched, and matched when it existed": {web().with(onDelete).ledger(armed).with(policy(map[string]string{names.Search: "true"})), Reload, after{}},
		"it is searched, and was not matched then":    {web().with(onDelete).ledger(armed).with(departed(source.Annotations{})).with(policy(map[string]string{names.Search: "true"})), Record, after{true, true}},
		"it is searched, and was matched then":        {web().with(onDelete).ledger(armed).with(departed(source.Annotations{Match: true})).with(policy(map[string]string{names.Search: "true"})), Reload, after{}},
		"it was told not to matter, just before":      {web().with(onDelete).ledger(armed).with(departed(source.Annotations{Ignore: true})), Record, after{true, true}},
		"the workload does not refer to it any more":  {web().with(onDelete).ledger(armed).with(func(f *Facts) { f.Workload.References = nil }), Nothing, after{}},
		"a Secret under a lost key": {web().with(onDelete).ledger(armed).ledgerOf(func(l *ledger.Ledger) {
			l.Instance, l.Entries = "lost", map[source.LocalKey]digest.Digest{{Kind: source.Secret, Name: "sec"}: digestOf("x")}
		}), Reload, after{}},
		"the ledger was taken away":            {web().with(onDelete).remembered(armed), Reload, after{}},
		"the ledger is that of another object": {web().with(onDelete).ledger(armed).ledgerOf(func(l *ledger.Ledger) { l.UID = "other" }), Nothing, after{}},
	} {
		t.Run(name, func(t *testing.T) {
			d := decided(t, tc.when.f)
			if d.Action != tc.want {
				t.Fatalf("decided to %s, want %s: %s", d.Action, tc.want, d.Why)
			}
			if d.Action == Nothing {
				return
			}
			next, err := ledger.Parse(d.Ledger.String())
			if err != nil {
				t.Fatal(err)
			}
			_, entry := next.Entries[cmKey]
			_, gone := next.Gone[cmKey]
			if got := (after{entry, gone}); got != tc.then || next.OnDelete != tc.when.f.OnDelete {
				t.Errorf("the ledger has %+v, want %+v: %s", got, tc.then, d.Ledger)
			}
			// A controller that starts with this ledger has nothing more to do.
			tc.when.f.Workload.LedgerText, tc.when.f.Remembered, tc.when.f.Gone = d.Ledger.String(), "", nil
			if again := decided(t, tc.when.f); again.Action != Nothing && !tc.when.f.Seen.TemplateReverted {
				t.Errorf("after that it was decided to %s: %s", again.Action, again.Why)
			}
		})
	}
}

func TestASourceThatIsDeletedBeforeTheFirstLedger(t *testing.T) {
	auto := func(f *Facts) {
		f.Workload.Policy, _ = policy.Parse(map[string]string{annotations.DefaultNames().Auto: "true"}, nil, annotations.DefaultNames())
	}
	// It was edited at some time, and deleted at 130.
	deleted := func(edited SourceSeen) *situation {
		return web().with(auto).cm("one", 120).with(func(f *Facts) {
			left := f.Concerns[0].Source
			f.Concerns, f.Gone = nil, map[source.LocalKey]Departure{cmKey: {Version: 130, Source: left, Seen: edited}}
		})
	}
	edited := SourceSeen{Content: 120, Edited: true, Created: 1, Annotations: 1, Version: 120}
	unseen := SourceSeen{Version: 120}
	none, unknown := digest.Digest{}, digest.Digest{}
	copy(none[:], "no entry")
	for name, tc := range map[string]struct {
		when *situation
		want Action
		then digest.Digest
	}{
		"its pods were started before the edit": {deleted(edited), Record, unknown},
		"or after it":                           {deleted(edited).with(func(f *Facts) { f.Seen.Template = 125 }), Record, digestOf("one")},
		"the pods have to be asked":             {deleted(unseen), ListPods, none},
		"one is older":                          {deleted(unseen).pods(1, 110), Record, unknown},
		"all are younger":                       {deleted(unseen).pods(1, 126), Record, digestOf("one")},
		"one is older, and a label may be all that was written": {deleted(unseen).pods(1, 110).with(func(f *Facts) {
			left := f.Gone[cmKey]
			left.Source.EditedAt = 0
			f.Gone[cmKey] = left
		}), Record, digestOf("one")},
		"somebody has rolled the workload since":                         {deleted(edited).with(func(f *Facts) { f.Seen.Template = 131 }), Nothing, none},
		"its template may have come back since":                          {deleted(edited).with(func(f *Facts) { f.Seen.Template, f.Seen.TemplateReverted, f.Workload.RolledOut = 131, true, true }).pods(1, 110), Record, unknown},
		"the workload came to ask for it later":                          {deleted(edited).with(func(f *Facts) { f.Seen.Policy = 131 }), Nothing, none},
		"it was not selected":                                            {deleted(edited).with(func(f *Facts) { left := f.Gone[cmKey]; left.Source.Annotations.Unselected = true; f.Gone[cmKey] = left }), Nothing, none},
		"it was told not to matter":                                      {deleted(edited).with(func(f *Facts) { left := f.Gone[cmKey]; left.Source.Annotations.Ignore = true; f.Gone[cmKey] = left }), Nothing, none},
		"deletions count":                                                {deleted(edited).with(onDelete), Reload, none},
		"deletions count, and the workload was seen later":               {deleted(edited).with(onDelete).with(func(f *Facts) { f.Seen.Since = 135 }).pods(1, 110), Record, unknown},
		"its ledger only shows that a reload waited, for another source": {deleted(edited).with(func(f *Facts) { f.Seen.Template = 125 }).waited(secKey), Record, digestOf("one")},
		"the same, and its pods were started before the edit":            {deleted(edited).waited(secKey), Record, unknown},
		"the same, and deletions count":                                  {deleted(edited).with(onDelete).waited(secKey), Reload, none},
		"its ledger shows that a reload waited for it":                   {deleted(edited).with(func(f *Facts) { f.Seen.Template = 125 }).waited(cmKey), Nothing, none},
		"it had no entry in a ledger with the data of others":            {deleted(edited).with(func(f *Facts) { f.Seen.Template = 125 }).waited(secKey).ledgerOf(func(l *ledger.Ledger) { l.DataTime = 60 }), Record, digestOf("one")},
		"the same, and a reload for the deletion was undone":             {deleted(edited).with(func(f *Facts) { f.Seen.Template, f.Seen.TemplateReverted, f.Workload.RolledOut = 131, true, true }).waited(secKey).ledgerOf(func(l *ledger.Ledger) { l.DataTime = 60 }).pods(1, 110), Nothing, none},
		"the same, and the watch of the workload had a gap":              {deleted(edited).with(func(f *Facts) { f.Seen.Since = 135 }).waited(secKey).ledgerOf(func(l *ledger.Ledger) { l.DataTime = 60 }).pods(1, 110), Nothing, none},
		"the same, and a run has begun since":                            {deleted(edited).with(func(f *Facts) { f.Workload.Runs = &workload.Runs{Since: 131, Last: at(131)} }).waited(secKey).ledgerOf(func(l *ledger.Ledger) { l.DataTime = 60 }), Nothing, none},
		"another source changed: new pods do without it":                 {deleted(edited).source(source.Secret, "sec", "x", 10, 140, SourceSeen{Content: 140, Edited: true, Annotations: 1, Version: 140}), Reload, none},
	} {
		t.Run(name, func(t *testing.T) {
			d := decided(t, tc.when.f)
			if d.Action != tc.want {
				t.Fatalf("decided to %s, want %s: %s", d.Action, tc.want, d.Why)
			}
			digest, ok := d.Ledger.Entries[cmKey]
			if !ok {
				digest = none
			}
			if digest != tc.then {
				t.Errorf("the ledger has %s for it, want %s", digest, tc.then)
			}
			if d.Action != Record {
				return
			}
			if waiting, waits := d.Ledger.Entries[secKey]; tc.when.f.IsDeferred() && (!waits || !waiting.IsZero()) {
				t.Error("the ledger no longer shows that a reload waits")
			}
			text, err := ledger.Parse(d.Ledger.String())
			if err != nil || text.Entries[cmKey] != tc.then {
				t.Fatalf("written and read the ledger has %s (%v)", text.Entries[cmKey], err)
			}
			// It is made again as it was last.
			again := tc.when.cm("one", 150).with(func(f *Facts) {
				f.Gone, f.Workload.LedgerText, f.Workload.RolledOut, f.Seen.Compared = nil, d.Ledger.String(), true, true
				f.Concerns[0].Seen = SourceSeen{Content: 120, Edited: true, Created: 150, Annotations: 1, Version: 150}
			}).pods(1, 110)
			want := Reload
			if tc.then == digestOf("one") {
				want = Nothing
			}
			if d := decided(t, again.f); d.Action != want {
				t.Errorf("when it is made again as it was, it is decided to %s, want %s: %s", d.Action, want, d.Why)
			}
		})
	}
}

func TestADeletionIsMarked(t *testing.T) {
	for name, tc := range map[string]struct {
		when             *situation
		removed          []workload.EnvMark
		annotation       bool
		rolledAnnotation bool
	}{
		"the variable goes": {web().mark("x"), []workload.EnvMark{{Container: "app", Variable: "STAKATER_CM_CONFIGMAP", Value: ""}}, false, false},
		"there is none":     {web(), nil, false, true},
		"in another container it stays": {web().with(func(f *Facts) {
			f.Workload.Marks.Env = []workload.EnvMark{{Container: "side", Variable: "STAKATER_CM_CONFIGMAP", Value: "x"}}
		}), nil, false, true},
		"by annotation": {web().mark("x").with(func(f *Facts) { f.Strategy = StrategyAnnotations }), nil, true, false},
		"another source is marked by that variable": {web().mark("x").refersTo(source.LocalKey{Kind: source.ConfigMap, Name: "CM"}).
			source(source.ConfigMap, "CM", "two", 10, 130, SourceSeen{Content: 130, Edited: true, Version: 130}).
			with(func(f *Facts) {
				f.Workload.LedgerText = ""
			}), nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := tc.when.with(onDelete).ledger(func(l *ledger.Ledger) {
				l.OnDelete = true
				l.Entries[source.LocalKey{Kind: source.ConfigMap, Name: "CM"}] = digestOf("one")
			})
			if len(s.f.Concerns) == 0 {
				s.ledgerOf(func(l *ledger.Ledger) {
					maps.DeleteFunc(l.Entries, func(k source.LocalKey, _ digest.Digest) bool { return k != cmKey })
				})
			}
			d := decided(t, s.f)
			seen := WorkloadSeen{Recent: []digest.Digest{s.f.Workload.Revision()}, Whole: true}
			m := d.Mark(&s.f.Workload, seen, digest.SecretMarksKeyed, at(200))
			if !slices.Equal(m.Removed, tc.removed) || tc.annotation != strings.Contains(m.ReloadedFrom, `"hash":"`+workload.DeleteMarker+`"`) || tc.rolledAnnotation != (m.Rolled != "") {
				t.Errorf("marked by %+v", m)
			}
			if seen.MayHavePodsOf(workload.Revision(s.f.Workload.Template, s.f.Workload.Marks.With(m))) {
				t.Error("it rolls nothing")
			}
		})
	}
}

func TestADeletionIsActedUponAfterTheQuietPeriod(t *testing.T) {
	s := web().with(onDelete).ledger(func(l *ledger.Ledger) { l.OnDelete = true }).with(func(f *Facts) {
		f.Gone = map[source.LocalKey]Departure{cmKey: {Version: 130, Time: at(200)}}
	})
	d := decided(t, s.f)
	for second, want := range map[int64]time.Duration{200: time.Second, 201: 0} {
		if got := s.f.DepartedFor(d, at(second)); got != want {
			t.Errorf("at %d: waits for %s, want %s", second, got, want)
		}
	}
	if got := s.f.DepartedFor(decided(t, web().ledger(nil).cmSeen("two", 130).f), at(200)); got != 0 {
		t.Errorf("an edit waits for %s", got)
	}
}
