package state

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
)

// A tenant chooses how many keys a ConfigMap has, how many of them an edit changes, how many workloads
// use it, and how many keys each of them lists.

// wide is a ConfigMap with n keys, whose values all differ between two versions.
func wide(n, version int) source.Source {
	data := make(map[string]string, n)
	for i := range n {
		data[fmt.Sprintf("key-%05d", i)] = strconv.Itoa(version)
	}
	return source.FromConfigMap(&corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cm", UID: "cm", ResourceVersion: strconv.Itoa(version)}, Data: data,
	}, annotations.DefaultNames())
}

// listing returns a state with n workloads that list keys which the ConfigMap does not have.
func listing(n, keys int) *State {
	s := New(false)
	for i := range n {
		list := strings.TrimSuffix(numbered(fmt.Sprintf("other-%d-%%d", i), keys), ",")
		s.PutWorkload(deployment(fmt.Sprintf("w-%d", i), "cm", 1, auto, "true", annotations.Keys, "configmap/cm="+list), inASnap)
	}
	return s
}

// edits are two versions of a ConfigMap with n keys, by turns, each with its number of workloads.
func edits(s *State, n int) (edit func() (concerned, spared int)) {
	s.PutSource(wide(n, 1), inASnap)
	versions, version := [2]source.Source{wide(n, 2), wide(n, 3)}, 1
	return func() (int, int) {
		version++
		src := versions[version%2]
		src.ResourceVersion = strconv.Itoa(version)
		concerned, spared := s.ReceiveSource(src, live)
		return len(concerned), spared
	}
}

func TestManyChangedKeysTakeTimeInProportion(t *testing.T) {
	const little, much, most = 50, 800, 100 // in proportion it is 16 times, by the square 256 times
	less, more := edits(listing(little, 1), little), edits(listing(much, 1), much)
	few, many := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	for range 20 { // the shortest is how long it takes when nothing else gets in its way
		few = min(few, took(func() {
			for range 10 { // the clock of the processor is coarse
				less()
			}
		})/10)
		many = min(many, took(func() { more() }))
		if many <= most*few {
			return
		}
	}
	t.Errorf("%d take %s, and %d take %s", little, few, much, many)
}

// took is the time of the processor, so that other programs do not count.
func took(what func()) time.Duration {
	used := func() time.Duration {
		var usage syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage) // it cannot fail with these arguments
		return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
	}
	began := used()
	what()
	return max(used()-began, time.Microsecond)
}

// What users have lists of keys compared with must not keep everybody else waiting.
func TestLongListsOfKeysAreComparedWithoutTheLock(t *testing.T) {
	const workloads, keys = 300, 900
	s := listing(workloads, keys)
	edit := edits(s, 5000)
	var longest, took time.Duration
	for range 10 { // a busy machine may stop a holder of the lock
		longest, took = waitFor(s, func() {
			if concerned, spared := edit(); concerned != 0 || spared != workloads {
				t.Errorf("it reaches %d workloads and spares %d", concerned, spared)
			}
		})
		if longest <= took/4 {
			return
		}
	}
	t.Errorf("somebody else waited for %s while the change took %s", longest, took)
}

// A workload may come, or choose other keys, between the comparison and the event.
func TestAListThatWasNotComparedBeforeIsComparedWithTheEvent(t *testing.T) {
	names := strings.TrimSuffix(numbered("key-%05d", 2*fewKeys), ",")
	s := listing(1, 1)
	s.PutSource(wide(100, 1), inASnap)
	next := wide(100, 2)
	changes := s.compareKeys(&next)
	s.PutWorkload(deployment("late", "cm", 1, auto, "true", annotations.Keys, "configmap/cm="+names), live)
	s.mu.Lock()
	concerned, spared := s.putSource(next, 2, changes, live)
	s.mu.Unlock()
	if len(concerned) != 1 || concerned[0].Name != "late" || spared != 1 {
		t.Errorf("it reaches %v and spares %d", concerned, spared)
	}
	// Another event may come between the two, too: of the data before it, only a key was added.
	added := wide(101, 2)
	changes = s.compareKeys(&added)
	s.PutSource(wide(100, 4), live)
	s.mu.Lock()
	defer s.mu.Unlock()
	if concerned, _ = s.putSource(added, 5, changes, live); len(concerned) != 1 {
		t.Errorf("after another event, it reaches %v", concerned)
	}
}

// BenchmarkManyChangedKeys is how long an edit takes that changes all keys of a ConfigMap, of which
// each of 1,000 workloads lists others.
func BenchmarkManyChangedKeys(b *testing.B) {
	for _, n := range []struct{ changed, listed int }{{10000, 1}, {10000, 900}, {50000, 1}, {50000, 900}} {
		b.Run(fmt.Sprintf("%d changed, %d listed", n.changed, n.listed), func(b *testing.B) {
			edit := edits(listing(1000, n.listed), n.changed)
			for b.Loop() {
				edit()
			}
		})
	}
}
