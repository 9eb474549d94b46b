package reload

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// The story of these tests: Deployment web refers to ConfigMap cm and Secret sec. Versions and
// seconds count up from 100; the installation began at second 50.
const (
	instance  = "key-1"
	installed = 50
)

func at(second int64) time.Time { return time.Unix(second, 0) }

// situation builds facts and says what is special about them.
type situation struct {
	f Facts
}

func web() *situation {
	return &situation{Facts{
		Workload: workload.Workload{
			Key: workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"}, UID: "uid-1",
			Containers: []string{"app"}, OptedInAt: at(1),
			References: []workload.Reference{
				{Key: source.LocalKey{Kind: source.ConfigMap, Name: "cm"}, Uses: []workload.Use{{How: workload.UseEnvFrom, Container: "app"}}},
				{Key: source.LocalKey{Kind: source.Secret, Name: "sec"}, Uses: []workload.Use{{How: workload.UseEnvFrom, Container: "app"}}},
			},
		},
		Seen:         WorkloadSeen{Since: 100},
		Installation: Installation{Instance: instance, Installed: at(installed)},
	}}
}

// guessed makes it a workload without a selector, so that an empty list of Pods proves nothing.
func guessed(f *Facts) { f.Workload.Custom, f.Workload.SelectorGuessed = true, true }

func digestOf(text string) digest.Digest {
	var d digest.Digest
	copy(d[:], text)
	return d
}

// source adds one that concerns the workload: made at one second, its content written at another.
func (s *situation) source(kind source.Kind, name, content string, created, data int64, seen SourceSeen) *situation {
	c := Concern{
		Source: source.Source{
			Key: source.Key{Kind: kind, Namespace: "shop", Name: name}, UID: "uid-" + "source", Digest: digestOf(content),
			Created: at(created), DataTime: at(data),
		},
		Seen:    seen,
		Verdict: policy.Verdict{Concerned: true, Rule: policy.RuleAuto},
	}
	if data > created {
		c.Source.EditedAt = data
	}
	copy(c.Source.Reloader[:], "sha1 of "+content)
	if ref, ok := s.f.Workload.Reference(c.Source.Key.Local()); ok {
		c.Uses = ref.Uses
	}
	s.f.Concerns = append(s.f.Concerns, c)
	return s
}

// cm is the ConfigMap as a snapshot brings it: nothing is known of when it changed but what it says
// itself.
func (s *situation) cm(content string, data int64) *situation {
	return s.source(source.ConfigMap, "cm", content, 10, data, SourceSeen{Version: uint64(data)})
}

// cmSeen is the ConfigMap with its last change seen on the watch.
func (s *situation) cmSeen(content string, version uint64) *situation {
	return s.source(source.ConfigMap, "cm", content, 10, int64(version), SourceSeen{Content: version, Edited: true, Annotations: 1, Version: version})
}

func (s *situation) ledger(change func(*ledger.Ledger)) *situation {
	l := ledger.Ledger{UID: "uid-1", Instance: instance, Counter: 3, DataTime: 60, Entries: map[source.LocalKey]digest.Digest{{Kind: source.ConfigMap, Name: "cm"}: digestOf("one")}}
	if change != nil {
		change(&l)
	}
	l.SignForeign(s.f.Key)
	s.f.Workload.LedgerText = l.String()
	return s
}

func (s *situation) remembered(change func(*ledger.Ledger)) *situation {
	text := s.f.Workload.LedgerText
	s.ledger(change)
	s.f.Remembered, s.f.Workload.LedgerText = s.f.Workload.LedgerText, text
	return s
}

func (s *situation) pods(count int, oldest int64) *situation {
	s.f.Pods = &Pods{}
	for range count {
		s.f.Pods.Add(StartedPod{Created: at(oldest), Started: at(oldest)})
	}
	return s
}

func (s *situation) mark(value string) *situation {
	s.f.Workload.Marks.Env = append(s.f.Workload.Marks.Env, workload.EnvMark{Container: "app", Variable: "STAKATER_CM_CONFIGMAP", Value: value})
	return s
}

func (s *situation) with(change func(*Facts)) *situation {
	change(&s.f)
	return s
}

func TestDecide(t *testing.T) {
	widened := func(f *Facts) {
		cm, _ := policy.Parse(map[string]string{annotations.DefaultNames().ConfigMap: "cm"}, nil, annotations.DefaultNames())
		f.Seen.Policy = 130
		f.Seen.Widened = []Widening{{Version: 110}, {Version: 130, Before: cm}}
	}
	// All workloads are opted in, and from version 130 on it also names the source.
	reworded := func(f *Facts) {
		f.AutoReloadAll, f.Seen.Policy = true, 130
		f.Seen.Widened = []Widening{{Version: 130}}
	}
	waits := func(l *ledger.Ledger) { l.Counter, l.Entries[cmKey] = 0, digest.Digest{} }
	selectedIn := func(version uint64) func(*Facts) {
		return func(f *Facts) { f.SelectedIn = version }
	}
	adoptedIn := func(version uint64) func(*Facts) {
		return func(f *Facts) { f.Seen.AdoptedSources = map[source.LocalKey]uint64{cmKey: version} }
	}
	named := func(f *Facts) {
		f.Workload.Policy, _ = policy.Parse(map[string]string{annotations.DefaultNames().ConfigMap: "cm"}, nil, annotations.DefaultNames())
	}
	reloaderMark := func(content string) string {
		var src source.Source
		copy(src.Reloader[:], "sha1 of "+content)
		return workload.MarkHash(src, digest.SecretMarksSHA1)
	}
	for name, tc := range map[string]struct {
		when *situation
		want Action
	}{
		"nothing concerns it": {web(), Nothing},

		// The ledger and the content.
		"the ledger has the present content":                           {web().ledger(nil).cm("one", 60), Nothing},
		"the content differs and was seen to change after everything":  {web().ledger(nil).cmSeen("two", 120), Reload},
		"the content differs, and the template was changed after that": {web().ledger(nil).cmSeen("two", 120).with(func(f *Facts) { f.Seen.Template = 121 }), Record},
		"the content differs, and the template was changed before":     {web().ledger(nil).cmSeen("two", 120).with(func(f *Facts) { f.Seen.Template = 119 }), Reload},
		"the content differs, a template change was seen, the content only in a snapshot before": {
			web().ledger(nil).cm("two", 120).with(func(f *Facts) { f.Seen.Template = 121 }), Record},
		"the content changed before the workload asked for anything, and arrived after its first ledger":     {web().ledger(nil).cmSeen("two", 120).with(func(f *Facts) { f.Seen.Adopted = 121 }), Record},
		"the content changed before the workload asked for it, and arrived after a later ledger":             {web().ledger(nil).cmSeen("two", 120).with(adoptedIn(121)), Record},
		"the content changed after the workload asked for it, and arrived after a later ledger":              {web().ledger(nil).cmSeen("two", 120).with(adoptedIn(119)), Reload},
		"the content changed after the workload had asked for something, and arrived after its first ledger": {web().ledger(nil).cmSeen("two", 120).with(func(f *Facts) { f.Seen.Adopted = 119 }), Reload},

		// After a restart.
		"the content differs and nothing was seen: the pods are asked": {web().ledger(nil).cm("two", 120), ListPods},
		"and one pod is older":                                           {web().ledger(nil).cm("two", 120).pods(2, 110), Reload},
		"and one pod was made within the kubelet's lag":                  {web().ledger(nil).cm("two", 120).pods(2, 125), Reload},
		"and all pods are younger":                                       {web().ledger(nil).cm("two", 120).pods(2, 126), Record},
		"and there are no pods":                                          {web().ledger(nil).cm("two", 120).pods(0, 0), Record},
		"and its pods cannot be listed, and the status counts none yet":  {web().ledger(nil).cm("two", 120).pods(0, 0).with(guessed).with(func(f *Facts) { f.Workload.Progress.Wanted = 2 }), Reload},
		"and its pods cannot be listed":                                  {web().ledger(nil).cm("two", 120).pods(0, 0).with(guessed).with(func(f *Facts) { f.Workload.Progress.Total = 2 }), Reload},
		"the same, and its kind has any selector":                        {web().ledger(nil).cm("two", 120).pods(0, 0).with(func(f *Facts) { f.Workload.Custom, f.Workload.Progress.Total = true, 2 }), Reload},
		"its status still counts pods, which are deleted":                {web().ledger(nil).cm("two", 120).pods(0, 0).with(func(f *Facts) { f.Workload.Progress.Total = 2 }), Record},
		"and nothing says how many pods there are":                       {web().ledger(nil).cm("two", 120).pods(0, 0).with(func(f *Facts) { f.Workload.Progress.NoCounts = true }), Record},
		"the same, and their labels were guessed":                        {web().ledger(nil).cm("two", 120).pods(0, 0).with(guessed).with(func(f *Facts) { f.Workload.Progress.NoCounts = true }), Reload},
		"keys were only taken away, which leaves no time":                {web().ledger(nil).cm("two", 60).pods(2, 126), Reload},
		"its fields have no managers, so its time is unknown":            {web().ledger(nil).cm("two", 80).with(func(f *Facts) { f.Concerns[0].Source.Untracked = true }).pods(2, 126), Reload},
		"the same, and a reload for that waits, beside a mark of before": {web().ledger(waits).mark("y").cm("two", 60).pods(2, 126), Reload},
		"the workload was seen only after the content was":               {web().ledger(nil).cmSeen("two", 90), ListPods},

		// No ledger.
		"no ledger, content from before the installation":              {web().cm("two", 40), Record},
		"no ledger, content never edited":                              {web().source(source.ConfigMap, "cm", "one", 80, 80, SourceSeen{Version: 80}), Record},
		"no ledger, the source appeared after the workload":            {web().source(source.ConfigMap, "cm", "one", 120, 120, SourceSeen{Content: 120, Annotations: 120, Version: 120}), Record},
		"no ledger, edited before the ledger could be written":         {web().cmSeen("two", 120), Reload},
		"no ledger, edited after the installation, pods unknown":       {web().cm("two", 80), ListPods},
		"no ledger, edited after the installation, an older pod":       {web().cm("two", 80).pods(1, 70), Reload},
		"no ledger, edited after the installation, younger pods":       {web().cm("two", 80).pods(1, 90), Record},
		"opted in after the edit was seen":                             {web().cmSeen("two", 120).with(func(f *Facts) { f.Seen.Policy = 130 }), Record},
		"opted in before the edit was seen":                            {web().cmSeen("two", 120).with(func(f *Facts) { f.Seen.Policy = 110 }), Reload},
		"opted in before the edit was seen, and for more after it":     {web().cmSeen("two", 120).with(widened), Reload},
		"opted in for it after the edit was seen, for others before":   {web().cmSeen("two", 105).with(widened), Record},
		"selected after the edit was seen, and named after that":       {web().cmSeen("two", 120).with(selectedIn(125)).with(reworded), Record},
		"selected before the edit was seen, and named after that":      {web().cmSeen("two", 120).with(selectedIn(115)).with(reworded), Reload},
		"the source came to match after its content was there":         {web().source(source.ConfigMap, "cm", "one", 10, 80, SourceSeen{Content: 120, Edited: true, Matched: 130, Version: 130}), Record},
		"the source ceased to be ignored after its content was there":  {web().source(source.ConfigMap, "cm", "one", 10, 80, SourceSeen{Content: 120, Edited: true, Annotations: 130, Version: 130}), Record},
		"the source came to match, and the workload names it":          {web().source(source.ConfigMap, "cm", "one", 10, 80, SourceSeen{Content: 120, Edited: true, Matched: 130, Version: 130}).with(named), Reload},
		"a reference is new to the ledger":                             {web().ledger(nil).cm("one", 60).source(source.Secret, "sec", "s", 10, 20, SourceSeen{Version: 20}), Record},
		"a reference is new, and its source was edited after the roll": {web().ledger(nil).cm("one", 60).source(source.Secret, "sec", "s", 10, 130, SourceSeen{Content: 130, Edited: true, Version: 130}).with(func(f *Facts) { f.Seen.Template = 120 }), Reload},

		// Marks of Reloader.
		"no ledger, a mark that fits":                              {web().mark(reloaderMark("two")).cm("two", 80), Record},
		"no ledger, a mark that does not fit, pods unknown":        {web().mark(reloaderMark("one")).cm("two", 40), ListPods},
		"no ledger, a mark that does not fit, an older pod":        {web().mark(reloaderMark("one")).cm("two", 40).pods(1, 39), Reload},
		"no ledger, a mark that does not fit, younger pods":        {web().mark(reloaderMark("one")).cm("two", 40).pods(1, 46), Record},
		"no ledger, a mark that does not fit, pods hardly younger": {web().mark(reloaderMark("one")).cm("two", 40).pods(1, 45), Reload},
		"no ledger, a mark that two sources share":                 {web().mark(reloaderMark("one")).cm("two", 40).source(source.ConfigMap, "CM", "x", 10, 20, SourceSeen{Version: 20}).pods(1, 39), Record},
		"a ledger copied from another object, mark does not count": {web().ledger(func(l *ledger.Ledger) { l.UID = "other" }).mark(reloaderMark("one")).cm("two", 40).pods(1, 39), Record},

		// Other ledgers.
		"a ledger of a newer format":           {web().with(func(f *Facts) { f.Workload.LedgerText = `{"v":99}` }).cmSeen("two", 120), Nothing},
		"a damaged ledger, edited as seen":     {web().with(func(f *Facts) { f.Workload.LedgerText = `{` }).cmSeen("two", 120), Reload},
		"a damaged ledger, older content":      {web().with(func(f *Facts) { f.Workload.LedgerText = `{` }).cm("two", 40), Record},
		"another key, ConfigMap unchanged":     {web().ledger(func(l *ledger.Ledger) { l.Instance = "key-0" }).cm("one", 60), Nothing},
		"another key, Secret older than it":    {web().ledger(otherKeyWithSecret).source(source.Secret, "sec", "s2", 10, 55, SourceSeen{Version: 55}), Record},
		"another key, Secret written since":    {web().ledger(otherKeyWithSecret).source(source.Secret, "sec", "s2", 10, 80, SourceSeen{Version: 80}), ListPods},
		"another key, written, older pod":      {web().ledger(otherKeyWithSecret).source(source.Secret, "sec", "s2", 10, 80, SourceSeen{Version: 80}).pods(1, 70), Reload},
		"another key, Secret seen to change":   {web().ledger(otherKeyWithSecret).source(source.Secret, "sec", "s2", 10, 120, SourceSeen{Content: 120, Edited: true, Version: 120}), Reload},
		"the ledger was wiped":                 {web().remembered(nil).cm("one", 60), Record},
		"the ledger was wiped before a change": {web().remembered(nil).cmSeen("two", 120), Reload},
		"the ledger was set back by an undo": {
			web().ledger(func(l *ledger.Ledger) {
				l.Counter = 2
				l.Entries[source.LocalKey{Kind: source.ConfigMap, Name: "cm"}] = digestOf("zero")
			}).remembered(nil).cm("one", 60), Record},
		"a newer ledger than ours was written by another replica": {
			web().ledger(func(l *ledger.Ledger) {
				l.Counter = 4
				l.Entries[source.LocalKey{Kind: source.ConfigMap, Name: "cm"}] = digestOf("two")
			}).remembered(nil).cmSeen("two", 120), Nothing},

		"ours under another key than the remembered one": {
			web().ledger(func(l *ledger.Ledger) { l.Counter, l.Entries[cmKey] = 4, digestOf("two") }).
				remembered(func(l *ledger.Ledger) { l.Instance = "key-0" }).cmSeen("two", 120), Nothing},
		"the same, written before": {
			web().ledger(func(l *ledger.Ledger) { l.Counter, l.Entries[cmKey] = 2, digestOf("two") }).
				remembered(func(l *ledger.Ledger) { l.Instance = "key-0" }).cmSeen("two", 120), Reload},

		// What does not concern it any more.
		"a source of the ledger is spared now":  {web().ledger(nil).with(func(f *Facts) { f.Spared = []source.LocalKey{{Kind: source.ConfigMap, Name: "cm"}} }), Record},
		"a source of the ledger does not exist": {web().ledger(nil), Nothing},
	} {
		t.Run(name, func(t *testing.T) {
			got := decided(t, tc.when.f)
			if got.Action != tc.want {
				t.Errorf("decided to %s (%s), want %s", got.Action, got.Why, tc.want)
			}
			if got.Why == "" {
				t.Error("it does not say why")
			}
		})
	}
}

func otherKeyWithSecret(l *ledger.Ledger) {
	l.Instance = "key-0"
	l.Entries = map[source.LocalKey]digest.Digest{{Kind: source.Secret, Name: "sec"}: digestOf("s1")}
}

func TestTheLedgerOfADecision(t *testing.T) {
	for name, tc := range map[string]struct {
		when *situation
		want map[source.LocalKey]digest.Digest
		n    int64
	}{
		"a reload raises the counter and takes the content over": {
			web().ledger(nil).cmSeen("two", 120), map[source.LocalKey]digest.Digest{{Kind: source.ConfigMap, Name: "cm"}: digestOf("two")}, 4},
		"recording does not raise it": {
			web().ledger(nil).cm("one", 60).source(source.Secret, "sec", "s", 10, 20, SourceSeen{Version: 20}),
			map[source.LocalKey]digest.Digest{{Kind: source.ConfigMap, Name: "cm"}: digestOf("one"), {Kind: source.Secret, Name: "sec"}: digestOf("s")}, 3},
		"a deleted source that is still referred to stays": {
			web().ledger(nil).source(source.Secret, "sec", "s", 10, 20, SourceSeen{Version: 20}),
			map[source.LocalKey]digest.Digest{{Kind: source.ConfigMap, Name: "cm"}: digestOf("one"), {Kind: source.Secret, Name: "sec"}: digestOf("s")}, 3},
		"one that nothing refers to goes": {
			web().ledger(func(l *ledger.Ledger) {
				l.Entries[source.LocalKey{Kind: source.ConfigMap, Name: "old"}] = digestOf("o")
			}).cmSeen("two", 120),
			map[source.LocalKey]digest.Digest{{Kind: source.ConfigMap, Name: "cm"}: digestOf("two")}, 4},
		"after a wiped ledger the counter goes on from ours": {
			web().remembered(nil).cmSeen("two", 120), map[source.LocalKey]digest.Digest{{Kind: source.ConfigMap, Name: "cm"}: digestOf("two")}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			got := decided(t, tc.when.f).Ledger
			if diff := cmp.Diff(tc.want, got.Entries); diff != "" {
				t.Errorf("entries differ (-want +got):\n%s", diff)
			}
			if got.Counter != tc.n || got.UID != "uid-1" || got.Instance != instance {
				t.Errorf("got counter %d, uid %s, key %s", got.Counter, got.UID, got.Instance)
			}
		})
	}
}

func TestSeveralChangesAreOneReloadThatNamesTheLastOneLast(t *testing.T) {
	d := decided(t, web().
		ledger(func(l *ledger.Ledger) { l.Entries[source.LocalKey{Kind: source.Secret, Name: "sec"}] = digestOf("s1") }).
		source(source.Secret, "sec", "s2", 10, 130, SourceSeen{Content: 130, Edited: true, Version: 130}).
		cmSeen("two", 120).f)
	if d.Action != Reload || len(d.Changes) != 2 {
		t.Fatalf("decided to %s with %d changes", d.Action, len(d.Changes))
	}
	if last := d.Changes[1].Source.Key.Name; last != "sec" {
		t.Errorf("the last change is that of %s, want sec", last)
	}
}

func TestEnvMarkingAlwaysChangesTheTemplate(t *testing.T) {
	decision := decided(t, web().ledger(nil).cmSeen("two", 120).f)
	value := workload.MarkHash(decision.Changes[0].Source, digest.SecretMarksKeyed)
	marked := web().mark(value).f.Workload
	for name, tc := range map[string]struct {
		standing   string
		seen       func(*WorkloadSeen)
		wantRolled bool
	}{
		"no mark yet":                                       {"", nil, false},
		"another value stands there":                        {"other", nil, false},
		"the same value stands there":                       {value, nil, true},
		"pods may be left from when it stood there":         {"other", func(s *WorkloadSeen) { s.Recent = append(s.Recent, marked.Revision()) }, true},
		"a rollout is under way that was not seen to begin": {"other", func(s *WorkloadSeen) { s.Whole = false }, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := web()
			if tc.standing != "" {
				s.mark(tc.standing)
			}
			seen := WorkloadSeen{Recent: []digest.Digest{s.f.Workload.Revision()}, Whole: true}
			if tc.seen != nil {
				tc.seen(&seen)
			}
			m := decision.Mark(&s.f.Workload, seen, digest.SecretMarksKeyed, at(200))
			if len(m.Env) != 1 || m.Env[0].Value != value || m.Env[0].Variable != "STAKATER_CM_CONFIGMAP" {
				t.Errorf("got the variables %v", m.Env)
			}
			if (m.Rolled != "") != tc.wantRolled {
				t.Errorf("rolled is %q", m.Rolled)
			}
		})
	}
	twice := decided(t, web().ledger(func(l *ledger.Ledger) { l.Entries[source.LocalKey{Kind: source.ConfigMap, Name: "CM"}] = digestOf("x") }).
		cmSeen("two", 120).source(source.ConfigMap, "CM", "y", 10, 130, SourceSeen{Content: 130, Edited: true, Version: 130}).f)
	s := web()
	if m := twice.Mark(&s.f.Workload, WorkloadSeen{Recent: []digest.Digest{s.f.Workload.Revision()}, Whole: true}, digest.SecretMarksKeyed, at(200)); len(m.Env) != 1 || m.Rolled == "" && len(twice.Changes) != 2 {
		t.Errorf("two sources that share a variable: got %+v", m)
	}
}
