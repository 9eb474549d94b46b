package controller

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/state"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/internal/workqueue"
)

// What tests set or read within a controller, they reach by these, so that most tests stay as they are when
// it gets another structure.

// lead makes the controller the leader, as the end of its start does.
func (s *stage) lead() { s.controller.acting.Store(true) }

// loses is called when another replica takes the Lease.
func (s *stage) loses() { s.controller.anotherLeads() }

// followsAll follows the rollouts that a controller finds when it starts.
func (s *stage) followsAll() { s.controller.trackAll() }

// haltsAgain counts reloads that fail anew, by the present options.
func (s *stage) haltsAgain() { s.controller.storm = newStorm(s.opts().Halt) }

// forgets is called when a watch has shown that a workload is deleted.
func (s *stage) forgets(key workload.Key) { s.controller.dropped(key) }

// showsNamespace shows a namespace, in a snapshot unless live.
func (s *stage) showsNamespace(ns *corev1.Namespace, live bool) { s.controller.putNamespace(ns, live) }

// leadsWhile sets when the controller still is the leader; always, if it is nil.
func (s *stage) leadsWhile(leads func() bool) {
	if leads == nil {
		leads = func() bool { return true }
	}
	s.controller.leads = leads
}

// sends has the controller use another connection to the API server, or the same one with faults.
func (s *stage) sends(api API) { s.controller.api = api }

// tells has the controller report to somebody else.
func (s *stage) tells(to Report) { s.controller.report = to }

// remade is how many Jobs the controller is making again, as far as it knows.
func (s *stage) remade() int { return len(s.controller.jobs.recreated) }

// kept is how many workloads and Jobs a controller remembers, by what for.
type kept struct{ queued, paused, records, remade, runs, stuck int }

func (s *stage) kept() kept {
	c := s.controller
	return kept{c.Depth(), c.pauses.Depth(), len(c.records), s.remade(), len(c.jobs.runs), len(c.jobs.stuck)}
}

// tries is how often the latest looks at a workload have failed in a row.
func (s *stage) tries(key workload.Key) int { return s.controller.queue.TriesOf(key) }

// jobHandler is what receives Jobs.
func (s *stage) jobHandler() *handler {
	return s.controller.jobHandler(s.workloadsOf(kinds.Jobs().Name), "")
}

func (s *stage) opts() *Options { return &s.controller.opts }

func (s *stage) installation() *reload.Installation { return &s.controller.installation }

// known is what the controller knows of workloads and sources.
func (s *stage) known() *state.State { return s.controller.state }

// messages is the queue of workloads about which the receiver has yet to be notified.
func (s *stage) messages() *workqueue.Queue { return s.controller.notifications }

// workloadsOf is what receives the objects of a kind of workloads.
func (s *stage) workloadsOf(kind string) *handler {
	return s.controller.workloads(s.controller.kinds[kind], "")
}

// What the watch of a kind shows: an event of an object, one in a snapshot, one that is deleted, and which
// there are at the end of a snapshot.

func (h *handler) arrives(obj runtime.Object) { h.put(obj, true) }

func (h *handler) isListed(obj runtime.Object) { h.put(obj, false) }

func (h *handler) departs(name types.NamespacedName, version string) { h.del(name, version) }

func (h *handler) hasOnly(named map[types.NamespacedName]struct{}) { h.keep(named) }
