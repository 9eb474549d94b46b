package state

import (
	"fmt"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/workload"
)

// defaultsOf reads the annotations of a namespace, given as key, value, ….
func defaultsOf(pairs ...string) Defaults {
	own := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		own[pairs[i]] = pairs[i+1]
	}
	read, mistakes := policy.ParseNamespace(own, annotations.DefaultNames())
	return Defaults{Policy: read, Mistakes: mistakes}
}

// optsIn are the defaults of a namespace that opts in its workloads.
func optsIn() Defaults { return defaultsOf(annotations.AutoOfNamespace, "true") }

// The order in which watches bring a namespace and its workloads does not matter.
func TestDefaultsApplyInEachOrder(t *testing.T) {
	everywhere := func(string) bool { return true }
	puts := func(s *State) {
		s.PutWorkload(deployment("plain", "cfg", 10), inASnap)
		s.PutWorkload(deployment("out", "cfg", 11, auto, "false"), inASnap)
		s.PutWorkload(deployment("in", "cfg", 12, auto, "true"), inASnap)
	}
	for about, play := range map[string]func(s *State){
		"the namespace first": func(s *State) { s.PutDefaults("shop", optsIn()); s.KeepNamespaces(everywhere); puts(s) },
		"the namespace last":  func(s *State) { puts(s); s.PutDefaults("shop", optsIn()); s.KeepNamespaces(everywhere) },
		"in between": func(s *State) {
			s.PutDefaults("shop", optsIn())
			puts(s)
			puts(s)
			s.KeepNamespaces(everywhere)
		},
		"an event of it": func(s *State) { puts(s); s.ChangeDefaults("shop", optsIn(), 20) },
		"two events of it": func(s *State) {
			puts(s)
			s.ChangeDefaults("shop", defaultsOf(annotations.AutoOfNamespace, "false"), 20)
			s.ChangeDefaults("shop", optsIn(), 21)
		},
	} {
		t.Run(about, func(t *testing.T) {
			s := New(false)
			play(s)
			if got := len(s.PutSource(configMap("cfg", "one", 30), live)); got != 2 {
				t.Errorf("the ConfigMap concerns %d workloads, want two", got)
			}
			s.ChangeDefaults("shop", Defaults{}, 40)
			if got := len(s.PutSource(configMap("cfg", "two", 50), live)); got != 1 {
				t.Errorf("without the annotation, it concerns %d workloads, want one", got)
			}
		})
	}
}

// Earlier changes of a source do not count for a workload that a namespace opts in: neither those
// from before the event of the namespace, nor if the snapshot brings it.
func TestSinceWhenANamespaceOptsIn(t *testing.T) {
	s := New(false)
	s.PutWorkload(deployment("web", "cfg", 10), inASnap)
	_, differs, inherited := s.ChangeDefaults("shop", optsIn(), 20)
	f, _ := s.Facts(workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"})
	if !differs || len(inherited) != 1 || inherited[0].Before.OptedIn(false) || !f.Workload.Policy.OptedIn(false) || f.Seen.Policy != 20 || f.Adopts() != 20 {
		t.Errorf("%t, %d workloads, since %d", differs, len(inherited), f.Seen.Policy)
	}
	s = New(false)
	s.PutWorkload(deployment("web", "cfg", 10), inASnap)
	s.PutDefaults("shop", optsIn())
	s.PutWorkload(deployment("web", "cfg", 11), live)
	s.KeepNamespaces(func(string) bool { return true })
	if f, _ = s.Facts(workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"}); f.Seen.Policy != 0 || !f.Workload.Policy.OptedIn(false) {
		t.Errorf("since %d, although the snapshot brought the namespace", f.Seen.Policy)
	}
}

// The time of the annotation is that of its first version, as long as the namespace opts in.
func TestTheTimeOfTheAnnotationOfANamespace(t *testing.T) {
	s, at := New(false), time.Unix(1000, 0)
	s.PutWorkload(deployment("web", "cfg", 10), inASnap)
	since := func() time.Time {
		f, _ := s.Facts(workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"})
		return f.OptedInByNamespaceAt
	}
	put := func(d Defaults, later time.Duration) {
		d.OptsInSince = at.Add(later)
		s.ChangeDefaults("shop", d, 20)
	}
	put(optsIn(), 0)
	put(defaultsOf(annotations.AutoOfNamespace, "1", annotations.Settle, "3s"), time.Minute)
	if got := since(); !got.Equal(at) {
		t.Errorf("another annotation: %s", got)
	}
	put(defaultsOf(annotations.AutoOfNamespace, "false"), time.Hour)
	put(optsIn(), 2*time.Hour)
	if got := since(); !got.Equal(at.Add(2 * time.Hour)) {
		t.Errorf("it has opted out in between: %s", got)
	}
}

// BenchmarkChangeWithDefaults is BenchmarkChange for workloads that their namespace opts in.
func BenchmarkChangeWithDefaults(b *testing.B) {
	for _, n := range []int{1000, 20000} {
		b.Run(fmt.Sprintf("of %d workloads", n), func(b *testing.B) { change(b, inherited(n)) })
	}
}

// BenchmarkPutWorkloadWithDefaults is BenchmarkPutWorkload for such workloads.
func BenchmarkPutWorkloadWithDefaults(b *testing.B) {
	for _, n := range []int{1000, 20000} {
		b.Run(fmt.Sprintf("of %d workloads", n), func(b *testing.B) { putWorkload(b, inherited(n)) })
	}
}

// BenchmarkChangeDefaults is what an edit of the annotations of a namespace costs, for all of its
// workloads together.
func BenchmarkChangeDefaults(b *testing.B) {
	for _, n := range []int{1000, 20000} {
		b.Run(fmt.Sprintf("of %d workloads", n), func(b *testing.B) {
			s := inherited(n)
			defaults := [2]Defaults{optsIn(), {}}
			version := uint64(3)
			b.ReportAllocs()
			for b.Loop() {
				version++
				s.ChangeDefaults("shop", defaults[version%2], version)
			}
		})
	}
}

// inherited is crowded with workloads that their namespace opts in.
func inherited(n int) *State {
	s := New(false)
	s.PutDefaults("shop", optsIn())
	s.KeepNamespaces(func(string) bool { return true })
	for i := range n {
		name := fmt.Sprintf("w-%d", i)
		s.PutWorkload(deployment(name, name, 1), inASnap)
		s.PutSource(configMap(name, "first", 1), inASnap)
	}
	return s
}
