//go:build !race

package state

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workload"
)

// A namespace user chooses the expressions of many workloads and the names of many ConfigMaps, and each
// change of one of these concerns all workloads.

// expressive is a workload with a number of expressions. To match one takes all characters of a name.
func expressive(name string, version, expressions int) workload.Workload {
	return deployment(name, "", version, byName, numbered(".*-%d", expressions))
}

// ofNames knows ConfigMaps with the longest names.
func ofNames(n int) *State {
	s := New(false)
	for i := range n {
		s.PutSource(configMap(longName(i), "one", 1), inASnap)
	}
	return s
}

func longName(i int) string { return fmt.Sprintf("%s-%04dx", strings.Repeat("a", 244), i) }

func TestExpressionsAreMatchedOnceForAName(t *testing.T) {
	const expressions, names, most = 200, 1000, 10 // the second look takes a hundredth
	for name, between := range map[string]func(s *State){
		"and nothing happens":             func(*State) {},
		"and the workload gets an event":  func(s *State) { s.PutWorkload(expressive("web", 3, expressions), live) },
		"and a source changes":            func(s *State) { s.PutSource(configMap(longName(7), "two", 3), live) },
		"and the namespace sets defaults": func(s *State) { s.ChangeDefaults("shop", defaultsOf(annotations.Keys, "used"), 3) },
	} {
		t.Run(name, func(t *testing.T) {
			s := ofNames(names)
			first, second := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
			for i := range 5 { // the shortest is how long it takes when nothing else gets in its way
				s.DeleteWorkload(expressive("web", 1, 1).Key)
				s.PutWorkload(expressive("web", 2, expressions), live)
				first = min(first, took(func() { concerned(s, "web") }))
				between(s)
				second = min(second, took(func() { concerned(s, "web") }))
				if i > 0 && second <= first/most {
					return
				}
			}
			t.Errorf("the first look takes %s, and the second one %s", first, second)
		})
	}
}

func TestAnswersOfExpressionsTakeLittleMemory(t *testing.T) {
	const workloads, names, most = 100, 1000, 8 << 20 // 500 workloads take five times as much
	s := ofNames(names)
	for i := range workloads {
		s.PutWorkload(deployment(fmt.Sprintf("w-%d", i), "", 1, byName, numbered("x-%d-.*", 10)), inASnap)
	}
	before := heap()
	for version := range 2 {
		for i := range workloads {
			concerned(s, fmt.Sprintf("w-%d", i))
		}
		for i := range names { // each event has another copy of the name
			s.PutSource(configMap(longName(i), "one", version+2), live)
		}
	}
	if kept := heap() - before; kept > most {
		t.Errorf("%d MiB are kept, may be %d", kept>>20, most>>20)
	}
	runtime.KeepAlive(s)
}
