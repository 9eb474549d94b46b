package reload

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/workload"
)

// byReloaderAt puts the mark there that fits the content of the ConfigMap, as written by Reloader.
func (s *situation) byReloaderAt(second int64) *situation {
	s.f.Workload.Marks.ByReloader = at(second)
	return s.mark(hex.EncodeToString(s.f.Concerns[0].Source.Reloader[:]))
}

func TestWhatReloaderHasRolledMeanwhile(t *testing.T) {
	ours := func(l *ledger.Ledger) {
		l.Marks = workload.Marks{Env: []workload.EnvMark{{Container: "app", Variable: "STAKATER_CM_CONFIGMAP", Value: "x"}}}.Digest()
	}
	for name, tc := range map[string]struct {
		when *situation
		want Action
	}{
		"its mark fits, and is no older than the content":             {web().ledger(ours).cm("two", 110).byReloaderAt(110), Record},
		"its mark is from before that content":                        {web().ledger(ours).cm("two", 110).byReloaderAt(109), ListPods},
		"its mark does not fit":                                       {web().ledger(ours).cm("two", 110).with(func(f *Facts) { f.Workload.Marks.ByReloader = at(111) }).mark("y"), ListPods},
		"the mark fits, and is not known to be its":                   {web().ledger(ours).cm("two", 110).mark(hex.EncodeToString([]byte("sha1 of two         ")[:20])), ListPods},
		"keys were only taken away, which notes no time":              {web().ledger(ours).cm("two", 60).byReloaderAt(110), ListPods},
		"the template came back since":                                {web().ledger(ours).cm("two", 110).byReloaderAt(110).with(func(f *Facts) { f.Seen.TemplateReverted = true }), ListPods},
		"it was for another source, after this content":               {web().ledger(ours).cm("one", 60).byReloaderAt(110), Nothing},
		"it was for another source, and the template came back since": {web().ledger(ours).cm("one", 60).byReloaderAt(110).with(func(f *Facts) { f.Seen.Template, f.Seen.TemplateReverted = 120, true }), AwaitRollout},
		"it was for another source, before this content":              {web().ledger(ours).cm("one", 60).byReloaderAt(59), AwaitRollout},
		"by the annotation":                                           {web().ledger(ours).cm("two", 110).annotatedAt(110), Record},
		"by the annotation, which is about another content":           {web().ledger(ours).cm("two", 110).annotatedAt(110).with(func(f *Facts) { f.Concerns[0].Source.Reloader[0]++ }), ListPods},
	} {
		t.Run(name, func(t *testing.T) {
			if d := decided(t, tc.when.f); d.Action != tc.want || d.BesideReloader {
				t.Errorf("decided to %s, want %s: %s; beside Reloader: %t", d.Action, tc.want, d.Why, d.BesideReloader)
			}
		})
	}
}

// annotatedAt is byReloaderAt by the annotation.
func (s *situation) annotatedAt(second int64) *situation {
	c := s.f.Concerns[0]
	s.f.Workload.Marks.ByReloader = at(second)
	s.f.Workload.Marks.ReloadedFrom = workload.ReloadedFrom{Source: c.Source.Key, Hash: hex.EncodeToString(c.Source.Reloader[:])}.JSON()
	return s
}

func TestAReloaderOnTheSameWorkloadIsNoticed(t *testing.T) {
	after := func(f *Facts) { f.Seen.Template = 120 }
	for name, tc := range map[string]struct {
		when *situation
		want bool
	}{
		"it has rolled for a change that we saw":      {web().ledger(nil).cmSeen("two", 110).byReloaderAt(110).with(after), true},
		"and we had, too":                             {web().ledger(nil).cmSeen("one", 110).byReloaderAt(110).with(after), true},
		"it has rolled before the change":             {web().ledger(nil).cmSeen("two", 110).byReloaderAt(109).with(after), false},
		"nobody saw when it rolled":                   {web().ledger(nil).cmSeen("two", 110).byReloaderAt(110), false},
		"nobody saw the change":                       {web().ledger(nil).cm("two", 110).byReloaderAt(110).with(after), false},
		"the source was only made":                    {web().ledger(nil).cmSeen("two", 110).byReloaderAt(110).with(after).with(func(f *Facts) { f.Concerns[0].Seen.Edited = false }), false},
		"the time of the change was not noted":        {web().ledger(nil).cmSeen("two", 110).byReloaderAt(110).with(after).with(func(f *Facts) { f.Concerns[0].Seen.Timeless = true }), false},
		"the mark that fits may have been made by us": {web().ledger(nil).cmSeen("two", 110).mark(hex.EncodeToString([]byte("sha1 of two         ")[:20])).with(after), false},
	} {
		t.Run(name, func(t *testing.T) {
			if d := decided(t, tc.when.f); d.BesideReloader != tc.want {
				t.Errorf("beside Reloader: %t, want %t; decided to %s: %s", d.BesideReloader, tc.want, d.Action, d.Why)
			}
		})
	}
}

// restartedAt is a restart of all pods by Reloader, after a change that was seen and leaves the
// template as it is.
func (s *situation) restartedAt(second int64, by string) *situation {
	s.f.Workload.Marks.RestartAt = at(second).UTC().Format(time.RFC3339)
	s.f.Workload.Marks.Writers = map[string]string{workload.RestartField: by}
	s.f.Concerns[0].Seen = SourceSeen{Content: 30, Edited: true, Version: 30}
	s.f.Seen.Template, s.f.Seen.Since = 10, 10
	return s
}

// made are pods of these ages.
func (s *situation) made(seconds ...int64) *situation {
	s.f.Pods = &Pods{}
	for _, second := range seconds {
		s.f.Pods.Add(StartedPod{Created: at(second), Started: at(second)})
	}
	return s
}

func TestPodsThatReloaderHasRestarted(t *testing.T) {
	for name, tc := range map[string]struct {
		when   *situation
		want   Action
		beside bool
	}{
		"the pods are not known yet":              {web().ledger(nil).cm("two", 110).restartedAt(111, "Reloader"), ListPods, true},
		"all of them have to go":                  {web().ledger(nil).cm("two", 110).restartedAt(111, "Reloader").made(100, 110), Record, true},
		"some have gone":                          {web().ledger(nil).cm("two", 110).restartedAt(111, "Reloader").made(100, 112), Record, true},
		"in the second of the change":             {web().ledger(nil).cm("two", 110).restartedAt(110, "Reloader").made(109, 111), Record, true},
		"and one pod is from that second":         {web().ledger(nil).cm("two", 110).restartedAt(110, "Reloader").made(109, 110), Reload, true},
		"before the change":                       {web().ledger(nil).cm("two", 110).restartedAt(109, "Reloader").made(100), Reload, false},
		"it was somebody else":                    {web().ledger(nil).cm("two", 110).restartedAt(111, "kubectl").made(100), Reload, false},
		"keys were only taken away, nobody knows": {web().ledger(nil).cm("two", 110).restartedAt(111, "Reloader").with(func(f *Facts) { f.Concerns[0].Seen.Timeless = true }).made(100), Reload, false},
	} {
		t.Run(name, func(t *testing.T) {
			if d := decided(t, tc.when.f); d.Action != tc.want || d.BesideReloader != tc.beside {
				t.Errorf("decided to %s, want %s: %s; beside Reloader: %t, want %t", d.Action, tc.want, d.Why, d.BesideReloader, tc.beside)
			}
		})
	}
}
