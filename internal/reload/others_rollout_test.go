package reload

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// ofThree is the progress of a workload with three pods, of which some are of the present template.
func ofThree(updated int32, change func(*workload.Progress)) workload.Progress {
	p := workload.Progress{Observed: true, Wanted: 3, Total: 3, Updated: updated, Available: 3}
	if change != nil {
		change(&p)
	}
	return p
}

func parted(p *workload.Progress) { p.Partition = 1 }

// The data of cm changed at version 200 from "one" to "two", and somebody changed the pod template
// at 210.
func rolledByOthers() *situation {
	return web().cmSeen("two", 200).ledger(nil).with(func(f *Facts) {
		f.Seen.Template = 210
		f.Workload.Progress = ofThree(2, parted)
	})
}

func TestSourcesWithDataFromAnotherClientsRollout(t *testing.T) {
	cm := []source.Key{{Kind: source.ConfigMap, Namespace: "shop", Name: "cm"}}
	tests := map[string]struct {
		s      *situation
		action Action
		want   []source.Key
	}{
		"a ConfigMap changed, and then the template": {rolledByOthers(), Record, cm},
		"nothing changed but the template": {
			web().cmSeen("one", 200).ledger(nil).with(func(f *Facts) { f.Seen.Template = 210 }), Nothing, nil,
		},
		"the template changed first": {
			rolledByOthers().with(func(f *Facts) { f.Seen.Template = 190 }), Reload, nil,
		},
		"there is no ledger yet": {
			web().cmSeen("two", 200).with(func(f *Facts) { f.Seen.Template = 210; f.Workload.Progress = ofThree(2, parted) }), Record, nil,
		},
		"the reference came with the template": {
			rolledByOthers().ledger(func(l *ledger.Ledger) {
				l.Entries = map[source.LocalKey]digest.Digest{{Kind: source.Secret, Name: "sec"}: digestOf("s")}
			}), Record, nil,
		},
		"all pods are younger than the data": {
			web().cm("two", 200).ledger(nil).pods(3, 300).with(func(f *Facts) { f.Workload.Progress = ofThree(3, nil) }), Record, nil,
		},
		"it is a CronJob": {
			rolledByOthers().with(func(f *Facts) { f.Workload.Runs = &workload.Runs{Last: at(300)} }), Record, nil,
		},
		"the digests are of a lost key, and the Secret was seen to change": {
			web().source(source.Secret, "sec", "two", 10, 200, SourceSeen{Content: 200, Edited: true, Version: 200}).
				ledger(func(l *ledger.Ledger) {
					l.Instance, l.Entries = "key-0", map[source.LocalKey]digest.Digest{{Kind: source.Secret, Name: "sec"}: digestOf("s")}
				}).with(func(f *Facts) { f.Seen.Template = 210 }), Record, []source.Key{{Kind: source.Secret, Namespace: "shop", Name: "sec"}},
		},
		"the digests are of a lost key, and nobody saw the Secret change": {
			web().source(source.Secret, "sec", "two", 10, 20, SourceSeen{Version: 200}).
				ledger(func(l *ledger.Ledger) {
					l.Instance, l.Entries = "key-0", map[source.LocalKey]digest.Digest{{Kind: source.Secret, Name: "sec"}: digestOf("s")}
				}).with(func(f *Facts) { f.Seen.Template = 210 }), Record, nil,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := decided(t, tt.s.f)
			if d.Action != tt.action {
				t.Errorf("%s (%s), want %s", d.Action, d.Why, tt.action)
			}
			if diff := cmp.Diff(tt.want, d.OthersRollout); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnAggregateNamesChangesBeforeAnotherClientsRollout(t *testing.T) {
	aggregate := func(l *ledger.Ledger) {
		l.Entries = map[source.LocalKey]digest.Digest{}
		l.Aggregates = map[source.Kind]ledger.Total{source.ConfigMap: {Digest: digestOf("all"), Count: 1}}
	}
	s := rolledByOthers().ledger(aggregate).with(func(f *Facts) { f.Seen.Compared = true })
	if d := decided(t, s.f); d.Action != Record || d.OthersRollout != nil {
		t.Errorf("%s, %v", d.Action, d.OthersRollout)
	}
	s.f.Concerns[0].Away = Away{Version: 200, Time: at(200)}
	if d := decided(t, s.f); d.Action != Record || len(d.OthersRollout) != 1 {
		t.Errorf("%s, %v", d.Action, d.OthersRollout)
	}
}

func TestASourceDeletedBeforeAnotherClientsRollout(t *testing.T) {
	s := web().ledger(func(l *ledger.Ledger) { l.OnDelete = true }).with(func(f *Facts) {
		f.OnDelete, f.AutoReloadAll = true, true
		f.Gone = map[source.LocalKey]Departure{{Kind: source.ConfigMap, Name: "cm"}: {Version: 200}}
		f.Seen.Template = 210
		f.Workload.Progress = ofThree(2, parted)
	})
	if d := decided(t, s.f); d.Action != Record || len(d.OthersRollout) != 1 {
		t.Errorf("%s (%s), %v", d.Action, d.Why, d.OthersRollout)
	}
	s.f.OnDelete = false
	if d := decided(t, s.f); d.Action != Record || d.OthersRollout != nil {
		t.Errorf("%s (%s), %v", d.Action, d.Why, d.OthersRollout)
	}
}

// Nobody watched when the data changed: the workload may have rolled since then, and keep pods of a
// later rollout.
func TestPodsKeptWhileTheControllerWasDownAreListedOnce(t *testing.T) {
	unseen := func() *situation {
		return web().cm("two", 200).ledger(nil).with(func(f *Facts) {
			f.Seen.Template = 210
			f.Workload.Progress = ofThree(2, parted)
		})
	}
	byReloader := func() *situation {
		return web().cm("two", 200).ledger(nil).byReloaderAt(201).with(func(f *Facts) { f.Workload.Progress = ofThree(2, parted) })
	}
	tests := map[string]struct {
		s      *situation
		action Action
		others int
	}{
		"pods are kept":                                   {unseen(), ListPods, 0},
		"a kept pod is older":                             {unseen().pods(3, 150), Record, 1},
		"all pods are younger":                            {unseen().pods(3, 250), Record, 0},
		"no pod is kept":                                  {unseen().with(func(f *Facts) { f.Workload.Progress = ofThree(3, parted) }), Record, 0},
		"no pod is to be kept":                            {unseen().with(func(f *Facts) { f.Workload.Progress = ofThree(1, nil) }), Record, 0},
		"the status does not know the new one":            {unseen().with(func(f *Facts) { f.Workload.Progress.Observed = false }), ListPods, 0},
		"Reloader has rolled it":                          {byReloader(), ListPods, 0},
		"Reloader has rolled it, and a kept pod is older": {byReloader().pods(3, 150), Record, 1},
		"Reloader has rolled it, and all pods follow":     {byReloader().with(func(f *Facts) { f.Workload.Progress = ofThree(1, nil) }), Record, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			d := decided(t, tt.s.f)
			if d.Action != tt.action || len(d.OthersRollout) != tt.others {
				t.Errorf("%s (%s), %v; want %s, %d", d.Action, d.Why, d.OthersRollout, tt.action, tt.others)
			}
		})
	}
}

func TestPodsThatAreKeptOnPurpose(t *testing.T) {
	tests := map[string]struct {
		progress workload.Progress
		cause    rollout.Cause
		old      int
		observed bool
	}{
		"a partition":                           {ofThree(2, parted), rollout.CausePartition, 1, true},
		"a partition, at the beginning":         {ofThree(0, parted), rollout.CausePartition, 1, true},
		"OnDelete":                              {ofThree(0, func(p *workload.Progress) { p.OnDelete = true }), rollout.CauseOnDelete, 3, true},
		"a pause":                               {ofThree(0, func(p *workload.Progress) { p.Paused = true }), rollout.CausePaused, 3, true},
		"a pause-period":                        {ofThree(0, func(p *workload.Progress) { p.Paused, p.PausedByReroll = true, true }), "", 0, true},
		"a pause in a step of a canary":         {ofThree(1, func(p *workload.Progress) { p.Paused, p.Pausing = true, true }), "", 0, true},
		"a step of a canary":                    {ofThree(1, func(p *workload.Progress) { p.Pausing = true }), "", 0, true},
		"a rollout that goes on":                {ofThree(1, nil), "", 0, true},
		"OnDelete, and somebody deleted them":   {ofThree(3, func(p *workload.Progress) { p.OnDelete = true }), "", 0, true},
		"the status is about an older template": {ofThree(3, func(p *workload.Progress) { p.OnDelete, p.Observed = true, false }), "", 0, false},
		"there are no pods":                     {workload.Progress{Observed: true, Partition: 1}, "", 0, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := workload.Workload{Progress: tt.progress}
			kept, observed := rollout.KeptOnPurpose(&w, []source.Key{{Kind: source.ConfigMap, Namespace: "shop", Name: "cm"}})
			if kept.Cause != tt.cause || kept.Old != tt.old || observed != tt.observed {
				t.Errorf("%q, %d old, observed %v", kept.Cause, kept.Old, observed)
			}
			if kept.Cause != "" && (kept.All != 3 || len(kept.Changed) != 1) {
				t.Errorf("%+v", kept)
			}
		})
	}
}
