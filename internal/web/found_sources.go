package web

import (
	"slices"

	"github.com/reroll-dev/reroll/internal/inspect"
	"github.com/reroll-dev/reroll/internal/source"
)

// mostFound is how many sources a search lists.
const mostFound = 20

// foundSource is a source that a search has found.
type foundSource struct {
	sourceRef
	Cluster, Namespace string
	// Used reports whether a workload that the reader may read uses it.
	Used bool
}

// search adds the sources of a cluster that a reader searches for, also those that no workload uses.
func (p *nowPage) search(r *request, c Cluster, f *inspect.Facts) error {
	if p.Filter.lower == "" || p.Filter.Kind != "" || p.Filter.State != "" || p.Filter.Cluster != "" && p.Filter.Cluster != c.Name() {
		return nil
	}
	all, err := c.Sources(p.Filter.Namespace, p.Filter.lower)
	if err != nil {
		return err
	}
	questions := map[scope]bool{}
	for _, key := range all {
		questions[scopeOfSource(key.Namespace, key.Kind)] = true
	}
	r.sight.together(keysOf(questions))
	all = slices.DeleteFunc(all, func(key source.Key) bool { return !r.sight.source(key.Namespace, key.Kind) })
	shown, more := first(all, max(0, mostFound-len(p.Found)))
	p.MoreFound += more
	used := usedIn(r.sight, f, shown)
	for _, key := range shown {
		one := foundSource{sourceRef: sourceRef{Key: key.Local(), Link: sourceAddress(c.Name(), key.Namespace, key.Local()), Rolls: true}, Namespace: key.Namespace, Used: used[key]}
		if p.SeveralClusters {
			one.Cluster = c.Name()
		}
		p.Found = append(p.Found, one)
	}
	return nil
}

// usedIn returns which sources workloads use that the reader may read.
func usedIn(s *sight, f *inspect.Facts, all []source.Key) map[source.Key]bool {
	wanted, used := map[source.Key]bool{}, map[source.Key]bool{}
	for _, key := range all {
		wanted[key] = true
	}
	if len(wanted) == 0 {
		return used
	}
	for _, sum := range f.Board.All {
		for _, use := range sum.Sources {
			if key := use.Key.In(sum.Key.Namespace); wanted[key] && s.workload(f, sum.Key) {
				used[key] = true
			}
		}
	}
	return used
}
