package gate

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// world is a cluster with two sources whose workloads are rolled one after the other. It knows what
// stands, and nothing of how a fleet decides.
type world struct {
	*testing.T
	rand      *rand.Rand
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

// inWorld is one workload.
type inWorld struct {
	wave int
	// uses are the sources that it uses, and has is what it was last rolled with.
	uses [2]bool
	has  [2]int
	// state is Running, Failed or Done.
	state State
}

func keyOf(name string) workload.Key {
	return workload.Key{Kind: "Deployment", Namespace: "shop", Name: name}
}

func (w *world) source(i int) *source.Source {
	src := &source.Source{Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: fmt.Sprint("cm", i)}}
	src.Digest[0], src.Digest[1] = byte(w.content[i]), byte(w.content[i]>>8)
	return src
}

func (w *world) say(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

func (w *world) fail(format string, args ...any) {
	w.Helper()
	for _, line := range w.log[max(0, len(w.log)-60):] {
		w.Log(line)
	}
	w.Fatalf(format, args...)
}

func (w *world) member(at *inWorld, i int) Member {
	m := Member{Wave: at.wave, Rolled: at.has[i] == w.content[i]}
	if m.Rolled {
		m.State = at.state
	}
	return m
}

// build makes a fleet anew, as after a restart. Everybody asks it again.
func (w *world) build(i int) {
	if old := w.fleets[i]; old != nil {
		w.push(old.Again(w.fleets[:])...)
	}
	w.fleets[i] = NewFleet(w.source(i), w.settings[i])
	for key, at := range w.workloads {
		if at.uses[i] {
			w.fleets[i].Put(key, w.member(at, i))
			w.push(key)
		}
	}
}

func (w *world) push(keys ...workload.Key) {
	for _, key := range keys {
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
			fleet.Put(key, w.member(at, i))
		} else {
			fleet.Remove(key)
		}
		if fleet.Stopped() != stopped {
			w.push(fleet.Again(w.fleets[:])...)
		}
		w.push(fleet.Next()...)
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
		for _, fleet := range asked {
			fleet.reserve(key)
		}
		if w.rand.IntN(10) == 0 {
			w.say("%s: its write was refused", key)
			w.push(key) // it is retried
		} else {
			w.say("%s starts in wave %d", key, at.wave)
			w.started++
			at.has, at.state = w.content, Running
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
		running, failed, all := 0, 0, 0
		for other, at := range w.workloads {
			if !at.uses[i] {
				continue
			}
			all++
			rolled := at.has[i] == w.content[i]
			if rolled && at.state == Running {
				running++
			}
			if rolled && at.state == Failed {
				failed++
			}
			blocked := false
			if !rolled {
				for j, fleet := range w.fleets {
					blocked = blocked || j != i && at.uses[j] && at.has[j] != w.content[j] && fleet.Stopped()
				}
			}
			if at.wave < starts.wave && (rolled && at.state == Running || !rolled && !blocked) {
				w.fail("%s starts in wave %d before %s of wave %d", key, starts.wave, other, at.wave)
			}
		}
		if budget := s.MaxRolling.Of(all); running >= budget {
			w.fail("%s starts, and %d are running already, allowed are %d of %d", key, running, budget, all)
		}
		if failed > s.MaxFailures && !s.Resumed {
			w.fail("%s starts although %d failed", key, failed)
		}
	}
}

func (w *world) pick(state State) (workload.Key, *inWorld) {
	for key, at := range w.workloads {
		if at.state == state {
			return key, at
		}
	}
	return workload.Key{}, nil
}

func (w *world) add() {
	w.names++
	at := &inWorld{wave: w.rand.IntN(4) - 1, state: Done}
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
	case n < 75:
		if key, at := w.pick(Running); at != nil {
			at.state = Done
			if w.rand.IntN(100) < w.fails {
				at.state = Failed
			}
			w.say("%s is %d", key, at.state)
			w.put(key)
		}
	case n < 80:
		if key, at := w.pick(Failed); at != nil && w.rand.IntN(3) == 0 {
			w.say("%s recovers", key)
			at.state = Running
			w.put(key)
		}
	case n < 82:
		i := w.rand.IntN(2)
		w.content[i]++
		w.settings[i].Resumed = false
		w.say("source %d has content %d", i, w.content[i])
		w.build(i)
	case n < 84:
		w.say("a restart")
		w.queue = nil
		w.build(0)
		w.build(1)
	case n < 86:
		i := w.rand.IntN(2)
		w.settings[i].Resumed = true
		w.say("source %d is resumed", i)
		w.build(i)
	case n < 93:
		w.add()
	default:
		for key := range w.workloads {
			delete(w.workloads, key)
			w.put(key)
			break
		}
	}
}

// Whatever comes: never more are running than the budget, nothing starts past a failure or before
// the end of a lower wave, and all are done at the end, unless failures stop them.
func TestWhateverComesWavesHold(t *testing.T) {
	starts, stops := 0, 0
	for seed := range uint64(800) {
		r := rand.New(rand.NewPCG(seed, 25))
		w := &world{T: t, rand: r, workloads: map[workload.Key]*inWorld{}, content: [2]int{1, 1}, fails: []int{0, 5, 30}[r.IntN(3)]}
		for i := range w.settings {
			w.settings[i] = Settings{RollingBy: "x", MaxFailures: r.IntN(3), MaxRolling: []annotations.Share{{}, {Number: 1}, {Number: 3}, {Number: 1, Percent: true}, {Number: 40, Percent: true}}[r.IntN(5)]}
			w.build(i)
		}
		for range 2 + r.IntN(25) {
			w.add()
		}
		for i := range w.content {
			w.content[i]++
			w.build(i)
		}
		for range 300 {
			w.step()
		}
		stops += w.settle(seed)
		starts += w.started
	}
	if starts < 15_000 || stops < 10 {
		t.Errorf("%d starts and %d stops: this shows little", starts, stops)
	}
}

// settle lets everything come to its end without failures, and returns 1 if failures have stopped
// it.
func (w *world) settle(seed uint64) int {
	w.Helper()
	w.fails = 0
	for range 100_000 {
		_, running := w.pick(Running)
		switch {
		case len(w.queue) > 0:
			w.reconcile()
		case running != nil:
			key, at := w.pick(Running)
			at.state = Done
			w.put(key)
		default:
			stopped := w.fleets[0].Stopped() || w.fleets[1].Stopped()
			for key, at := range w.workloads {
				for i := range w.content {
					if at.uses[i] && at.has[i] != w.content[i] && !stopped {
						w.fail("seed %d: nothing happens any more, and %s was not rolled", seed, key)
					}
				}
			}
			if stopped {
				return 1
			}
			return 0
		}
	}
	w.fail("seed %d: it never ends", seed)
	return 0
}
