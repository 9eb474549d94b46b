package state

import (
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/workload"
)

// The annotations of a namespace are defaults for its workloads. They become part of the policy of
// each workload when it is stored, so that no event of a source has to look them up.

// Defaults are what the annotations of a namespace set for its workloads, and the mistakes in them.
type Defaults struct {
	Policy   policy.Policy
	Mistakes []annotations.Mistake
	// OptsInSince is the earliest time since which they provably opt in its workloads, or leave
	// that to --auto-reload-all; zero if nothing proves one.
	OptsInSince time.Time
}

// Inherited is a workload whose policy differs because its namespace has other defaults.
type Inherited struct {
	Key    workload.Key
	Before policy.Policy
}

// PutDefaults stores the defaults of a namespace before its snapshot is complete, or before any
// workload is known. Its workloads get them by KeepNamespaces, or when they are stored.
func (s *State) PutDefaults(namespace string, now Defaults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.defaultsPending = true
	s.putDefaults(namespace, now)
}

// ChangeDefaults stores the defaults of a namespace and gives them to its workloads. It returns the
// earlier defaults, whether another value is set now, and the workloads whose policy differs.
// Version is the version of the namespace: earlier changes of sources that its workloads use because
// of the new defaults roll nothing.
func (s *State) ChangeDefaults(namespace string, now Defaults, version uint64) (before Defaults, differs bool, inherited []Inherited) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, differs = s.putDefaults(namespace, now)
	if !differs {
		return before, false, nil
	}
	s.noteNamespace(namespace)
	for key, w := range s.workloads {
		if key.Namespace != namespace {
			continue
		}
		if earlier := w.Policy; s.inheritDefaults(w, version) {
			inherited = append(inherited, Inherited{key, earlier})
		}
	}
	return before, true, inherited
}

func (s *State) putDefaults(namespace string, now Defaults) (before Defaults, differs bool) {
	before = s.defaults[namespace]
	optedIn, decided := before.Policy.OptedInByNamespace()
	still, decides := now.Policy.OptedInByNamespace()
	if optedIn == still && decided == decides && !before.OptsInSince.IsZero() && before.OptsInSince.Before(now.OptsInSince) {
		now.OptsInSince = before.OptsInSince // the client that wrote the annotation has written another field
	}
	differs = !before.Policy.Equal(now.Policy)
	if !now.Policy.Equal(policy.Policy{}) || len(now.Mistakes) > 0 || !now.OptsInSince.IsZero() {
		s.defaults[namespace] = now
	} else {
		delete(s.defaults, namespace)
	}
	return before, differs
}

// inheritPending gives the stored defaults to all workloads: a snapshot brings those of thousands of
// namespaces, and this is one pass.
func (s *State) inheritPending() {
	if !s.defaultsPending {
		return
	}
	s.defaultsPending = false
	for key, w := range s.workloads {
		if s.inheritDefaults(w, 0) {
			s.noteChange(key)
		}
	}
}

// Defaults returns what the annotations of a namespace set for its workloads.
func (s *State) Defaults(namespace string) policy.Policy {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.defaults[namespace].Policy
}

// inheritDefaults gives a workload the defaults of its namespace, and reports whether its policy
// differs. Version is 0 if the workload had these defaults before the watch began.
func (s *State) inheritDefaults(known *workloadRecord, version uint64) bool {
	now := known.Policy.Under(s.defaults[known.Key.Namespace].Policy)
	if now.Equal(known.Policy) {
		return false
	}
	next := *known
	next.Policy = now
	next.links = linksOf(&next.Workload, s.autoReloadAll, s.keys)
	s.relink(known, &next)
	if version != 0 && now.Widens(known.Policy, s.autoReloadAll) {
		known.seen.Widen(version, known.Policy, known.OptedInAt)
	}
	if version != 0 && !now.KeyRule().Equal(known.Policy.KeyRule()) {
		known.seen.Recount(version, known.Policy.KeyRule())
	}
	known.Policy, known.links = now, next.links
	return true
}
