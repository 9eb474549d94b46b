package gate

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// inWorld is one workload.
type inWorld struct {
	wave int
	// uses are the sources that it uses, and has is what it was last rolled with.
	uses [2]bool
	has  [2]int
	// state is that of its rollout: Running, Failed, or Done since it ended.
	state State
	ended time.Time
	// paused reports whether a user keeps its Pods during a rollout.
	paused bool
	// listed reports whether its Pods were listed since the controller was started.
	listed bool
	// was is the content with which it was done before one of its rollouts with the same content.
	was [2]int
	// reloads is the counter in its ledger, and turn what the ledger has about the latest.
	reloads int64
	turn    ledger.Turn
}

func contentOf(n int) (sum digest.Digest) {
	sum[0], sum[1], sum[2] = byte(n), byte(n>>8), 1
	return sum
}

// isNew reports whether it was rolled with the present content of a source.
func (at *inWorld) isNew(w *world, i int) bool { return at.has[i] == w.content[i] }

// soaks reports whether it has to stay available.
func (at *inWorld) soaks(w *world, i int) bool {
	return at.state == Done && at.ended.Add(w.settings[i].Soak).After(w.now)
}

// rolls reports whether it takes a place: its Pods are being replaced, or it soaks with the present
// content.
func (at *inWorld) rolls(w *world, i int) bool {
	return at.state == Running && !at.paused || at.isNew(w, i) && at.soaks(w, i)
}

// failed reports whether the present content of a source made it fail, as far as anybody can know.
func (at *inWorld) failed(w *world, i int) bool {
	return at.isNew(w, i) && at.state == Failed && !at.paused && at.was[i] != w.content[i]
}

// start is a reload that was written.
func (at *inWorld) start(w *world, d *reload.Decision) {
	for i := range at.was {
		if !at.isNew(w, i) {
			at.was[i] = 0
		} else if at.state == Done && !at.soaks(w, i) {
			at.was[i] = w.content[i]
		}
	}
	at.has, at.state, at.listed, at.turn = w.content, Running, true, d.Ledger.Turn
	at.reloads++
}

// facts are what the controller has of a workload: its ledger and its status.
func (w *world) facts(key workload.Key) *reload.Facts {
	at := w.workloads[key]
	f := &reload.Facts{Now: w.now, Workload: workload.Workload{Key: key, UID: types.UID(key.Name)}}
	of := &f.Workload
	of.Policy, _ = policy.Parse(map[string]string{annotations.Wave: strconv.Itoa(at.wave)}, nil, annotations.DefaultNames())
	of.Marks.Rolled = strconv.FormatInt(at.reloads, 10)
	known := ledger.Ledger{UID: of.UID, Counter: at.reloads, Marks: of.Marks.Digest(), Entries: map[source.LocalKey]digest.Digest{}, Turn: at.turn}
	for i := range w.content {
		if at.uses[i] {
			known.Entries[w.source(i).Key.Local()] = contentOf(at.has[i])
		}
	}
	of.LedgerText = known.String()
	f.Seen.Trusted = of.MarksDigest()
	of.Progress = workload.Progress{Observed: true, Wanted: 1, Total: 2, Updated: 1, Available: 1, Paused: at.paused}
	switch at.state {
	case Done:
		of.RolledOut, of.Progress.Total = true, 1
		of.Progress.CompletedAt, of.Progress.AvailableAt = at.ended, at.ended
	case Failed:
		of.Progress.Overdue = true
	default:
	}
	return f
}

// member is what the controller computes of a workload.
func (w *world) member(key workload.Key, i int, before Member) Member {
	at := w.workloads[key]
	var t Tracked
	if at.state != Done && at.reloads > 0 {
		t = Tracked{Following: true, Unsure: !at.listed, Late: at.listed && at.state == Failed, Cause: rollout.CauseCrashLoop}
	}
	return MemberOf(w.facts(key), w.source(i), &w.settings[i], t, before)
}

// ends lets a rollout end, or fail, and reports whether there was one.
func (w *world) ends() bool {
	key, at := w.pick(func(at *inWorld) bool { return at.state == Running && !at.paused })
	if at == nil {
		return false
	}
	at.state, at.ended = Done, w.now
	if w.rand.IntN(100) < w.fails {
		at.state = Failed
	}
	w.say("%s is %s", key, at.state)
	w.put(key)
	return true
}

// recovers lets the rollout of a workload that failed go on.
func (w *world) recovers() {
	if key, at := w.pick(func(at *inWorld) bool { return at.state == Failed }); at != nil && w.rand.IntN(3) == 0 {
		w.say("%s recovers", key)
		at.state = Running
		w.put(key)
	}
}

// restart starts another controller. It knows only what stands, and has listed no Pods.
func (w *world) restart() {
	w.say("a restart")
	w.queue = nil
	for _, at := range w.workloads {
		at.listed = at.state == Done
	}
	w.build(0, true)
	w.build(1, true)
}

// list lists the Pods of a workload, if that is due.
func (w *world) list() bool {
	key, at := w.pick(func(at *inWorld) bool { return at.state != Done && !at.listed })
	if at == nil {
		return false
	}
	at.listed = true
	w.say("the Pods of %s are listed", key)
	w.put(key)
	return true
}

// soaking reports whether any workload soaks.
func (w *world) soaking() bool {
	_, at := w.pick(func(at *inWorld) bool { return at.soaks(w, 0) || at.soaks(w, 1) })
	return at != nil
}
