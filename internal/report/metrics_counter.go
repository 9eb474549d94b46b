package report

import (
	"time"

	"github.com/reroll-dev/reroll/internal/controller"
)

// Metrics implement controller.Counter.

// Seen counts received objects.
func (m *Metrics) Seen(event, resource string) { m.events.WithLabelValues(event, resource).Inc() }

// Processed counts processed objects.
func (m *Metrics) Processed(event, resource string) { m.work.processed(event, resource) }

// Spared counts workloads that are not reconciled because none of their keys changed.
func (m *Metrics) Spared(workloads int) { m.work.spared(workloads) }

// WatchFailed counts watches and lists that will be retried.
func (m *Metrics) WatchFailed() { m.failed(errWatch) }

// Queued counts queued workloads.
func (m *Metrics) Queued() { m.work.queued() }

// Waited records how long a workload was due before a worker took it.
func (m *Metrics) Waited(late time.Duration) { m.work.waited(late) }

// Reconciled counts reconciliations of workloads.
func (m *Metrics) Reconciled(l controller.Reconciliation) { m.work.reconciled(l) }

// LedgerTaken counts ledgers that another client removed or reverted again soon.
func (m *Metrics) LedgerTaken() { m.taken.Inc() }

// Undecided counts Secrets for which nothing shows whether they changed.
func (m *Metrics) Undecided(secrets int) { m.unknown.Add(float64(secrets)) }
