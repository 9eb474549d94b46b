// Package state contains the known state of the cluster, in memory: the digests of sources, the
// parts of workloads that decisions need, and an index between the two. It sends no requests.
package state

import (
	"slices"
	"sync"

	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// State is safe for concurrent use. It has many fields, because one lock guards whatever the same
// event changes.
type State struct {
	autoReloadAll bool
	// keys is which keys of a source count, unless annotations set that.
	keys policy.KeyMode

	mu sync.RWMutex
	// newest is the newest version of any source.
	newest    uint64
	gone      deletedSources
	workloads map[workload.Key]*workloadRecord
	// templateUsers are workloads that use the template of another one, and templateOwners are the
	// owners of these templates.
	templateUsers  map[workload.Key]workload.Workload
	templateOwners map[workload.Key]keys
	// children are the workloads that another workload owns.
	children map[workload.Key]keys
	index    index
	// terminating are the namespaces that are being deleted.
	terminating map[string]struct{}
	// selected are the namespaces that match a selector, if there is one.
	selected map[string]selection
	// waved is, by namespace, how many workloads have a wave other than 0.
	waved map[string]int
	// defaults are what annotations of namespaces set for their workloads. DefaultsPending reports
	// whether workloads may lack them, because the snapshot of the namespaces is not complete.
	defaults        map[string]Defaults
	defaultsPending bool
	// granted is, by namespace, what ReferenceGrants allow; nil if they do not count. GrantsAt is the
	// newest version for which all of them are known, by the namespace that is watched.
	granted  map[string]*granted
	grantsAt map[string]uint64
	// united reports whether a snapshot of the bundles was complete once, so that they can be united.
	united bool
	// bundlesAt is the newest version for which all bundles are known, or 0. bundlesListed is the
	// version of their latest snapshot, or 0 while another one arrives.
	bundlesAt, bundlesListed uint64
	// bundlesChanged are, by signer, the latest changes of bundles that a watch has shown since the last
	// snapshot.
	bundlesChanged map[string][]bundleChange
	// changed are the workloads that may have another answer; nil if nothing asks for them.
	changed keys
	// ledgers remembers those of workloads.
	ledgers *ledger.Memo
	// noHistory reports that each version of an object counts as the first one.
	noHistory bool
}

// New returns an empty state.
func New(autoReloadAll bool) *State {
	return &State{
		autoReloadAll:  autoReloadAll,
		ledgers:        new(ledger.Memo),
		gone:           deletedSources{in: map[string]map[source.LocalKey]sourceRecord{}, listed: map[snapshotOf]uint64{}},
		workloads:      map[workload.Key]*workloadRecord{},
		templateUsers:  map[workload.Key]workload.Workload{},
		templateOwners: map[workload.Key]keys{},
		children:       map[workload.Key]keys{},
		index:          newIndex(),
		terminating:    map[string]struct{}{},
		selected:       map[string]selection{},
		waved:          map[string]int{},
		defaults:       map[string]Defaults{},
		bundlesChanged: map[string][]bundleChange{},
	}
}

// CountKeys sets which keys of a source count, unless annotations set that. It is called before the
// first object arrives.
func (s *State) CountKeys(keys policy.KeyMode) { s.keys = keys }

// Facts returns a workload with the sources that concern it now. It matches the sources of the
// namespace without the lock, because users control their number and the expressions.
func (s *State) Facts(key workload.Key) (reload.Facts, bool) {
	f, found, ok := s.gather(key)
	if !ok {
		return reload.Facts{}, false
	}
	for _, it := range found {
		src := it.seenBy(key)
		it.grants.consent(src, &f.Workload)
		verdict := f.Workload.Verdict(src.Key, src.Annotations, s.autoReloadAll)
		if verdict.Rule == policy.RuleUnselected || verdict.Rule == policy.RuleNoConsent && it.undecided {
			f.Unselect(&src.Source)
			continue
		}
		if !verdict.Concerned {
			f.Spare(&src.Source, src.seen)
			continue
		}
		reference, _ := f.Workload.Reference(src.Key.Local())
		concern := src.concern(f.Workload.KeysOf(src.Key.Local(), src.Annotations.Labels, s.keys).Keys)
		concern.Away, concern.Verdict, concern.Uses = it.away, verdict, reference.Uses
		f.Concerns = append(f.Concerns, concern)
	}
	slices.SortFunc(f.Concerns, reload.CompareConcerns)
	return f, true
}

// gathered is a source that may concern a workload. Sources are replaced, and never changed.
type gathered struct {
	*sourceRecord
	away reload.Away
	// grants are the ReferenceGrants of its namespace, if that is another one than the namespace of
	// the workload. Undecided reports whether there may be others.
	grants    *granted
	undecided bool
}

// gather copies the input of Facts.
func (s *State) gather(key workload.Key) (reload.Facts, []gathered, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	w, ok := s.workloads[key]
	if !ok {
		return reload.Facts{}, nil, false
	}
	f := reload.Facts{Workload: w.Workload, Seen: w.seen, Remembered: w.remembered, Settings: reload.Settings{AutoReloadAll: s.autoReloadAll, Keys: s.keys}}
	defaults := s.defaults[key.Namespace]
	f.Defaults, f.OptedInByNamespaceAt = defaults.Policy, defaults.OptsInSince
	if in, selected := s.selected[key.Namespace]; selected {
		f.SelectedAt, f.SelectedIn = in.at, in.version
	}
	f.Seen.Compared, f.Version = w.compared, max(s.newest, VersionOf(w.ResourceVersion))
	f.Gone = s.departures(key.Namespace, w.links)
	found := s.index.sourcesFor(w)
	s.withGrants(&f, w.links.foreign, found)
	return f, found, true
}

// departures are the deleted sources that may have concerned a workload.
func (s *State) departures(namespace string, l links) map[source.LocalKey]reload.Departure {
	var gone map[source.LocalKey]reload.Departure
	note := func(key source.Key, src sourceRecord) {
		if gone == nil {
			gone = map[source.LocalKey]reload.Departure{}
		}
		departure := *src.departure
		departure.Source, departure.Seen = src.Source, src.seen
		gone[key.Local()] = departure
	}
	l.each(func(local source.LocalKey) {
		if src, ok := s.gone.get(local.In(namespace).Origin()); ok {
			src.Key = local.In(namespace)
			note(src.Key, src)
		}
	})
	if l.tries {
		for _, src := range s.gone.in[namespace] {
			note(src.Key, src)
		}
	}
	if l.cluster {
		for _, src := range s.gone.in[""] {
			note(src.Key, src)
		}
	}
	return gone
}

// Workload returns a known workload.
func (s *State) Workload(key workload.Key) (workload.Workload, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	w, ok := s.workloads[key]
	if !ok {
		return workload.Workload{}, false
	}
	return w.Workload, true
}

// UnderWay returns the workloads with a ledger whose status shows no completed rollout.
func (s *State) UnderWay() []workload.Workload {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var found []workload.Workload
	for _, w := range s.workloads {
		if w.LedgerText != "" && !w.HasRolled() {
			found = append(found, w.Workload)
		}
	}
	return found
}

// Counts returns how many workloads are known, in all namespaces or in the selected ones, and how
// many of them are opted in.
func (s *State) Counts(selectedOnly bool) (workloads, optedIn int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for key, w := range s.workloads {
		if _, selected := s.selected[key.Namespace]; selectedOnly && !selected {
			continue
		}
		if _, owned := s.rolledOwner(&w.Workload); owned {
			continue
		}
		workloads++
		if w.Policy.OptedIn(s.autoReloadAll) {
			optedIn++
		}
	}
	return workloads, optedIn
}
