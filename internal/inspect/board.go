package inspect

import (
	"cmp"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// Board has the summaries of all workloads at one time. It is shared, and not changed.
type Board struct {
	// Version grows with each difference.
	Version uint64
	// Ready reports whether the cluster was read completely.
	Ready bool
	// All has those first that need a user.
	All []*Summary
	// Scopes are the namespaces with the kinds of their workloads, sorted.
	Scopes []Scope
	// Began is since when the process follows the cluster.
	Began time.Time
}

// Scope are the workloads of one kind in one namespace. A reader may read all of them or none.
type Scope struct {
	Namespace, Kind string
	// Counts are how many workloads are in each state.
	Counts [NotOptedIn + 1]int
	// Updated and Wanted are the Pods of those that are opted in.
	Updated, Wanted int64
	// Latest are the latest reloads, the newest first.
	Latest []Latest
}

// OptedIn returns how many workloads are opted in.
func (s *Scope) OptedIn() int {
	n := 0
	for state := range NotOptedIn {
		n += s.Counts[state]
	}
	return n
}

// In returns the scopes of a namespace, or all if it is empty.
func (b *Board) In(namespace string) []Scope {
	if namespace == "" {
		return b.Scopes
	}
	from, _ := slices.BinarySearchFunc(b.Scopes, namespace, func(s Scope, name string) int { return cmp.Compare(s.Namespace, name) })
	to := from
	for to < len(b.Scopes) && b.Scopes[to].Namespace == namespace {
		to++
	}
	return b.Scopes[from:to]
}

// with returns the board after some summaries were replaced. A nil summary is a workload that is
// gone. The others keep their order, so that one change in a large cluster sorts nothing.
func (b *Board) with(changed map[workload.Key]*Summary) *Board {
	fresh := make([]*Summary, 0, len(changed))
	for _, sum := range changed {
		if sum != nil {
			fresh = append(fresh, sum)
		}
	}
	slices.SortFunc(fresh, compareSummaries)
	next := *b
	next.Version++
	next.All = make([]*Summary, 0, len(b.All)+len(fresh))
	for _, old := range b.All {
		if _, replaced := changed[old.Key]; replaced {
			continue
		}
		for len(fresh) > 0 && compareSummaries(fresh[0], old) < 0 {
			next.All = append(next.All, fresh[0])
			fresh = fresh[1:]
		}
		next.All = append(next.All, old)
	}
	next.All = append(next.All, fresh...)
	next.Scopes = scopesOf(next.All)
	return &next
}

func scopesOf(all []*Summary) []Scope {
	type name struct{ namespace, kind string }
	byName := map[name]*Scope{}
	for _, sum := range all {
		of := name{sum.Key.Namespace, sum.Key.Kind}
		scope := byName[of]
		if scope == nil {
			scope = &Scope{Namespace: of.namespace, Kind: of.kind}
			byName[of] = scope
		}
		scope.Counts[sum.State]++
		scope.note(sum)
		if sum.State != NotOptedIn {
			scope.Updated, scope.Wanted = scope.Updated+int64(sum.Updated), scope.Wanted+int64(sum.Wanted)
		}
	}
	scopes := make([]Scope, 0, len(byName))
	for _, scope := range byName {
		scopes = append(scopes, *scope)
	}
	slices.SortFunc(scopes, func(a, b Scope) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind))
	})
	return scopes
}
