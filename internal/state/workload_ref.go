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

// A Rollout with spec.workloadRef uses the pod template of another object, the template owner. The
// Pods are made from that template, so Reroll marks the owner and keeps the ledger there. The
// annotations of the users take precedence over those of the owner.

// PutTemplateUser stores a workload without its own pod template, and returns the workloads to
// reconcile because of it.
func (s *State) PutTemplateUser(w workload.Workload, live bool) []workload.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.templateUsers[w.Key]
	version := VersionOf(w.ResourceVersion)
	if ok && known.UID == w.UID && overtaken(version, VersionOf(known.ResourceVersion), live) {
		return nil
	}
	s.dropWorkload(w.Key) // it may have had a template before
	var affected []workload.Key
	if ok && *known.TemplateOwner != *w.TemplateOwner {
		affected = s.dropTemplateUser(w.Key)
	}
	s.templateUsers[w.Key] = w
	s.noteChange(w.Key)
	add(s.templateOwners, *w.TemplateOwner, w.Key)
	if s.updateTemplateOwner(*w.TemplateOwner, version, live) {
		affected = append(affected, *w.TemplateOwner)
	}
	return affected
}

// TemplateUser returns a workload without its own pod template.
func (s *State) TemplateUser(key workload.Key) (workload.Workload, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	w, ok := s.templateUsers[key]
	return w, ok
}

// DropTemplateUser forgets such a workload, and returns the template owner if that must be
// reconciled.
func (s *State) DropTemplateUser(key workload.Key) []workload.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dropTemplateUser(key)
}

// KeepTemplateUsers forgets the template users that a complete snapshot did not contain, and
// returns the template owners to reconcile.
func (s *State) KeepTemplateUsers(kind, namespace string, named map[types.NamespacedName]struct{}) []workload.Key {
	s.mu.Lock()
	defer s.mu.Unlock()
	var affected []workload.Key
	for key := range s.templateUsers {
		if key.Kind != kind || namespace != "" && key.Namespace != namespace {
			continue
		}
		if _, ok := named[types.NamespacedName{Namespace: key.Namespace, Name: key.Name}]; !ok {
			affected = append(affected, s.dropTemplateUser(key)...)
		}
	}
	return affected
}

func (s *State) dropTemplateUser(key workload.Key) []workload.Key {
	known, ok := s.templateUsers[key]
	if !ok {
		return nil
	}
	delete(s.templateUsers, key)
	s.noteChange(key)
	drop(s.templateOwners, *known.TemplateOwner, key)
	if s.updateTemplateOwner(*known.TemplateOwner, 0, false) {
		return []workload.Key{*known.TemplateOwner}
	}
	return nil
}

// Complete returns a workload with the policy of its template users, with the defaults of its
// namespace, and with the lists of the known policy if they are equal. It counts as rolled out only if
// the Pods of its template users are up to date, too.
func (s *State) Complete(w workload.Workload) workload.Workload {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.complete(w)
}

func (s *State) complete(w workload.Workload) workload.Workload {
	if len(s.templateOwners[w.Key]) > 0 {
		w = s.withTemplateUsers(w)
	}
	w.Policy = w.Policy.Under(s.defaults[w.Key.Namespace].Policy)
	if known, ok := s.workloads[w.Key]; ok {
		w.Policy = w.Policy.Reusing(&known.Policy)
	}
	return w
}

func (s *State) withTemplateUsers(w workload.Workload) workload.Workload {
	// The first by name comes last, so that its progress takes precedence.
	rests := true
	var users []policy.TemplateUser
	for _, key := range slices.SortedFunc(maps.Keys(s.templateOwners[w.Key]), func(a, b workload.Key) int { return strings.Compare(b.Name, a.Name) }) {
		user := s.templateUsers[key]
		w.Pausable = false
		users = append(users, policy.TemplateUser{Name: key.Name, Policy: user.Policy})
		if user.OptedInAt.After(w.OptedInAt) {
			w.OptedInAt = user.OptedInAt
		}
		observed := user.Generation >= w.Generation
		w.RolledOut = w.RolledOut && user.RolledOut && observed
		// The Pods belong to the template users: the progress is the progress of the user that is
		// not up to date yet.
		if rests {
			w.Progress = user.Progress
			w.Progress.Observed = w.Progress.Observed && observed
			rests = user.RolledOut && observed
		}
	}
	w.Policy = w.Policy.WithTemplateUsers(users)
	return w
}

// OptedInBy returns the object whose annotations opt a workload in: its first template user that
// does, or else the workload itself.
func (s *State) OptedInBy(w *workload.Workload) workload.Workload {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, key := range slices.SortedFunc(maps.Keys(s.templateOwners[w.Key]), func(a, b workload.Key) int { return strings.Compare(a.Name, b.Name) }) {
		if user := s.templateUsers[key]; user.Policy.OptedIn(false) {
			return user
		}
	}
	return *w
}

// ownOf is the state of a template owner without its users.
func (s *State) ownOf(w *workload.Workload) *own {
	if len(s.templateOwners[w.Key]) == 0 {
		return nil
	}
	return &own{policy: w.Policy, optedInAt: w.OptedInAt, rolledOut: w.RolledOut, progress: w.Progress, pausable: w.Pausable}
}

// updateTemplateOwner updates a template owner from its current users, and reports whether it must
// be reconciled.
func (s *State) updateTemplateOwner(key workload.Key, version uint64, live bool) bool {
	known, ok := s.workloads[key]
	if !ok {
		return false
	}
	s.noteChange(key)
	itself := known.Workload
	if known.own != nil {
		itself.Policy, itself.OptedInAt = known.own.policy, known.own.optedInAt
		itself.RolledOut, itself.Progress, itself.Pausable = known.own.rolledOut, known.own.progress, known.own.pausable
	}
	known.own = s.ownOf(&itself)
	w := s.complete(itself)
	next := *known
	next.Workload, next.links = w, linksOf(&w, s.autoReloadAll, s.keys)
	linked := s.relink(known, &next)
	differs := linked || !known.Policy.Equal(w.Policy)
	rests := w.RolledOut && !known.RolledOut
	if live && (linked || w.Policy.Widens(known.Policy, s.autoReloadAll)) {
		known.seen.Widen(version, known.Policy, known.OptedInAt)
	}
	if !w.Policy.KeyRule().Equal(known.Policy.KeyRule()) {
		known.seen.Recount(version, known.Policy.KeyRule())
	}
	known.Workload, known.links = next.Workload, next.links
	if w.RolledOut && !w.Unobserved {
		known.seen.Recent, known.seen.Whole = []digest.Digest{known.revision}, true
	}
	return differs || rests
}
