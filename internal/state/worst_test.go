package state

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/workload"
)

// A namespace user chooses what annotations and pod templates have. These are the worst that are
// accepted: 250 KiB of annotations, and 1.5 MiB of object.

func numbered(format string, n int) string {
	var list strings.Builder
	for i := range n {
		fmt.Fprintf(&list, format+",", i)
	}
	return list.String()
}

func worstAnnotations() map[string][]string {
	lists := func(list string) []string {
		var all []string
		for _, kind := range []string{"configmap", "secret", "secretproviderclass"} {
			all = append(all, kind+".reloader.stakater.com/reload", list)
		}
		return all
	}
	return map[string][]string{
		"51,201 names in one list":     {byName, numbered("%d", 51201)},
		"as many names as lists take":  append(lists(numbered("a%d", 5000)), "configmaps.exclude.reloader.stakater.com/reload", numbered("b%d", 5000), "secrets.exclude.reloader.stakater.com/reload", numbered("b%d", 5000)),
		"names with dots":              lists(numbered("shop.%d", 5000)),
		"usual expressions":            lists(numbered("shop-%d-.*-config", 200)),
		"a selector of many values":    {annotations.Sources, "!x,app notin (" + strings.TrimSuffix(numbered("v%d", 400), ",") + ")"},
		"expressions with many states": lists(numbered("[a-z]{60}%d.*", 60)),
	}
}

// named is a workload that has such annotations.
func named(version int, annotations []string) workload.Workload {
	return deployment("web", "cm", version, annotations...)
}

// referring is a workload whose template refers to n ConfigMaps.
func referring(n, version int) workload.Workload {
	var container corev1.Container
	for i := range n {
		container.EnvFrom = append(container.EnvFrom, corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: fmt.Sprintf("cm-%d", i)},
		}})
	}
	meta := &metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web", ResourceVersion: fmt.Sprint(version), Annotations: map[string]string{auto: "true"}}
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{container}}}
	return workload.New(workload.Kind{Name: "Deployment"}, meta, nil, template, annotations.DefaultNames())
}

// heap is what is kept in memory.
func heap() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

func TestTheWorstAnnotationsKeepLittleMemory(t *testing.T) {
	for name, annotations := range worstAnnotations() {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			before := heap()
			s.PutWorkload(named(1, annotations), live)
			if kept := heap() - before; kept > 4<<20 {
				t.Errorf("%d bytes are kept, may be %d", kept, 4<<20)
			}
			runtime.KeepAlive(s)
		})
	}
}

func TestWhatALargeWorkloadTakesInTheIndexIsBounded(t *testing.T) {
	large := map[string]workload.Workload{"with 40,000 references": referring(40000, 1)}
	for name, annotations := range worstAnnotations() {
		large["with "+name] = named(1, annotations)
	}
	for name, w := range large {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			s.PutWorkload(w, live)
			if n := len(s.index.bySource); n > mostExact {
				t.Errorf("%d sources are in the index", n)
			}
			version := 1
			allocations := testing.AllocsPerRun(10, func() {
				version++
				w.ResourceVersion = fmt.Sprint(version)
				s.PutWorkload(w, live)
			})
			if allocations > 20 {
				t.Errorf("an event that changes nothing takes %.0f allocations", allocations)
			}
		})
	}
}

func TestASourceReachesAWorkloadThatNamesTooManyForTheIndex(t *testing.T) {
	for name, w := range map[string]workload.Workload{
		"by a list":             named(1, []string{byName, numbered("cm-%d", 5000)}),
		"by references":         referring(5000, 1),
		"by a list of patterns": named(1, []string{byName, numbered("cm.%d", 5000)}),
	} {
		t.Run(name, func(t *testing.T) {
			s := New(false)
			s.PutWorkload(w, live)
			if got := s.PutSource(configMap("cm-4711", "one", 2), live); len(got) != 1 {
				t.Errorf("it reaches %v", got)
			}
			if got := concerned(s, "web"); len(got) != 1 || got[0] != "cm-4711" {
				t.Errorf("it is concerned by %v", got)
			}
			s.DeleteSource(configMap("cm-4711", "one", 2).Key, reload.Departure{Version: 3})
			if f, _ := s.Facts(w.Key); len(f.Gone) != 1 {
				t.Error("it is not known to be gone")
			}
			s.PutWorkload(deployment("web", "", 4), live)
			if f, _ := s.Facts(w.Key); len(f.Gone) != 0 || len(s.index.trying) != 0 {
				t.Error("it is shown to a workload that does not ask for it any more")
			}
		})
	}
}

// The answers of expressions are remembered for as long as the annotations are the same.
func TestOtherExpressionsAreMatchedAgain(t *testing.T) {
	s := New(false)
	s.PutSource(configMap("a-1", "one", 1), inASnap)
	s.PutSource(configMap("b-1", "one", 1), inASnap)
	for version, list := range []string{"a.*,c,d.*,e.*,f.*,g.*", "b.*,c,d.*,e.*,f.*,g.*", "a.*,c,d.*,e.*,f.*,g.*", "a.*, c,d.*,e.*,f.*,g.*"} {
		s.PutWorkload(deployment("web", "", version+2, byName, list), live)
		for range 2 {
			if got := concerned(s, "web"); len(got) != 1 || got[0] != list[:1]+"-1" {
				t.Errorf("%s is concerned by %v", list, got)
			}
		}
	}
}

// What users have entries of lists compared with must not keep everybody else waiting. A busy
// machine may stop a holder of the lock, so that one of several attempts has to show it.
func TestVerdictsTakeNoLock(t *testing.T) {
	s := New(false)
	s.PutWorkload(named(1, []string{byName, numbered(strings.Repeat("a", 40)+".%04d", 5000)}), live)
	for i := range 400 {
		s.PutSource(configMap(fmt.Sprintf("%s-x%03d", strings.Repeat("a", 40), i), "one", i+2), live)
	}
	var longest, took time.Duration
	for range 10 {
		if longest, took = waitFor(s, func() { concerned(s, "web") }); longest <= took/4 {
			return
		}
	}
	t.Errorf("somebody else waited for %s while the facts took %s", longest, took)
}

// waitFor returns the longest time that another client waited for the lock while something was done,
// and how long that took.
func waitFor(s *State, what func()) (longest, took time.Duration) {
	done := make(chan time.Duration)
	began := time.Now()
	go func() {
		what()
		done <- time.Since(began)
	}()
	for {
		select {
		case took := <-done:
			return longest, took
		default:
			asked := time.Now()
			s.mu.Lock()
			longest = max(longest, time.Since(asked))
			s.mu.Unlock()
			runtime.Gosched()
		}
	}
}

// holds is how long an event of a workload holds the lock.
func (s *State) holds(w workload.Workload, version int) time.Duration {
	w.ResourceVersion, w.Ledgers = fmt.Sprint(version), s.ledgers
	revision, rank := w.Revision(), s.rankOf(&w, w.LedgerText)
	s.mu.Lock()
	defer s.mu.Unlock()
	began := time.Now()
	s.putWorkload(w, revision, rank, live)
	return time.Since(began)
}

// BenchmarkWorstAnnotations is how long an event of such a workload takes once it is read, and how long
// it holds the lock, ns-locked. First is the one with which the annotations come.
func BenchmarkWorstAnnotations(b *testing.B) {
	for name, annotations := range worstAnnotations() {
		first := named(1, annotations)
		clones := slices.Clone(annotations)
		for i, text := range clones {
			clones[i] = strings.Clone(text) // as each event brings it
		}
		again := named(1, clones)
		for when, before := range map[string]workload.Workload{"first": deployment("web", "", 1), "again": again} {
			b.Run(name+", "+when, func(b *testing.B) {
				s, version, held := New(false), 0, time.Duration(0)
				b.ReportAllocs()
				for b.Loop() {
					version += 2
					s.holds(before, version)
					held += s.holds(first, version+1)
				}
				b.ReportMetric(float64(held.Nanoseconds())/float64(b.N), "ns-locked")
			})
		}
	}
}
