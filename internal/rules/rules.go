// Package rules holds the settings that decisions depend on, and what follows from them: which kinds, namespaces and sources
// are watched, how long sources have to be quiet, what a decision is to know. The controller and every command that explains it
// ask the same functions with the same value. It does not know where the settings come from, or what anybody does about it.
package rules

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/kinds"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Settings are what somebody who runs a controller has chosen, as far as a decision depends on it.
type Settings struct {
	// AutoReloadAll opts workloads in that say nothing about it.
	AutoReloadAll bool
	Names         annotations.Names
	// Settle is how long the sources of a workload must have been quiet, and SettleMax the longest that a workload
	// whose sources are never quiet waits.
	Settle, SettleMax time.Duration
	// SettleGitOps is the least for a workload that Argo CD, Flux or Helm manages, or that has a stamp: who applies those
	// brings sources and workloads one after the other, with pauses between them.
	SettleGitOps time.Duration
	// Strategy is how reloads are marked, and SecretMarks what the marks of Secrets show.
	Strategy    reload.StrategyChoice
	OnRevert    reload.OnRevert
	SecretMarks digest.SecretMarks
	// ReloadOnCreate and ReloadOnDelete tell whether a workload is reloaded when a source of it is made, or deleted.
	ReloadOnCreate, ReloadOnDelete bool
	// NotifyOnly reports that a receiver is told of changes instead of reloading for them.
	NotifyOnly bool
	// Kinds are those of workload that there are, each with whether it is watched.
	Kinds kinds.Set
	// IgnoredSources are the kinds of source that are not read. What a ledger says of them stays in it, so that nothing
	// rolls when they are read again but what has changed.
	IgnoredSources []source.Kind
	// Namespaces are watched; none means all. NamespacesToIgnore are not watched where all others are.
	Namespaces, NamespacesToIgnore []string
	// NamespaceSelector says in which namespaces workloads are reconciled, and SourceSelector which sources can roll
	// them. Nil selects all.
	NamespaceSelector, SourceSelector labels.Selector
}

// Installation is what an installation keeps in the cluster, as far as a decision depends on it.
type Installation struct {
	// Key is behind the digests of Secrets. The installation began when it was made.
	Key       digest.Key
	Installed time.Time
	// Coverage is since when the present settings hold.
	Coverage reload.Coverage
}

// Complete adds the settings to the facts about a workload.
func (s *Settings) Complete(f *reload.Facts, in Installation, now time.Time) {
	f.Key, f.Instance, f.Installed, f.Coverage, f.Now = in.Key, in.Key.ID(), in.Installed, in.Coverage, now
	f.Strategy, f.OnRevert, f.SecretMarks = s.Strategy, s.OnRevert, s.SecretMarks
	f.OnCreate, f.OnDelete, f.Unread = s.ReloadOnCreate, s.ReloadOnDelete, s.IgnoredSources
	f.Quiet, f.NotifyOnly = s.Quiet(&f.Workload), s.NotifyOnly
}

// Quiet is how long the sources of a workload must have been quiet.
func (s *Settings) Quiet(w *workload.Workload) time.Duration {
	if own, set := w.Policy.Settle(); set {
		return own
	}
	if w.Delivered() {
		return max(s.Settle, s.SettleGitOps)
	}
	return s.Settle
}

// Longest is how long a workload waits at most whose sources are never quiet.
func (s *Settings) Longest(w *workload.Workload) time.Duration { return max(s.SettleMax, s.Quiet(w)) }

// Read returns what is kept of a workload.
func (s *Settings) Read(kind kinds.Kind, obj runtime.Object) (workload.Workload, error) {
	w, err := kind.Read(obj, s.Names)
	if s.AutoReloadAll {
		w.OptAllIn()
	}
	return w, err
}

// ReadsKind reports whether workloads of a kind are watched.
func (s *Settings) ReadsKind(name string) bool {
	kind, ok := s.Kinds.Named(name)
	return ok && kind.IsWatched()
}
