package inspect

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// followed returns the objects of a story as a process has them that follows the cluster: in random
// order, with earlier versions, and with objects that were deleted.
func followed(s *story, random *rand.Rand) *Objects {
	o := NewFollowed(s.objects.settings)
	o.unread, o.skipped, o.runs, o.noDefaults = s.objects.unread, s.objects.skipped, s.objects.runs, s.objects.noDefaults
	var steps []func()
	var later []func()
	for name, known := range s.objects.namespaces {
		steps = append(steps, func() { o.putNamespace(name, known) })
	}
	for _, w := range s.objects.workloads {
		steps = append(steps, func() {
			before := w
			before.ResourceVersion, before.LedgerText, before.Template = "1", "", digest.Digest{9}
			o.live.putWorkload(before, o.settings.reads(w.Key.Kind))
		})
		later = append(later, func() { o.live.putWorkload(w, o.settings.reads(w.Key.Kind)) })
		gone := w
		gone.Key.Name += "-gone"
		steps = append(steps, func() { o.live.putWorkload(gone, o.settings.reads(w.Key.Kind)) })
		later = append(later, func() { o.deleteWorkload(gone.Key) })
	}
	for _, src := range s.objects.sources {
		if !o.settings.Rules.ReadsSource(src.Key.Kind) {
			continue
		}
		steps = append(steps, func() {
			before := src
			before.ResourceVersion, before.Digest = "1", digest.Digest{9}
			o.live.state.PutSource(before, false)
		})
		later = append(later, func() { o.live.state.PutSource(src, false) })
		gone := src
		gone.Key.Name += "-gone"
		steps = append(steps, func() { o.live.state.PutSource(gone, false) })
		later = append(later, func() { o.deleteSource(gone.Key) })
	}
	for _, all := range [][]func(){steps, later} {
		random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, step := range all {
			step()
		}
	}
	return o
}

// Otherwise a page would contradict the command.
func TestAProcessThatFollowsTheClusterAnswersAsOneThatHasJustReadIt(t *testing.T) {
	names, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(names) < 20 {
		t.Fatalf("%d stories, %v", len(names), err)
	}
	for _, path := range names {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "kind: ") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := tell(t, string(text))
			want, err := s.objects.Status("", "", s.running, noon)
			if err != nil {
				t.Fatal(err)
			}
			for seed := range uint64(3) {
				o := followed(s, rand.New(rand.NewPCG(seed, 1)))
				got, err := o.Status("", "", s.running, noon)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want.Text(Paint{}, Layout{Wide: true}), got.Text(Paint{}, Layout{Wide: true})); diff != "" {
					t.Errorf("seed %d: the answers differ:\n%s", seed, diff)
				}
			}
		})
	}
}

// viewOf returns a view of a story.
func viewOf(s *story, o *Objects) *View {
	v := NewView("", clocktesting.NewFakeClock(noon))
	f := &follower{objects: o}
	v.show(&origin{objects: o, locked: &f.mu, pods: &keptPods{names: o.settings.Rules.Names, of: map[string]podList{}, wanted: map[string]struct{}{}}})
	for _, ns := range []string{"shop", "default", ""} {
		pods, err := s.running(ns)
		v.from.pods.of[ns] = podList{pods, err, noon}
	}
	v.Refresh(context.Background())
	return v
}

func TestSummariesAreOfTheWorkloadsThatStatusLists(t *testing.T) {
	s := read(t, "status-mixed")
	v := viewOf(s, followed(s, rand.New(rand.NewPCG(1, 1))))
	want, err := s.objects.Status("", "", s.running, noon)
	if err != nil {
		t.Fatal(err)
	}
	got := map[workload.Key]string{}
	for _, sum := range v.Board().All {
		if sum.State != NotOptedIn {
			got[sum.Key] = sum.State.String() + " " + sum.Detail
		}
	}
	listed := map[workload.Key]string{}
	for i := range want.Answers {
		a := &want.Answers[i]
		listed[a.Workload.Key] = a.State.String() + " " + oneLine(a.Detail)
	}
	if diff := cmp.Diff(listed, got); diff != "" {
		t.Error(diff)
	}
	if !slices.IsSortedFunc(v.Board().All, compareSummaries) {
		t.Error("not those first that need somebody")
	}
}

func TestOnlyWhatChangedIsComputedAgain(t *testing.T) {
	s := read(t, "status-mixed")
	o := followed(s, rand.New(rand.NewPCG(1, 1)))
	v := viewOf(s, o)
	v.Refresh(context.Background())
	before := v.Board()
	if v.Refresh(context.Background()); v.Board() != before {
		t.Error("the board was replaced without a change")
	}
	for _, key := range v.due(v.from) {
		if v.summaries[key].State == UpToDate {
			t.Errorf("%s is to be computed again", key)
		}
	}
	settled := maps.Clone(v.summaries)
	var changed workload.Key
	for key, sum := range v.summaries {
		if sum.State == UpToDate && len(sum.Sources) > 0 && sum.Sources[0].Rolls {
			changed = key
		}
	}
	use := settled[changed].Sources[0].Key
	src, _ := o.source(use.In(changed.Namespace))
	src.ResourceVersion, src.Digest, src.DataTime = "9999", digest.Digest{7}, noon
	o.live.state.PutSource(src, false)
	wait := v.Changed()
	v.Refresh(context.Background())
	select {
	case <-wait:
	default:
		t.Fatal("readers were not told of a change")
	}
	if v.Board().Version == before.Version || v.summaries[changed].State == UpToDate {
		t.Errorf("%s is still %s", changed, v.summaries[changed].State)
	}
	for key, sum := range settled {
		if sum.isStable() && !slices.ContainsFunc(sum.Sources, func(u SourceUse) bool { return u.Key == use && key.Namespace == changed.Namespace }) && v.summaries[key] != sum {
			t.Errorf("%s was computed again", key)
		}
	}
}

func TestASourceOfAnyKindIsFoundInAView(t *testing.T) {
	s := read(t, "status-mixed")
	o := followed(s, rand.New(rand.NewPCG(1, 1)))
	v := viewOf(s, o)
	for key := range s.objects.sources {
		p, src, err := v.Plan(key)
		if err != nil || src == nil || p.Source != key || p.Absent {
			t.Errorf("%s: %v, %v", key, src, err)
		}
		want := s.objects.plan(key.Namespace, key, s.running, noon)
		if diff := cmp.Diff(want.Text(Paint{}), p.Text(Paint{})); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
	if _, src, _ := v.Plan(source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "nowhere"}); src != nil {
		t.Error("a source that does not exist was found")
	}
}
