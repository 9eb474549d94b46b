package reload

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// webReverted is web after a reload for "one" whose mark somebody has taken away in the middle of
// the rollout.
func webReverted(step ledger.Step) *situation {
	return web().ledger(func(l *ledger.Ledger) {
		l.Marks, l.Step = workload.Marks{Env: []workload.EnvMark{{Container: "app", Variable: "STAKATER_CM_CONFIGMAP", Value: "x"}}}.Digest(), step
	}).cm("one", 60).with(func(f *Facts) {
		f.Seen.Template, f.Seen.TemplateReverted = 120, true
		f.Workload.RolledOut = true
	})
}

// optedInSince is a workload that we have never rolled, and that is opted in with all others since
// a second.
func optedInSince(second int64) *situation {
	return webReverted(0).ledgerOf(func(l *ledger.Ledger) { l.Counter = 0 }).with(func(f *Facts) {
		f.AutoReloadAll, f.Coverage.AllSince, f.Concerns[0].Verdict.Rule = true, at(second), policy.RuleAutoAll
	})
}

func TestATemplateThatCameBack(t *testing.T) {
	underWay := func(f *Facts) { f.Workload.RolledOut = false }
	unobserved := func(f *Facts) { f.Workload.Unobserved = true }
	// Its data changed in version 70, which a watch has shown.
	adopted := func(in uint64, counter int64) *situation {
		return webReverted(0).ledgerOf(func(l *ledger.Ledger) { l.Counter = counter }).pods(2, 60).with(func(f *Facts) {
			f.Concerns[0].Seen.Content, f.Concerns[0].Seen.Edited, f.Seen.Adopted = 70, true, in
		})
	}
	counted := func(f *Facts) { f.Workload.SelectorGuessed, f.Workload.Progress.Total = true, 2 }
	for name, tc := range map[string]struct {
		when *situation
		want Action
	}{
		"the end of the rollout is awaited":                     {webReverted(0).with(underWay), AwaitRollout},
		"but not for ever":                                      {webReverted(0).with(underWay).with(func(f *Facts) { f.Waited = true }), ListPods},
		"then the pods are asked":                               {webReverted(0), ListPods},
		"its status may be about the template before":           {webReverted(0).with(unobserved), AwaitRollout},
		"that is not waited for without an end either":          {webReverted(0).with(unobserved).with(func(f *Facts) { f.Waited = true }), ListPods},
		"nobody saw the template change, so it may be long ago": {webReverted(0).with(unobserved).with(func(f *Facts) { f.Seen = WorkloadSeen{Since: 100} }), ListPods},
		"all are younger: somebody rolled it":                   {webReverted(0).pods(2, 66), Nothing},
		"one may be older, by the clock of another API server":  {webReverted(0).pods(2, 61), Reload},
		"one is older":              {webReverted(0).pods(2, 60), Reload},
		"there are none":            {webReverted(0).pods(0, 0), Nothing},
		"every mark was taken away": {webReverted(ledger.StepAnnotation).pods(2, 60), Nothing},
		"all are opted in since after the edit, and we never rolled it": {optedInSince(61).pods(2, 60), Nothing},
		"all were opted in by then":                                     {optedInSince(60).pods(2, 60), Reload},
		"it may have been rolled for the edit, opted in by itself":      {optedInSince(61).ledgerOf(func(l *ledger.Ledger) { l.Counter = 1 }).pods(2, 60), Reload},
		"opted in after the edit was seen, and we never rolled it":      {adopted(71, 0), Nothing},
		"opted in before the edit was seen":                             {adopted(69, 0), Reload},
		"opted in after the edit was seen, and rolled for another":      {adopted(71, 1), Reload},
		"the marks of the latest reload stand: it did roll":             {webReverted(0).mark("x"), Nothing},
		"there are some, and none of them was found":                    {webReverted(0).with(counted).pods(0, 0), Reload},
		"nothing came back, and none of them was found":                 {webReverted(0).with(counted).mark("x").pods(0, 0), Nothing},
		"every mark was taken away, and the ledger with them":           {webReverted(ledger.StepAnnotation).forgotten().pods(2, 60), Record},
		"every mark was taken away, and it uses another source since":   {webReverted(ledger.StepAnnotation).source(source.Secret, "sec", "one", 10, 10, SourceSeen{Version: 10}).pods(2, 60), Record},
		"the time of the restart was taken away, which no template shows": {webReverted(ledger.StepRestartFirst).with(func(f *Facts) {
			f.Seen.TemplateReverted, f.Workload.Restartable, f.Workload.Policy = false, true, restarted()
		}), ListPods},
		"the time of the restart stands": {webReverted(ledger.StepRestartFirst).with(func(f *Facts) {
			f.Workload.Marks.RestartAt = "2026-03-01T12:00:00Z"
		}).ledgerOf(func(l *ledger.Ledger) {
			l.Marks = workload.Marks{RestartAt: "2026-03-01T12:00:00Z"}.DigestAfter(ledger.StepRestartFirst)
		}), Nothing},
		"nothing came back":               {webReverted(0).with(func(f *Facts) { f.Seen.TemplateReverted = false }), Nothing},
		"nobody saw whether it came back": {webReverted(0).with(func(f *Facts) { f.Seen = WorkloadSeen{Since: 100} }), ListPods},
		"nobody saw it, and the pods were asked before": {webReverted(0).with(func(f *Facts) {
			f.Seen = WorkloadSeen{Since: 100, Trusted: f.Workload.MarksDigest()}
		}), Nothing},
		"a change that is certain does not wait": {
			web().ledger(nil).cmSeen("two", 130).with(func(f *Facts) { f.Seen.Template, f.Seen.TemplateReverted = 120, true }), Reload},
		"a change before it is not certain": {
			web().ledger(nil).cmSeen("two", 110).with(func(f *Facts) { f.Seen.Template, f.Seen.TemplateReverted = 120, true }), AwaitRollout},
		"a source without an entry": {
			web().cmSeen("two", 110).with(func(f *Facts) { f.Seen.Template, f.Seen.TemplateReverted = 120, true }), AwaitRollout},
		"a thousand sources under one digest": {
			webReverted(0).ledgerOf(func(l *ledger.Ledger) {
				l.Aggregates = map[source.Kind]ledger.Total{source.ConfigMap: {Digest: ledger.Aggregate(source.ConfigMap, l.Entries), Count: len(l.Entries)}}
				l.Entries = nil
			}).pods(2, 60), Reload},
	} {
		t.Run(name, func(t *testing.T) {
			if d := decided(t, tc.when.f); d.Action != tc.want {
				t.Errorf("decided to %s, want %s: %s", d.Action, tc.want, d.Why)
			}
		})
	}
}

// forgotten is the ledger that was written last and is no longer on the object.
func (s *situation) forgotten() *situation {
	s.f.Remembered, s.f.Workload.LedgerText = s.f.Workload.LedgerText, ""
	return s
}

// ledgerOf changes the ledger on the object.
func (s *situation) ledgerOf(change func(*ledger.Ledger)) *situation {
	l, _ := ledger.Parse(s.f.Workload.LedgerText)
	change(&l)
	s.f.Workload.LedgerText = l.String()
	return s
}

func TestARevertIsOneStepDownTheLadder(t *testing.T) {
	s := webReverted(ledger.StepVariables).pods(2, 60)
	d := decided(t, s.f)
	if d.Action != Reload || d.Reverted == nil || d.Reverted.Final || d.Ledger.Step != ledger.StepAnnotation || d.Ledger.Counter != 4 {
		t.Fatalf("got %+v", d)
	}
	m := d.Mark(&s.f.Workload, WorkloadSeen{Whole: true}, digest.SecretMarksKeyed, at(200))
	if len(m.Env) != 0 || !strings.Contains(m.ReloadedFrom, `"name":"cm"`) || !strings.Contains(m.ReloadedFrom, `"containerRefs":["app"]`) {
		t.Errorf("marked by %+v", m)
	}
	s.f.Workload.Marks = s.f.Workload.Marks.With(m)
	if d.Ledger.Marks != s.f.Workload.Marks.Digest() {
		t.Error("the ledger does not know the marks as they are left")
	}

	final := decided(t, webReverted(ledger.StepAnnotation).pods(2, 60).f)
	if final.Reverted == nil || !final.Reverted.Final {
		t.Fatalf("got %+v", final)
	}
	noted := decided(t, webReverted(ledger.StepAnnotation).source(source.Secret, "sec", "one", 10, 10, SourceSeen{Version: 10}).pods(2, 60).f)
	if _, has := noted.Ledger.Entries[source.LocalKey{Kind: source.Secret, Name: "sec"}]; !has || !noted.Reverted.Final || noted.Ledger.Counter != 3 || noted.Ledger.Marks.IsZero() {
		t.Errorf("it uses another source since: got %+v", noted)
	}
	next := decided(t, webReverted(ledger.StepAnnotation).with(func(f *Facts) { f.Concerns = nil }).cmSeen("two", 130).f)
	if next.Action != Reload || next.Ledger.Step != ledger.StepAnnotation {
		t.Errorf("the next change: got %+v", next)
	}
}

func TestARevertedRolloutOfAnotherClientIsNoRevert(t *testing.T) {
	d := decided(t, webReverted(0).ledgerOf(func(l *ledger.Ledger) { l.Marks = digest.Digest{} }).pods(2, 60).f)
	if d.Action != Reload || d.Reverted != nil || d.Ledger.Step != ledger.StepVariables {
		t.Errorf("got %+v", d)
	}
}

// theRolloutOfAnother brings new data, which is recorded while some Pods are still from the
// template before.
func theRolloutOfAnother(before digest.Digest) *situation {
	return web().ledger(nil).cmSeen("two", 110).with(func(f *Facts) {
		f.Seen.Template, f.Seen.Whole, f.Seen.Recent = 120, true, []digest.Digest{before, f.Workload.Revision()}
	})
}

func TestTheTemplateThatAnotherClientReplacesIsRecordedWithTheData(t *testing.T) {
	before := workload.Revision(digestOf("before"), workload.Marks{})
	d := decided(t, theRolloutOfAnother(before).f)
	if d.Action != Record || !slices.Equal(d.Ledger.Superseded, []digest.Digest{before}) {
		t.Fatalf("decided to %s with %x", d.Action, d.Ledger.Superseded)
	}
	// The ledger has no entry, and no watch has shown the edit, which is from before the template.
	unnamed := func() *situation {
		return theRolloutOfAnother(before).ledger(func(l *ledger.Ledger) { l.Entries = nil }).with(func(f *Facts) { f.Concerns = nil })
	}
	if d := decided(t, unnamed().cm("two", 110).f); d.Action != Record || !slices.Equal(d.Ledger.Superseded, []digest.Digest{before}) {
		t.Errorf("after an edit that nobody saw, decided to %s with %x", d.Action, d.Ledger.Superseded)
	}
	if d := decided(t, unnamed().source(source.ConfigMap, "cm", "two", 110, 110, SourceSeen{Version: 110}).f); d.Action != Record || d.Ledger.Superseded != nil {
		t.Errorf("without an edit, decided to %s with %x", d.Action, d.Ledger.Superseded)
	}
	many := theRolloutOfAnother(before)
	for i := range byte(2 * ledger.MaxSuperseded) {
		many.f.Seen.Recent = append(many.f.Seen.Recent, digest.Digest{i})
	}
	if got := decided(t, many.f).Ledger.Superseded; len(got) != ledger.MaxSuperseded || got[len(got)-1] != (digest.Digest{2*ledger.MaxSuperseded - 1}) {
		t.Errorf("of many, it records %x", got)
	}
	next := decided(t, theRolloutOfAnother(before).ledger(func(l *ledger.Ledger) { l.Superseded = []digest.Digest{before} }).
		with(func(f *Facts) { f.Concerns = nil }).cmSeen("three", 130).f)
	if next.Mark(&web().f.Workload, WorkloadSeen{Whole: true}, digest.SecretMarksKeyed, at(200)); next.Action != Reload || next.Ledger.Superseded != nil {
		t.Errorf("after a reload of ours, it records %x", next.Ledger.Superseded)
	}
}

func TestATemplateThatCameBackAfterAnotherClientsDataWasRecorded(t *testing.T) {
	back := web().f.Workload.Revision()
	recorded := func(superseded ...digest.Digest) *situation {
		return web().ledger(func(l *ledger.Ledger) { l.Superseded = superseded }).cm("one", 60).with(func(f *Facts) { f.Workload.RolledOut = true })
	}
	for name, tc := range map[string]struct {
		when *situation
		want Action
	}{
		"the Pods are asked":                   {recorded(back), ListPods},
		"one is older than the data":           {recorded(back).pods(2, 60), Reload},
		"all are younger: it was rolled again": {recorded(back).pods(2, 66), Nothing},
		"the end of the rollout is awaited":    {recorded(back).with(func(f *Facts) { f.Workload.RolledOut = false }), AwaitRollout},
		"it was not the latest of several":     {recorded(back, digestOf("other")), ListPods},
		"it is a template after it":            {recorded(digestOf("other")), Nothing},
		"no rollout was in progress then":      {recorded(), Nothing},
		"its rollout was seen to start":        {recorded(back).with(func(f *Facts) { f.Seen.Template = 120 }), Nothing},
		"the Pods were asked before":           {recorded(back).with(func(f *Facts) { f.Seen.Trusted = f.Workload.MarksDigest() }), Nothing},
	} {
		t.Run(name, func(t *testing.T) {
			d := decided(t, tc.when.f)
			if d.Action != tc.want || d.Reverted != nil {
				t.Errorf("decided to %s, want %s: %s; %+v", d.Action, tc.want, d.Why, d.Reverted)
			}
		})
	}
}

// The removal of a key left no time, so that the ledger shows only when the data was written before: at
// 60. ConfigMap cm was deleted and created again with other data at 130, and has the data of the ledger
// since 131.
func TestASourceThatWasAwayHidesNoPodsThatAreBack(t *testing.T) {
	for name, tc := range map[string]struct {
		data int64
		seen SourceSeen
		away Away
		want Action
	}{
		"with other data for a moment": {131, SourceSeen{Content: 131, Created: 130, Departed: 129, Edited: true, Version: 131}, Away{Version: 130, Time: at(130), Made: true}, Reload},
		"created as it was":            {130, SourceSeen{Created: 130, Departed: 129, Version: 130}, Away{}, Nothing},
	} {
		t.Run(name, func(t *testing.T) {
			s := webReverted(0).with(func(f *Facts) { f.Concerns = nil }).source(source.ConfigMap, "cm", "one", 130, tc.data, tc.seen)
			d := decided(t, s.with(func(f *Facts) { f.Concerns[0].Away = tc.away }).pods(2, 100).f)
			if d.Action != tc.want {
				t.Errorf("got %s (%s), want %s", d.Action, d.Why, tc.want)
			}
		})
	}
}

func TestWhoTookAMarkBackIsNamedNoMoreSurelyThanItIsKnown(t *testing.T) {
	for name, tc := range map[string]struct {
		change   func(*Facts)
		by, word string
	}{
		"a removal leaves no trace":   {func(*Facts) {}, "somebody", "unknown"},
		"a tool manages the object":   {func(f *Facts) { f.Workload.Tool = workload.ArgoCD }, "Argo CD (probably)", "Argo CD"},
		"a manager owns the mark now": {func(f *Facts) { f.Workload.Marks.Writers = map[string]string{"STAKATER_CM_CONFIGMAP": "terraform"} }, `the field manager "terraform"`, "other"},
		"an operator owns the object": {func(f *Facts) { f.Workload.Owner, f.Workload.Tool = `Shop "a"`, workload.Helm }, `the operator of Shop "a" (probably)`, "operator"},
		"it owns another mark":        {func(f *Facts) { f.Workload.Marks.Writers = map[string]string{"STAKATER_OTHER_CONFIGMAP": "terraform"} }, "somebody", "unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			r := decided(t, webReverted(0).pods(2, 60).with(tc.change).f).Reverted
			if r.By() != tc.by || r.Name() != tc.word || r.Old != 2 || r.All != 2 {
				t.Errorf("got %q, %q, %d of %d", r.By(), r.Name(), r.Old, r.All)
			}
		})
	}
}

func TestReloaderBesideUsIsNotMarkedAgainst(t *testing.T) {
	d := decided(t, webReverted(0).mark("y").pods(2, 60).with(func(f *Facts) {
		f.Workload.Marks.Writers = map[string]string{"STAKATER_CM_CONFIGMAP": "Reloader"}
	}).f)
	if d.Action != Record || d.Reverted == nil || d.Ledger.Counter != 3 {
		t.Errorf("got %+v", d)
	}
}

// The mark of Secret sec is the SHA-1 that Reloader writes, and that Reroll wrote under other settings. It
// replaced the mark of the latest reload.
func TestWhetherAMarkThatIsBackIsReloaders(t *testing.T) {
	sec := source.LocalKey{Kind: source.Secret, Name: "sec"}
	marked := func(value string) workload.Marks {
		return workload.Marks{Env: []workload.EnvMark{{Container: "app", Variable: "STAKATER_SEC_SECRET", Value: value}}}
	}
	of := func(counter int64, marks workload.Marks) func(*ledger.Ledger) {
		return func(l *ledger.Ledger) {
			l.Counter, l.Marks, l.Entries = counter, marks.Digest(), map[source.LocalKey]digest.Digest{sec: digestOf("one")}
		}
	}
	for name, tc := range map[string]struct {
		onObject func(*ledger.Ledger)
		want     Action
	}{
		"the ledger of the latest reload is still there":         {of(3, marked("x")), Record},
		"a rollback brought it back, with its ledger":            {of(2, marked(hex.EncodeToString([]byte("sha1 of one\x00\x00\x00\x00\x00\x00\x00\x00\x00")))), Reload},
		"a rollback brought back a ledger, and it came after it": {of(2, marked("y")), Record},
	} {
		t.Run(name, func(t *testing.T) {
			s := web().ledger(tc.onObject).remembered(of(3, marked("x"))).source(source.Secret, "sec", "one", 10, 60, SourceSeen{Version: 60}).pods(2, 59)
			s.f.Workload.Marks = marked(hex.EncodeToString(s.f.Concerns[0].Source.Reloader[:]))
			s.f.Seen.Template, s.f.Seen.TemplateReverted, s.f.Workload.RolledOut = 120, true, true
			if d := decided(t, s.f); d.Action != tc.want {
				t.Errorf("decided to %s, want %s: %s", d.Action, tc.want, d.Why)
			}
		})
	}
}
