package reload

import (
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

func TestDecideOnAClass(t *testing.T) {
	key := source.LocalKey{Kind: source.SecretProviderClass, Name: "vault"}
	// Its ledger says "one", the class is "two" since second 120, and pods a and b were made at
	// 100.
	class := func(started map[string]bool) *situation {
		return web().refersTo(key).
			ledger(func(l *ledger.Ledger) {
				l.Entries, l.DataTime = map[source.LocalKey]digest.Digest{key: digestOf("one")}, 150
			}).
			source(source.SecretProviderClass, "vault", "two", 10, 120, SourceSeen{Content: 120, Edited: true, Version: 120}).
			with(func(f *Facts) { f.Concerns[0].Source.Started, f.Concerns[0].Source.EditedAt = started, 120 })
	}
	running := func(f *Facts) {
		f.Pods = &Pods{}
		f.Pods.Add(StartedPod{Name: "a", Created: at(100), Started: at(100), Version: 100})
		f.Pods.Add(StartedPod{Name: "b", Created: at(100), Started: at(100), Version: 100})
	}
	waiting := func(f *Facts) { // b has mounted nothing yet
		f.Pods = &Pods{}
		f.Pods.Add(StartedPod{Name: "a", Created: at(100), Started: at(100), Version: 100})
		f.Pods.Add(StartedPod{Name: "b", Created: at(100), Version: 100})
	}
	bothWaiting := func(f *Facts) {
		f.Pods = &Pods{}
		f.Pods.Add(StartedPod{Name: "a", Created: at(100), Version: 100})
		f.Pods.Add(StartedPod{Name: "b", Created: at(100), Version: 100})
	}
	neverGiven := func(f *Facts) { f.Concerns[0].Source.EditedAt = 0 }
	onlyNamed := func(f *Facts) { f.Concerns[0].Uses = nil }
	gone := func(f *Facts) { f.Concerns = nil }
	back := func(f *Facts) {
		f.Concerns[0].Source.Digest, f.Concerns[0].Away = digestOf("one"), Away{Version: 110, Noted: true}
	}
	neverReloaded := func(l *ledger.Ledger) { l.Counter = 0 }
	early := func(second int64) func(*Facts) {
		return func(f *Facts) {
			src := &f.Concerns[0].Source
			src.DataTime, src.EditedAt, f.Concerns[0].Seen = at(second), second, SourceSeen{Version: 49}
		}
	}
	olderThan := func(second int64) func(*ledger.Ledger) {
		return func(l *ledger.Ledger) { l.Counter, l.DataTime = 0, second-1 }
	}
	seenNow := func(f *Facts) { f.Concerns[0].Seen = SourceSeen{Content: 120, Edited: true, Version: 120} }
	job := func(f *Facts) { f.Workload.Runs = &workload.Runs{Once: true, Last: at(100)} }
	cronJob := func(f *Facts) { f.Workload.Runs = &workload.Runs{Last: at(100)} }
	rolled := func(f *Facts) { f.Seen.Template = 121 }
	fresh := map[string]bool{"a": true, "b": true}
	stale := map[string]bool{"a": true, "b": false}
	for name, tc := range map[string]struct {
		when *situation
		want Action
	}{
		"the pods are asked, though the rotation was seen":      {class(nil), ListPods},
		"one was given it while it ran":                         {class(stale).with(running), Reload},
		"all have started with it":                              {class(fresh).with(running), Record},
		"nobody knows of one, which is older":                   {class(map[string]bool{"a": true}).with(running), Reload},
		"no running pod was given it, and one has mounted none": {class(map[string]bool{"a": true}).with(waiting).with(neverGiven), Record},
		"one was given it while another had mounted none":       {class(map[string]bool{"a": true}).with(waiting), Reload},
		"no running pod was given it, and one lost its report":  {class(map[string]bool{"a": true}).with(running).with(neverGiven), Reload},
		"no running pod was given it, which they do not mount":  {class(nil).with(waiting).with(neverGiven).with(onlyNamed), Reload},
		"no pod runs, and they do not mount it":                 {class(nil).with(bothWaiting).with(neverGiven).with(onlyNamed), Reload},
		"nobody knows of any, and they are younger":             {class(nil).pods(2, 126), Record},
		"somebody rolls it now":                                 {class(stale).with(rolled), Record},
		"nobody saw it, and it claims to be no newer":           {class(nil).pods(2, 126).with(func(f *Facts) { f.Concerns[0].Seen.Content = 0 }), Record},
		"it was away, and one has had something else":           {class(stale).with(running).with(back), Reload},
		"it was away, and nobody has had anything else":         {class(fresh).with(running).with(back), Nothing},
		"it was given before the installation":                  {class(stale).with(early(49)).ledgerOf(neverReloaded), Record},
		"it was given with the installation":                    {class(stale).with(early(50)).ledgerOf(neverReloaded).with(running), Reload},
		"it was given before it, and the ledger is of a reload": {class(stale).with(early(49)).with(running), Reload},
		"it was given before it, and after the ledger":          {class(stale).with(early(49)).with(running).ledgerOf(olderThan(49)), Reload},
		"a watch shows that another pod is given it":            {class(stale).with(early(49)).with(running).ledgerOf(neverReloaded).with(seenNow), Reload},
		"no pod reports, which is no deletion":                  {class(nil).with(onDelete).ledger(func(l *ledger.Ledger) { l.Entries, l.OnDelete = map[source.LocalKey]digest.Digest{key: {}}, true }).with(gone), Nothing},
		"the first pod reports, which is no creation": {class(stale).with(running).with(onCreate).ledger(nil).with(func(f *Facts) {
			f.Concerns[0].Seen, f.Concerns[0].Source.Created = SourceSeen{Content: 120, Created: 120, Version: 120}, at(120)
		}), Record},
		"a Job began before it, and its pods are asked":        {class(fresh).with(job), ListPods},
		"a Job, and its pods have started with it":             {class(fresh).with(running).with(job), Record},
		"a Job, and one of its pods was given it while it ran": {class(stale).with(running).with(job), Reload},
		"a Job, and nobody knows of one of its pods":           {class(map[string]bool{"a": true}).with(running).with(job), Reload},
		"a Job, and its pods have ended":                       {class(fresh).pods(0, 0).with(job), Reload},
		"a Job, it was away, and nobody has had anything else": {class(fresh).with(running).with(back).with(job), Nothing},
		"a CronJob, the latest run of which began before it":   {class(fresh).with(cronJob), Reload},
		"a mark of Reloader that fits":                         {class(stale).with(running).with(byReloaderFor(key, "two")).with(rolled), Record},
		"one that fits data that is back, and one has others":  {class(stale).with(running).with(byReloaderFor(key, "two")), Reload},
		"one that fits data that is back, which all have":      {class(fresh).with(running).with(byReloaderFor(key, "two")), Record},
		"one that does not, and a pod has had something else":  {class(stale).with(running).with(byReloaderFor(key, "one")), Reload},
		"one that does not, and all have started with it":      {class(fresh).with(running).with(byReloaderFor(key, "one")), Record},
	} {
		t.Run(name, func(t *testing.T) {
			if d := decided(t, tc.when.f); d.Action != tc.want {
				t.Errorf("decided to %s, want %s: %s", d.Action, tc.want, d.Why)
			}
		})
	}
}

// byReloaderFor takes the ledger away, and leaves the mark of Reloader for a content.
func byReloaderFor(key source.LocalKey, content string) func(*Facts) {
	return func(f *Facts) {
		var src source.Source
		copy(src.Reloader[:], "sha1 of "+content)
		f.Workload.LedgerText = ""
		f.Installed = time.Time{}
		f.Workload.Marks.Env = []workload.EnvMark{{Container: "app", Variable: workload.EnvVarName(key.In("shop")), Value: workload.MarkHash(src, digest.SecretMarksSHA1)}}
	}
}
