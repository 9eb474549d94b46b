package inspect

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/workload"
)

// View keeps the answers about all workloads of a cluster up to date, and recomputes only those that
// may have changed. It is safe for concurrent use.
type View struct {
	name  string
	clock clock.Clock
	// refreshing is held while summaries are computed, so that it happens once.
	refreshing sync.Mutex

	mu sync.Mutex
	// from is what the answers come from; nil before the cluster was read.
	from *origin
	// problem is why the cluster cannot be read; empty if it can.
	problem string
	board   *Board
	// context is the context of the kubeconfig that commands to paste name.
	context string
	// changed is closed when the board differs, and replaced.
	changed chan struct{}
	// readers is how many readers wait for changes.
	readers int
	// summaries are those of the board, and turn is where the next unstable ones begin. These fields
	// are guarded by refreshing.
	summaries map[workload.Key]*Summary
	turn      int
	proofs    proofs
}

// origin is where the answers of a view come from.
type origin struct {
	objects *Objects
	// locked guards the objects, and the settings.
	locked *sync.RWMutex
	// settings brings the settings up to date that change while a controller runs, and complete
	// reports whether it has read the cluster; nil without a controller.
	settings func(*Settings)
	complete func() bool
	// cluster is for what is read on request, and pods has the Pods that summaries need. Without
	// pods, no summary needs any.
	cluster *Cluster
	pods    *keptPods
	// given are all Pods; nil if they have to be listed.
	given []Pod
}

// NewView returns a view of a cluster that was not read yet.
func NewView(name string, clk clock.Clock) *View {
	return &View{name: name, context: name, clock: clk, board: &Board{Began: clk.Now()}, changed: make(chan struct{}), summaries: map[workload.Key]*Summary{}, proofs: proofs{of: map[workload.Key]proof{}}}
}

// Paste sets the context of the kubeconfig that commands to paste name, if that is not the name of the
// cluster. It must be called first.
func (v *View) Paste(context string) { v.context = context }

// Name returns the name of the cluster, empty for the only one.
func (v *View) Name() string { return v.name }

// Problem returns why the cluster cannot be read, or empty if it can.
func (v *View) Problem() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.problem
}

// Board returns the current summaries.
func (v *View) Board() *Board {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.board
}

// Changed returns a channel that is closed when the board or the problem differs.
func (v *View) Changed() <-chan struct{} {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.changed
}

// Attend counts a reader who waits for changes, until the returned function is called.
func (v *View) Attend() (leave func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.readers++
	return sync.OnceFunc(func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.readers--
	})
}

// unattended is how often the summaries are brought up to date while nobody waits for changes.
const unattended = 10 * time.Second

// Watch brings the summaries up to date until the context ends: each second while a reader waits for
// changes, and otherwise rarely, so that the next reader finds them nearly done.
func (v *View) Watch(ctx context.Context) {
	for last := v.clock.Now(); ctx.Err() == nil; {
		pause := v.clock.NewTimer(time.Second)
		select {
		case <-pause.C():
		case <-ctx.Done():
			pause.Stop()
			return
		}
		v.mu.Lock()
		attended := v.readers > 0
		v.mu.Unlock()
		if attended || !v.Board().Ready || v.clock.Since(last) >= unattended {
			v.Refresh(ctx)
			last = v.clock.Now()
		}
	}
}

// Show shows objects, which only the caller changes, with these Pods.
func (v *View) Show(o *Objects, pods []corev1.Pod) {
	from := &origin{objects: o, locked: &sync.RWMutex{}, given: []Pod{}}
	for i := range pods {
		if pod, runs := readPod(&pods[i], o.settings.Rules.Names); runs {
			from.given = append(from.given, pod)
		}
	}
	v.show(from)
}

// show replaces what the answers come from.
func (v *View) show(from *origin) {
	v.refreshing.Lock()
	defer v.refreshing.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	from.objects.settings.Pages, from.objects.settings.Context = true, v.context
	v.from, v.problem = from, ""
	v.summaries = map[workload.Key]*Summary{}
	v.board = &Board{Version: v.board.Version + 1, Began: v.board.Began}
}

// Fail records why the cluster cannot be read, or that it can. What is known of it stays.
func (v *View) Fail(problem string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.problem != problem {
		v.problem = problem
		next := *v.board
		next.Version++
		v.announce(&next)
	}
}

// announce replaces the board. The caller holds the lock.
func (v *View) announce(next *Board) {
	v.board = next
	close(v.changed)
	v.changed = make(chan struct{})
}

// mostUnstable bounds the answers that are computed again because of time or of other workloads.
const mostUnstable = 200

// due returns the workloads whose answers have to be computed: those that changed, and some of those
// that time or other workloads may change.
func (v *View) due(from *origin) []workload.Key {
	due := map[workload.Key]struct{}{}
	for _, key := range from.objects.live.state.TakeChanges() {
		due[key] = struct{}{}
	}
	all := v.Board().All
	unstable := slices.IndexFunc(all, func(s *Summary) bool { return s.isStable() })
	if unstable < 0 {
		unstable = len(all)
	}
	for i := range min(unstable, mostUnstable) {
		due[all[(v.turn+i)%unstable].Key] = struct{}{}
	}
	v.turn += mostUnstable
	return slices.Collect(maps.Keys(due))
}
