package web

import (
	"iter"
	"slices"

	"github.com/reroll-dev/reroll/internal/inspect"
	"github.com/reroll-dev/reroll/internal/workload"
)

// listing finds the workloads that a reader may read and searches for. Without a text to search for,
// the numbers of the scopes show how many there are, so that a page costs little in a large cluster.
type listing struct {
	filter *filter
	sight  *sight
	parts  []listed
	// counts are the numbers in each state, of all states.
	counts [inspect.NotOptedIn + 1]int
}

// listed are the workloads of one cluster.
type listed struct {
	cluster Cluster
	facts   *inspect.Facts
	all     []*inspect.Summary
	// readable are the scopes that are searched; nil if all are.
	readable map[scopeName]bool
}

type scopeName struct{ namespace, kind string }

// found is a workload of a listing.
type found struct {
	cluster Cluster
	facts   *inspect.Facts
	sum     *inspect.Summary
}

func newListing(f *filter, s *sight) *listing { return &listing{filter: f, sight: s} }

// add adds the workloads of a cluster. Scopes are those that the reader may read.
func (l *listing) add(c Cluster, f *inspect.Facts, scopes []*inspect.Scope) {
	if l.filter.Cluster != "" && c.Name() != l.filter.Cluster {
		return
	}
	part := listed{cluster: c, facts: f, all: f.Board.All, readable: map[scopeName]bool{}}
	for _, scope := range scopes {
		if !l.filter.scope(scope) {
			continue
		}
		part.readable[scopeName{scope.Namespace, scope.Kind}] = true
		for state, n := range scope.Counts {
			l.counts[state] += n
		}
	}
	if len(part.readable) == len(f.Board.Scopes) {
		part.readable = nil
	}
	if l.filter.lower != "" {
		l.sight.together(l.filter.questions(part.all))
		part.all = slices.DeleteFunc(slices.Clone(part.all), func(sum *inspect.Summary) bool {
			return !part.reads(sum.Key) || !l.filter.matches(l.sight, sum)
		})
		part.readable = nil
		l.count(part.all, scopes)
	}
	l.parts = append(l.parts, part)
}

// count replaces the numbers of the scopes by those of the workloads that match.
func (l *listing) count(all []*inspect.Summary, scopes []*inspect.Scope) {
	for _, scope := range scopes {
		if !l.filter.scope(scope) {
			continue
		}
		for state, n := range scope.Counts {
			l.counts[state] -= n
		}
	}
	for _, sum := range all {
		l.counts[sum.State]++
	}
}

func (p *listed) reads(key workload.Key) bool {
	return p.readable == nil || p.readable[scopeName{key.Namespace, key.Kind}]
}

// length returns how many workloads are in the states that are searched for.
func (l *listing) length() int {
	n := 0
	for state, count := range l.counts {
		if l.filter.inState(inspect.State(state)) {
			n += count
		}
	}
	return n
}

// each returns the workloads, those of each cluster that need a user first.
func (l *listing) each() iter.Seq[found] {
	return func(yield func(found) bool) {
		for i := range l.parts {
			part := &l.parts[i]
			for _, sum := range part.all {
				if part.reads(sum.Key) && l.filter.inState(sum.State) && !yield(found{part.cluster, part.facts, sum}) {
					return
				}
			}
		}
	}
}

// show returns the workloads on a page, those first that need a user.
func (l *listing) show(page string, size int) ([]found, pager) {
	from, to, p := l.filter.window(page, l.length(), size)
	each := l.each()
	if len(l.parts) > 1 {
		all := slices.Collect(each)
		slices.SortStableFunc(all, func(a, b found) int { return a.sum.Attention() - b.sum.Attention() })
		each = slices.Values(all)
	}
	var shown []found
	at := 0
	for f := range each {
		if at >= to {
			break
		}
		if at >= from {
			shown = append(shown, f)
		}
		at++
	}
	return shown, p
}
