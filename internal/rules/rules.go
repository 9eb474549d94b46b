// Package rules contains the settings for decisions, and their consequences: which kinds,
// namespaces and sources are watched, and how long the settle period is. The controller and the
// commands that explain its decisions call the same functions with the same settings. The package
// does not know where the settings come from.
package rules

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Settings are the settings of a controller that decisions depend on. There are many fields because
// the value is passed around whole: no caller can decide or explain with a part of them.
type Settings struct {
	// AutoReloadAll opts in workloads without annotations for it.
	AutoReloadAll bool
	Names         annotations.Names
	// Settle is the settle period, and SettleMax the maximum wait of a workload whose sources keep
	// changing.
	Settle, SettleMax time.Duration
	// SettleGitOps is the minimum settle period for a workload that Argo CD, Flux or Helm manages,
	// or that has a stamp: these tools apply sources and workloads one after the other, with pauses
	// between them.
	SettleGitOps time.Duration
	// Churn is how often each workload may be reloaded.
	Churn policy.Limit
	// Window are the windows in which workloads may be reloaded.
	Window string
	// Approval reports whether each reload has to be approved.
	Approval bool
	// Keys is which keys of a source count.
	Keys policy.KeyMode
	// Mode is what follows from a change.
	Mode policy.Mode
	// Waves are how workloads are rolled one after the other.
	Waves annotations.Waves
	// Halt is how many of the latest reloads have to fail until no further one starts.
	Halt gate.Halt
	// Strategy is how reloads are marked, and SecretMarks what the marks of Secrets show.
	Strategy    reload.StrategyChoice
	OnRevert    reload.OnRevert
	SecretMarks digest.SecretMarks
	// ReloadOnCreate and ReloadOnDelete select whether creating or deleting a source reloads its
	// workloads.
	ReloadOnCreate, ReloadOnDelete bool
	// NotifyOnly reports that a receiver is notified of changes instead of a reload.
	NotifyOnly bool
	// Kinds are the kinds of workload, each with whether it is watched.
	Kinds kinds.Set
	// IgnoredSources are the kinds of source that are not read. Their entries stay in ledgers, so
	// that only changed sources roll workloads when the kinds are read again.
	IgnoredSources []source.Kind
	// TrustBundles reports whether ClusterTrustBundles are read.
	TrustBundles bool
	// ReferenceGrants reports whether ReferenceGrants allow sources of other namespaces, too.
	ReferenceGrants bool
	// Namespaces are watched; none means all. NamespacesToIgnore are excluded if all others are
	// watched.
	Namespaces, NamespacesToIgnore []string
	// NamespaceSelector selects the namespaces in which workloads are reconciled, and
	// SourceSelector the sources that can roll them. Nil selects all.
	NamespaceSelector, SourceSelector labels.Selector
}

// Complete adds the settings to the facts about a workload.
func (s *Settings) Complete(f *reload.Facts, in reload.Installation, now time.Time) {
	f.Installation, f.Instance, f.Now = in, in.Key.ID(), now
	f.Strategy, f.OnRevert, f.SecretMarks = s.Strategy, s.OnRevert, s.SecretMarks
	f.OnCreate, f.OnDelete, f.Unread = s.ReloadOnCreate, s.ReloadOnDelete, s.unread()
	f.Selective = s.SourceSelector != nil
	f.SettlePeriod, f.NotifyOnly, f.Limit = s.SettlePeriod(&f.Workload), s.NotifyOnly, s.Churn
	f.Waves, f.Window, f.Mode, f.Approval = s.Waves, s.Window, s.Mode, s.Approval
	f.Conceal()
}

// SettlePeriod is the settle period of a workload.
func (s *Settings) SettlePeriod(w *workload.Workload) time.Duration {
	if own, set := w.Policy.Settle(); set {
		return own
	}
	if w.Delivered() {
		return max(s.Settle, s.SettleGitOps)
	}
	return s.Settle
}

// Longest is the maximum wait of a workload whose sources keep changing.
func (s *Settings) Longest(w *workload.Workload) time.Duration {
	return max(s.SettleMax, s.SettlePeriod(w))
}

// Read reads a workload.
func (s *Settings) Read(kind kinds.Kind, obj runtime.Object) (workload.Workload, error) {
	return kind.Read(obj, s.Names)
}

// ReadsKind reports whether workloads of a kind are watched.
func (s *Settings) ReadsKind(name string) bool {
	kind, ok := s.Kinds.Named(name)
	return ok && kind.IsWatched()
}
