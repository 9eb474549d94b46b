package state

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Some workloads borrow the pod template of another object, and their pods are of that template. The lender is the unit
// then: it is marked, and has the ledger. What its borrowers ask for counts before what it asks for itself.

// PutBorrower stores a workload that has no pod template of its own, and returns the workloads to reconcile because of it.
func (s *State) PutBorrower(w workload.Workload, live bool) []workload.Key {
	defer s.forgetGone()
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.borrowers[w.Key]
	version := VersionOf(w.ResourceVersion)
	if ok && known.UID == w.UID && overtaken(version, VersionOf(known.ResourceVersion), live) {
		return nil
	}
	s.dropWorkload(w.Key) // it may have had a template before
	var look []workload.Key
	if ok && *known.Borrows != *w.Borrows {
		look = s.dropBorrower(w.Key)
	}
	s.borrowers[w.Key] = w
	add(s.lenders, *w.Borrows, w.Key)
	if s.borrowed(*w.Borrows, version, live) {
		look = append(look, *w.Borrows)
	}
	return look
}

// Borrower returns what is kept of a workload without a template of its own.
func (s *State) Borrower(key workload.Key) (workload.Workload, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	w, ok := s.borrowers[key]
	return w, ok
}

// DropBorrower forgets it, and returns the lender if that is to be reconciled.
func (s *State) DropBorrower(key workload.Key) []workload.Key {
	defer s.forgetGone()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropBorrower(key)
}

// KeepBorrowers forgets those that a complete snapshot did not contain, and returns the lenders to reconcile.
func (s *State) KeepBorrowers(kind, namespace string, named map[types.NamespacedName]struct{}) []workload.Key {
	defer s.forgetGone()
	s.mu.Lock()
	defer s.mu.Unlock()
	var look []workload.Key
	for key := range s.borrowers {
		if key.Kind != kind || namespace != "" && key.Namespace != namespace {
			continue
		}
		if _, ok := named[types.NamespacedName{Namespace: key.Namespace, Name: key.Name}]; !ok {
			look = append(look, s.dropBorrower(key)...)
		}
	}
	return look
}

func (s *State) dropBorrower(key workload.Key) []workload.Key {
	known, ok := s.borrowers[key]
	if !ok {
		return nil
	}
	delete(s.borrowers, key)
	drop(s.lenders, *known.Borrows, key)
	if s.borrowed(*known.Borrows, 0, false) {
		return []workload.Key{*known.Borrows}
	}
	return nil
}

// Lent returns a workload as its borrowers make it: with what they ask for, and at rest only if their pods are too.
func (s *State) Lent(w workload.Workload) workload.Workload {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.lent(w)
}

func (s *State) lent(w workload.Workload) workload.Workload {
	// In the order of their names, the first of them last: how far that one is counts before the others.
	rests := true
	var asking []policy.Borrower
	for _, key := range slices.SortedFunc(maps.Keys(s.lenders[w.Key]), func(a, b workload.Key) int { return strings.Compare(b.Name, a.Name) }) {
		borrower := s.borrowers[key]
		w.Pausable = false
		asking = append(asking, policy.Borrower{Name: key.Name, Policy: borrower.Policy})
		if borrower.AskedAt.After(w.AskedAt) {
			w.AskedAt = borrower.AskedAt
		}
		observed := borrower.Generation >= w.Generation
		w.AtRest = w.AtRest && borrower.AtRest && observed
		// The Pods of the template belong to the borrowers: the progress is that of the borrower that is not
		// up to date yet.
		if rests {
			w.Progress = borrower.Progress
			w.Progress.Observed = w.Progress.Observed && observed
			rests = borrower.AtRest && observed
		}
	}
	w.Policy = w.Policy.Lent(asking)
	return w
}

// Asks returns the object whose annotations opt a workload in, where its user has written them: the first of its borrowers that
// does, or else the workload itself.
func (s *State) Asks(w *workload.Workload) workload.Workload {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, key := range slices.SortedFunc(maps.Keys(s.lenders[w.Key]), func(a, b workload.Key) int { return strings.Compare(a.Name, b.Name) }) {
		if borrower := s.borrowers[key]; borrower.Policy.OptedIn(false) {
			return borrower
		}
	}
	return *w
}

// ownOf is kept of a workload that others borrow from.
func (s *State) ownOf(w *workload.Workload) *own {
	if len(s.lenders[w.Key]) == 0 {
		return nil
	}
	return &own{policy: w.Policy, askedAt: w.AskedAt, atRest: w.AtRest, progress: w.Progress, pausable: w.Pausable}
}

// borrowed updates a lender by what its borrowers are now, and reports whether it is to be reconciled.
func (s *State) borrowed(key workload.Key, version uint64, live bool) bool {
	known, ok := s.workloads[key]
	if !ok {
		return false
	}
	itself := known.Workload
	if known.own != nil {
		itself.Policy, itself.AskedAt = known.own.policy, known.own.askedAt
		itself.AtRest, itself.Progress, itself.Pausable = known.own.atRest, known.own.progress, known.own.pausable
	}
	known.own = s.ownOf(&itself)
	w := s.lent(itself)
	next := *known
	next.Workload, next.links = w, linksOf(&w, s.autoReloadAll)
	linked := s.relink(known, &next)
	differs := linked || !known.Policy.Equal(w.Policy)
	rests := w.AtRest && !known.AtRest
	if live && (linked || w.Policy.Widens(known.Policy, s.autoReloadAll)) {
		known.seen.Widen(version, known.Policy)
	}
	known.Workload, known.links = next.Workload, next.links
	if w.AtRest && !w.Unobserved {
		known.seen.Recent, known.seen.Whole = []digest.Digest{known.revision}, true
	}
	return differs || rests
}
