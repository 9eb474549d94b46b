package controller

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// pendingNotices are notices about annotations that were written after the first snapshots and
// before this replica became the leader. If there is no other leader, only this replica can emit
// them. So they wait until it is the leader, or until it sees another one.
type pendingNotices struct {
	mu sync.Mutex
	of map[subject]pendingNotice
	// kinds are those with an emitted or waiting notice, because only the first object of a kind
	// causes one.
	kinds map[string]struct{}
}

// subject is what a notice is about: a workload, a source, a namespace or a kind.
type subject struct {
	workload workload.Key
	source   source.Key
	// namespace and kind are only set for a notice about one.
	namespace, kind string
}

type pendingNotice struct {
	uid types.UID
	// known are the earlier mistakes.
	known []annotations.Mistake
	emit  func()
}

func newPendingNotices() *pendingNotices {
	return &pendingNotices{of: map[subject]pendingNotice{}, kinds: map[string]struct{}{}}
}

// mistakes stores the new mistakes of an object.
func (p *pendingNotices) mistakes(about subject, uid types.UID, now, known []annotations.Mistake, emit func([]annotations.Mistake)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n, waits := p.of[about]; waits && n.uid == uid {
		known = n.known
	}
	if mistakes := newAmong(now, known); len(mistakes) > 0 {
		p.of[about] = pendingNotice{uid, known, func() { emit(mistakes) }}
	} else {
		delete(p.of, about)
	}
}

// first stores a notice about a kind, unless there was one before.
func (p *pendingNotices) first(kind string, emit func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.kinds[kind]; !known {
		p.kinds[kind] = struct{}{}
		p.of[subject{kind: kind}] = pendingNotice{emit: emit}
	}
}

// emit emits the notice about one subject, if there is one.
func (p *pendingNotices) emit(about subject) {
	p.mu.Lock()
	n, waits := p.of[about]
	delete(p.of, about)
	p.mu.Unlock()
	if waits {
		n.emit()
	}
}

// emitAll emits all waiting notices when this replica has become the leader. Later notices are
// emitted at once.
func (p *pendingNotices) emitAll() {
	p.mu.Lock()
	all := slices.Collect(maps.Keys(p.of))
	p.mu.Unlock()
	for _, about := range all {
		p.emit(about)
	}
}

// drop forgets the notices about deleted objects.
func (p *pendingNotices) drop(gone func(subject) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.of, func(about subject, _ pendingNotice) bool { return gone(about) })
}

// dropObjects forgets the notices about objects, because another leader has emitted them. Notices
// about kinds keep waiting: that leader may have emitted one earlier, or not at all.
func (p *pendingNotices) dropObjects() {
	p.drop(func(about subject) bool { return about.kind == "" })
}

// notifyMistakes emits the new mistakes of an object, at once or when this replica becomes the
// leader.
func (c *Controller) notifyMistakes(about subject, uid types.UID, now, known []annotations.Mistake, emit func([]annotations.Mistake)) {
	c.pending.mistakes(about, uid, now, known, emit)
	if c.acting.Load() {
		c.pending.emit(about)
	}
}

func (c *Controller) dropWorkloadNotices(kind string, gone func(types.NamespacedName) bool) {
	c.pending.drop(func(about subject) bool {
		of := about.workload
		return of.Kind == kind && gone(types.NamespacedName{Namespace: of.Namespace, Name: of.Name})
	})
}

func (c *Controller) dropSourceNotices(kind source.Kind, gone func(types.NamespacedName) bool) {
	c.pending.drop(func(about subject) bool {
		of := about.source
		return of != source.Key{} && of.Kind == kind && gone(types.NamespacedName{Namespace: of.Namespace, Name: of.Name})
	})
}

// is returns a function that compares names with name.
func is(name types.NamespacedName) func(types.NamespacedName) bool {
	return func(other types.NamespacedName) bool { return other == name }
}

// anotherLeads is called while this replica waits, each time it sees another leader act. That
// leader has emitted the notices, except for workloads that it reconciles only after their settle
// period.
func (c *Controller) anotherLeads() {
	if c.acting.Load() {
		return
	}
	c.pending.dropObjects()
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	for key, r := range c.records {
		if r.newcomer != nil && !now.Before(r.newcomer.due) {
			c.withLocked(key, func(r *record) { r.newcomer = nil })
		}
	}
}

// reconciledBy is by when the leader has reconciled a workload that changes now.
func (c *Controller) reconciledBy(w *workload.Workload) time.Time {
	return c.clock.Now().Add(c.opts.SettlePeriod(w))
}
