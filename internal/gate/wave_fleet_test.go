package gate

import (
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// world is a cluster with two sources whose workloads are rolled one after the other. It knows what
// stands, and nothing of how a fleet decides.
type world struct {
	*testing.T
	seed      uint64
	rand      *rand.Rand
	now       time.Time
	settings  [2]Settings
	content   [2]int
	workloads map[workload.Key]*inWorld
	fleets    [2]*Fleet
	// queue are the workloads that are going to be reconciled.
	queue []workload.Key
	// fails is how many of a hundred rollouts fail.
	fails   int
	started int
	names   int
	log     []string
}

func keyOf(name string) workload.Key {
	return workload.Key{Kind: "Deployment", Namespace: "shop", Name: name}
}

func (w *world) source(i int) *source.Source {
	src := &source.Source{Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: fmt.Sprint("cm", i)}}
	src.Digest = contentOf(w.content[i])
	return src
}

func (w *world) say(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

func (w *world) fail(format string, args ...any) {
	w.Helper()
	for _, line := range w.log[max(0, len(w.log)-60):] {
		w.Log(line)
	}
	w.Fatalf("REROLL_BASE=%d draws it first: %s", w.seed, fmt.Sprintf(format, args...))
}

// build makes a fleet anew. Everybody asks it again. After a restart, nothing is known of the one
// before.
func (w *world) build(i int, restart bool) {
	old := w.fleets[i]
	if old != nil && !restart {
		w.push(old.Again(w.fleets[:])...)
	}
	src := w.source(i)
	w.fleets[i] = NewFleet(src, w.settings[i])
	for _, key := range w.keys() {
		if !w.workloads[key].uses[i] {
			continue
		}
		var before Member
		if old != nil && !restart && old.digest == src.Digest {
			before, _ = old.Member(key)
		}
		w.fleets[i].Put(key, w.member(key, i, before))
		w.push(key)
	}
	if old != nil && !restart {
		w.fleets[i].Inherit(old)
	}
}

func (w *world) push(keys ...workload.Key) {
	for _, key := range inOrder(slices.Values(keys)) {
		at := w.rand.IntN(len(w.queue) + 1)
		w.queue = append(w.queue[:at], append([]workload.Key{key}, w.queue[at:]...)...)
	}
}

// put tells the fleets what stands.
func (w *world) put(key workload.Key) {
	at, there := w.workloads[key]
	for i, fleet := range w.fleets {
		stopped := fleet.Stopped()
		if there && at.uses[i] {
			before, _ := fleet.Member(key)
			fleet.Put(key, w.member(key, i, before))
		} else {
			fleet.Remove(key)
		}
		if fleet.Stopped() != stopped {
			w.push(fleet.Again(w.fleets[:])...)
		}
		w.push(fleet.Next()...)
	}
}

// pass lets time pass. What time alone changes is put again when a member said so.
func (w *world) pass(d time.Duration) {
	w.now = w.now.Add(d)
	for _, key := range w.keys() {
		due := false
		for _, fleet := range w.fleets {
			m, ok := fleet.Member(key)
			due = due || ok && !m.Due.IsZero() && !m.Due.After(w.now)
		}
		if due {
			w.put(key)
		}
	}
}

// reconcile starts a workload if its fleets let it, and judges them.
func (w *world) reconcile() {
	key := w.queue[0]
	w.queue = w.queue[1:]
	at, there := w.workloads[key]
	if !there {
		return
	}
	var asked []*Fleet
	for i, fleet := range w.fleets {
		if at.uses[i] && at.has[i] != w.content[i] {
			asked = append(asked, fleet)
		}
	}
	if a := askWaves(key, asked); len(asked) > 0 && a.Open() {
		w.judge(key, at)
		f, d := w.facts(key), reload.Decision{}
		passWaves(f, &d, asked, nil)
		if w.rand.IntN(10) == 0 {
			w.say("%s: its write was refused", key)
			w.push(key) // it is retried
		} else {
			w.say("%s starts in wave %d", key, at.wave)
			w.started++
			at.start(w, &d)
		}
	} else if len(asked) > 0 {
		w.say("%s waits %s", key, a.Why)
	}
	for _, fleet := range w.fleets {
		fleet.Free(key)
	}
	w.put(key)
}

// judge fails the test if a workload must not start.
func (w *world) judge(key workload.Key, starts *inWorld) {
	w.Helper()
	for i, s := range w.settings {
		if !starts.uses[i] || starts.has[i] == w.content[i] {
			continue
		}
		rolling, failed, all := 0, 0, 0
		for other, at := range w.workloads {
			if !at.uses[i] {
				continue
			}
			all++
			if other != key && at.rolls(w, i) {
				rolling++
			}
			if at.failed(w, i) {
				failed++
			}
			blocked := false
			if at.has[i] != w.content[i] {
				for j, fleet := range w.fleets {
					blocked = blocked || j != i && at.uses[j] && at.has[j] != w.content[j] && fleet.Stopped()
				}
			}
			if at.wave < starts.wave && (at.isNew(w, i) && at.rolls(w, i) || !at.isNew(w, i) && !blocked) {
				w.fail("%s starts in wave %d before %s of wave %d", key, starts.wave, other, at.wave)
			}
		}
		// One that rolls with earlier data takes no other place. One that is paused in that takes none.
		if budget := s.MaxRolling.Of(all); rolling >= budget && starts.state != Running {
			w.fail("%s starts, and %d are running already, allowed are %d of %d", key, rolling, budget, all)
		}
		if failed > s.MaxFailures && !s.Resumed {
			w.fail("%s starts although %d failed", key, failed)
		}
	}
}

// inOrder returns keys in the same order each time, so that a seed draws the same world again.
func inOrder(keys iter.Seq[workload.Key]) []workload.Key {
	return slices.SortedFunc(keys, func(a, b workload.Key) int { return strings.Compare(a.Name, b.Name) })
}

func (w *world) keys() []workload.Key { return inOrder(maps.Keys(w.workloads)) }

// pick draws one of the workloads that are as they have to be; nil if there is none.
func (w *world) pick(which func(*inWorld) bool) (workload.Key, *inWorld) {
	fit := slices.DeleteFunc(w.keys(), func(key workload.Key) bool { return !which(w.workloads[key]) })
	if len(fit) == 0 {
		return workload.Key{}, nil
	}
	key := fit[w.rand.IntN(len(fit))]
	return key, w.workloads[key]
}

func (w *world) add() {
	w.names++
	at := &inWorld{wave: w.rand.IntN(4) - 1, state: Done, ended: w.now.Add(-time.Hour), listed: true}
	at.uses[w.rand.IntN(2)] = true
	if w.rand.IntN(3) == 0 {
		at.uses = [2]bool{true, true}
	}
	at.has = w.content
	key := keyOf(fmt.Sprint("w", w.names))
	w.workloads[key] = at
	w.put(key)
}

// step is one thing that happens.
func (w *world) step() {
	switch n := w.rand.IntN(100); {
	case n < 40 && len(w.queue) > 0:
		w.reconcile()
	case n < 65:
		w.ends()
	case n < 72:
		w.list()
	case n < 76:
		w.pass(time.Duration(w.rand.IntN(100)) * time.Second)
	case n < 80:
		w.recovers()
	case n < 82:
		i := w.rand.IntN(2)
		w.content[i]++
		w.settings[i].Resumed = false
		w.say("source %d has content %d", i, w.content[i])
		w.build(i, false)
	case n < 84:
		w.restart()
	case n < 86:
		i := w.rand.IntN(2)
		w.settings[i].Resumed = true
		w.say("source %d is resumed", i)
		w.build(i, false)
	case n < 88:
		if key, at := w.pick(func(at *inWorld) bool { return at.state != Done || at.paused }); at != nil {
			at.paused = !at.paused
			w.say("%s is paused: %t", key, at.paused)
			w.put(key)
		}
	case n < 94:
		w.add()
	default:
		if key, at := w.pick(func(*inWorld) bool { return true }); at != nil {
			delete(w.workloads, key)
			w.put(key)
		}
	}
}

// Whatever comes: never more are running than the budget, nothing starts past a failure or before
// the end of a lower wave, and all are done at the end, unless failures stop them.
func TestWhateverComesWavesHold(t *testing.T) {
	starts, stops, soaked := 0, 0, 0
	base := rand.Uint64N(1e15)
	if text, ok := os.LookupEnv("REROLL_BASE"); ok {
		var err error
		if base, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	for seed := base; seed < base+200; seed++ {
		r := rand.New(rand.NewPCG(seed, 25))
		w := &world{T: t, seed: seed, rand: r, now: noon, workloads: map[workload.Key]*inWorld{}, content: [2]int{1, 1}, fails: []int{0, 10, 40}[r.IntN(3)]}
		for i := range w.settings {
			w.settings[i] = Settings{RollingBy: "x", MaxFailures: r.IntN(3), MaxRolling: []annotations.Share{{}, {Number: 1}, {Number: 3}, {Number: 1, Percent: true}, {Number: 40, Percent: true}}[r.IntN(5)]}
			w.settings[i].Soak = []time.Duration{0, 0, time.Minute}[r.IntN(3)]
			w.build(i, true)
		}
		for range 2 + r.IntN(25) {
			w.add()
		}
		for i := range w.content {
			w.content[i]++
			w.build(i, false)
		}
		for range 300 {
			w.step()
			for _, at := range w.workloads {
				for i := range w.content {
					if at.uses[i] && at.isNew(w, i) && at.soaks(w, i) {
						soaked++
					}
				}
			}
		}
		stops += w.settle()
		starts += w.started
	}
	if starts < 2_500 || stops < 2 || soaked < 1000 {
		t.Errorf("REROLL_BASE=%d draws %d starts, %d stops and %d that soak: this shows little", base, starts, stops, soaked)
	}
}

// settle lets everything come to its end without failures, and returns 1 if failures have stopped
// it.
func (w *world) settle() int {
	w.Helper()
	w.fails = 0
	for _, key := range w.keys() {
		if at := w.workloads[key]; at.paused {
			at.paused = false
			w.put(key)
		}
	}
	for range 100_000 {
		switch {
		case len(w.queue) > 0:
			w.reconcile()
		case w.list(), w.ends():
		case w.soaking():
			w.pass(time.Minute)
		default:
			stopped := w.fleets[0].Stopped() || w.fleets[1].Stopped()
			for key, at := range w.workloads {
				for i := range w.content {
					if at.uses[i] && at.has[i] != w.content[i] && !stopped {
						w.fail("nothing happens any more, and %s was not rolled", key)
					}
				}
			}
			if stopped {
				return 1
			}
			return 0
		}
	}
	w.fail("it never ends")
	return 0
}
