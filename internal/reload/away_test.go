package reload

import (
	"testing"

	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

func TestContentThatLeftAndCameBack(t *testing.T) {
	left := func(l Away) func(*Facts) { return func(f *Facts) { f.Concerns[0].Away = l } }
	// The content was away from version 110 and second 110 on and is back since second 120.
	away := func() *situation {
		return web().ledger(nil).source(source.ConfigMap, "cm", "one", 10, 120, SourceSeen{Content: 120, Edited: true, Version: 120}).
			with(left(Away{Version: 110, Time: at(110), Noted: true}))
	}
	made := left(Away{Version: 110, Time: at(110), Noted: true, Made: true})
	optional := func(f *Facts) {
		f.Concerns[0].Uses = []workload.Use{{How: workload.UseEnvFrom, Container: "app", Optional: true}}
	}
	started := func(created, started int64, version uint64) func(*Facts) {
		return func(f *Facts) {
			f.Pods = &Pods{}
			f.Pods.Add(StartedPod{Created: at(created), Started: at(started), Version: version})
		}
	}
	waiting := func(pod StartedPod) func(*Facts) {
		return func(f *Facts) {
			f.Pods = &Pods{}
			f.Pods.Add(pod)
		}
	}
	pod := func(created int64, version uint64) func(*Facts) { return started(created, created, version) }
	for name, tc := range map[string]struct {
		when *situation
		want Action
	}{
		"the pods are asked": {away(), ListPods},
		"there are none":     {away().pods(0, 0), Record},
		"a pod was there before, as its version tells":            {away().with(pod(110, 109)), Record},
		"a pod was there before, as its age tells":                {away().with(pod(104, 115)), Record},
		"it was started before, and the clocks of nodes differ":   {away().with(started(90, 105, 115)), Reload},
		"it was made before, and waited for a source":             {away().with(started(90, 112, 115)), Reload},
		"it was made before, and a container still waits":         {away().with(waiting(StartedPod{Created: at(90), Version: 115})), Reload},
		"the same, as its version tells":                          {away().with(waiting(StartedPod{Created: at(90), Version: 105})), Reload},
		"it was made before, and no node has it yet":              {away().with(waiting(StartedPod{Created: at(90), Version: 105, Unscheduled: true})), Record},
		"the workload asked for nothing before it was back":       {away().with(func(f *Facts) { f.Seen.Adopted = 121 }), Nothing},
		"the workload asked for something before it was back":     {away().with(func(f *Facts) { f.Seen.Adopted = 119 }), ListPods},
		"a pod was started meanwhile":                             {away().with(pod(112, 115)), Reload},
		"a pod was started right after, by a slow kubelet":        {away().with(pod(125, 130)), Reload},
		"a pod was started long after":                            {away().with(pod(126, 130)), Record},
		"it was created with other data, and a pod waited for it": {away().with(made).with(started(90, 112, 115)), Reload},
		"it was created with other data, and a pod ran before":    {away().with(made).with(pod(110, 109)), Record},
		"the same, and it is optional: it may have run without":   {away().with(made).with(optional).with(pod(110, 109)), Reload},
		"it is optional, and its pods are younger":                {away().with(made).with(optional).with(pod(126, 130)), Record},
		"it was created as it is":                                 {away().with(left(Away{Version: 120, Time: at(120), Noted: true, Made: true})), Nothing},
		"its pods cannot be listed":                               {away().pods(0, 0).with(func(f *Facts) { f.Workload.SelectorGuessed, f.Workload.Progress.Total = true, 1 }), Reload},
		"since when it was away is not known, and a pod is older": {away().with(left(Away{Version: 120, Time: at(120), Noted: true})).with(pod(110, 109)), Reload},
		"the same, and its pods are younger":                      {away().with(left(Away{Version: 120, Time: at(120), Noted: true})).with(pod(126, 130)), Record},
		"the data that was compared is back":                      {away().with(left(Away{Version: 110, Time: at(110), Noted: true, Before: digestOf("one")})).with(pod(110, 109)), Record},
		"other data came before, and a pod is older":              {away().with(left(Away{Version: 110, Time: at(110), Noted: true, Before: digestOf("two")})).with(pod(110, 109)), Reload},
		"the ledger is from after the only change":                {away().with(left(Away{Version: 120, Time: at(120), Noted: true, Before: digestOf("two"), Late: true})).with(pod(110, 109)), Record},
		"it is from after the first of several changes":           {away().with(left(Away{Version: 110, Time: at(110), Noted: true, Before: digestOf("two"), Late: true})).with(pod(110, 109)), Reload},
		"when it came back is not known":                          {away().with(left(Away{Version: 110, Time: at(110)})).with(pod(126, 130)), Reload},
	} {
		t.Run(name, func(t *testing.T) {
			if d := decided(t, tc.when.f); d.Action != tc.want {
				t.Errorf("decided to %s, want %s: %s", d.Action, tc.want, d.Why)
			}
		})
	}
}

// A Job that Reroll makes again has the ledger of the decision, and its watch may lag behind that of its
// sources. The data was away and is back since 120, as a watch has shown before it showed the Job.
func TestASourceThatWasAwayBeforeItsWorkloadArrived(t *testing.T) {
	arrived := func(template uint64, change func(*Facts)) *situation {
		return web().ledger(nil).source(source.ConfigMap, "cm", "one", 10, 120, SourceSeen{Content: 120, Edited: true, Version: 120}).
			with(func(f *Facts) { f.Seen.Template, f.Seen.Since = template, template }).with(change)
	}
	none := func(*Facts) {}
	created := func(in, departed uint64) func(*Facts) {
		return func(f *Facts) { f.Concerns[0].Seen.Created, f.Concerns[0].Seen.Departed = in, departed }
	}
	absent := func(in uint64) func(*Facts) { return func(f *Facts) { f.Concerns[0].Seen.Absent = in } }
	optionally := func(f *Facts) { f.Concerns[0].Uses = []workload.Use{{How: workload.UseEnvFrom, Optional: true}} }
	partly := func(f *Facts) {
		f.Concerns[0].Uses = []workload.Use{{How: workload.UseEnvFrom, Optional: true}, {How: workload.UseEnvFrom}}
	}
	unreferenced := func(f *Facts) { f.Concerns[0].Uses = nil }
	for name, tc := range map[string]struct {
		when *situation
		want Action
	}{
		"its Pods are asked":                  {arrived(100, none), ListPods},
		"one has started before that":         {arrived(100, none).pods(1, 110), Reload},
		"one has started long after that":     {arrived(100, none).pods(1, 126), Record},
		"the same, and keys were removed":     {arrived(100, func(f *Facts) { f.Concerns[0].Seen.Timeless = true }).pods(1, 126), Reload},
		"its Pods have started since":         {arrived(130, none), Nothing},
		"it was compared since":               {arrived(100, func(f *Facts) { f.Seen.Compared = true }), Nothing},
		"it did not exist then":               {arrived(100, created(120, 90)), Nothing},
		"a snapshot then was without it":      {arrived(100, created(120, 0)).with(absent(100)), Nothing},
		"it was deleted since":                {arrived(100, created(120, 101)), ListPods},
		"a snapshot since was without it":     {arrived(100, created(120, 0)).with(absent(101)), ListPods},
		"it may have existed then":            {arrived(100, created(120, 0)), ListPods},
		"it was edited after its creation":    {arrived(100, created(119, 90)), ListPods},
		"Pods start without it":               {arrived(100, created(120, 90)).with(optionally), ListPods},
		"one container starts without it":     {arrived(100, created(120, 90)).with(partly), ListPods},
		"no Pod references it":                {arrived(100, created(120, 90)).with(unreferenced), ListPods},
		"no watch has shown its template":     {arrived(0, none), Nothing},
		"no watch has shown when it was back": {arrived(100, func(f *Facts) { f.Concerns[0].Seen = SourceSeen{Version: 120} }), Nothing},
	} {
		t.Run(name, func(t *testing.T) {
			if d := decided(t, tc.when.f); d.Action != tc.want {
				t.Errorf("decided to %s, want %s: %s", d.Action, tc.want, d.Why)
			}
		})
	}
}
