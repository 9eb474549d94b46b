//go:build !race

package state

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// longestLock is how long an event may hold the lock.
const longestLock = time.Millisecond

// oneKey is a pod template that uses one key of each of n ConfigMaps with the longest names.
func oneKey(n int) *corev1.PodSpec {
	app := corev1.Container{Name: "app"}
	for i := range n {
		app.Env = append(app.Env, corev1.EnvVar{Name: "V", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: longName(i)}, Key: "text",
		}}})
	}
	return &corev1.PodSpec{Containers: []corev1.Container{app}}
}

// worstHolders are workloads with the worst annotations that are accepted, by what they have.
func worstHolders() map[string]func() workload.Workload {
	all := map[string]func() workload.Workload{
		"expressions and a key of 1,000 ConfigMaps": func() workload.Workload {
			return ofTemplate(oneKey(1000), byName, numbered(".*-%d", 200))
		},
	}
	for name, annotations := range worstAnnotations() {
		all[name] = func() workload.Workload {
			clones := slices.Clone(annotations)
			for i, text := range clones {
				clones[i] = strings.Clone(text) // each event has another copy
			}
			return named(1, clones)
		}
	}
	return all
}

func TestTheWorstAnnotationsHoldTheLockForAMoment(t *testing.T) {
	for name, of := range worstHolders() {
		t.Run(name, func(t *testing.T) {
			first, again, removed := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
			s, version := New(false), 1
			for i := range 500 {
				s.PutSource(configMap(longName(i), "one", 1), inASnap)
			}
			for range 20 { // a busy machine may stop a holder of the lock
				version += 3
				removed = min(removed, s.holds(deployment("web", "", 1), version))
				first = min(first, s.holds(of(), version+1))
				again = min(again, s.holds(of(), version+2))
				if max(first, again, removed) <= longestLock {
					return
				}
			}
			t.Errorf("the first event holds the lock for %s, the next one for %s, and the one without annotations for %s", first, again, removed)
		})
	}
}

// Many workloads may use one key of a ConfigMap, each with other expressions.
func TestAChangedKeyIsMatchedWithoutTheLock(t *testing.T) {
	s, held := New(false), time.Duration(math.MaxInt64)
	spec := oneKey(1)
	src := func(version int) source.Source { return configMap(longName(0), fmt.Sprint(version), version) }
	for version := 2; version < 22; version++ {
		for i := range 30 {
			w := ofTemplate(spec, byName, numbered(fmt.Sprintf(".*-%d-%d-%%d", i, version), 200))
			w.Key.Name, w.UID, w.ResourceVersion = fmt.Sprint(i), "", fmt.Sprint(version)
			s.PutWorkload(w, live)
		}
		if version == 2 {
			s.PutSource(src(1), inASnap)
		}
		next := src(version)
		changes := s.compareKeys(&next)
		s.mu.Lock()
		began := time.Now()
		s.putSource(next, uint64(version), changes, live)
		held = min(held, time.Since(began))
		s.mu.Unlock()
		if version > 2 && held <= longestLock {
			return
		}
	}
	t.Errorf("the lock is held for %s", held)
}

// A workload may use one key of each of many ConfigMaps, and name thousands of others.
func TestAComparisonMatchesNoNamesWithTheLock(t *testing.T) {
	const uses = 1000
	s, held := New(false), time.Duration(math.MaxInt64)
	s.PutWorkload(ofTemplate(oneKey(uses), byName, numbered(strings.Repeat("a", 40)+".%04d", 5000)), live)
	for i := range uses {
		s.PutSource(configMap(longName(i), "one", i+2), inASnap)
	}
	key := workload.Key{Kind: "Deployment", Namespace: "shop", Name: "web"}
	facts, _ := s.Facts(key)
	versions := versionsOf(&facts)
	if len(versions) != uses {
		t.Fatalf("%d sources are compared", len(versions))
	}
	for range 20 { // a busy machine may stop a holder of the lock
		s.mu.Lock()
		began := time.Now()
		s.workloads[key].compare(s, versions)
		held = min(held, time.Since(began))
		s.mu.Unlock()
		if held <= longestLock {
			return
		}
	}
	t.Errorf("the lock is held for %s", held)
}
