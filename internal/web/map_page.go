package web

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/reroll-dev/reroll/internal/inspect"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// mapPage shows sources, workloads and Pods in three columns. With many workloads, it shows
// namespaces first.
type mapPage struct {
	Filter          filter
	Groups          []*group
	GroupPager      pager
	Sources         []mapSource
	HiddenSources   int
	Workloads       []mapWorkload
	Pager           pager
	SeveralClusters bool
	Total           int
}

func (*mapPage) page() (name, title string) { return "map", "Map" }

// group are the workloads of a namespace.
type group struct {
	Cluster, Namespace, Link string
	Sources                  map[source.LocalKey]bool
	Workloads                int
	Updated, Wanted          int64
	// Counts are the numbers in each state, and attention is the worst of them.
	Counts    []stateNumber
	states    [inspect.NotOptedIn + 1]int
	attention int
}

// mapSource is a source in the first column, and mapWorkload a workload in the second one, with its
// Pods in the third. Links are the identifiers of what they touch.
type mapSource struct {
	sourceRef
	ID, Namespace string
	// Rolled and Used are the workloads that its lines lead to, those that a change rolls and the
	// others: lines have no text for a screen reader.
	Rolled, Used []workload.Key
}

type mapWorkload struct {
	ID, Cluster, Link, State string
	Key                      workload.Key
	// Rolls and Idle are the identifiers of its sources.
	Uses          []use
	HiddenSources int
	// Pods says how many have the current data, with a dot for each.
	Pods     string
	Dots     []string
	MoreDots int32
}

type use struct {
	ID    string
	Key   source.LocalKey
	Rolls bool
}

// Bounds of one map.
const (
	workloadsOnMap = 60
	groupsOnMap    = 60
	mostDots       = 24
)

func (s *site) mapping(r *request) (any, error) {
	p := &mapPage{Filter: filterOf(r.query), SeveralClusters: len(s.clusters) > 1}
	list := newListing(&p.Filter, r.sight)
	for _, c := range s.clusters {
		f, err := c.Facts()
		if err != nil {
			continue // the head of the page shows the problem
		}
		scopes, _ := r.sight.scopes(&f)
		list.add(c, &f, scopes)
	}
	p.Total = list.length()
	if p.Total > workloadsOnMap && p.Filter.Namespace == "" {
		p.group(r, list)
		return p, nil
	}
	var all []found
	all, p.Pager = list.show("map", workloadsOnMap)
	p.columns(r, all)
	return p, nil
}

// group counts the workloads of each namespace. Those that need a user come first.
func (p *mapPage) group(r *request, list *listing) {
	type place struct{ cluster, namespace string }
	groups := map[place]*group{}
	var sorted []*group
	for f := range list.each() {
		sum, at := f.sum, place{f.cluster.Name(), f.sum.Key.Namespace}
		g := groups[at]
		if g == nil {
			g = &group{Namespace: at.namespace, Sources: map[source.LocalKey]bool{}, attention: sum.Attention()}
			if p.SeveralClusters {
				g.Cluster = at.cluster
			}
			g.Link = p.Filter.address("map", "cluster", at.cluster, "ns", at.namespace)
			groups[at] = g
			sorted = append(sorted, g)
		}
		g.Workloads++
		g.states[sum.State]++
		g.attention = min(g.attention, sum.Attention())
		g.Updated, g.Wanted = g.Updated+int64(sum.Updated), g.Wanted+int64(sum.Wanted)
	}
	slices.SortFunc(sorted, func(a, b *group) int {
		return cmp.Or(a.attention-b.attention, cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Cluster, b.Cluster))
	})
	from, to, pager := p.Filter.window("map", len(sorted), groupsOnMap)
	p.Groups, p.GroupPager = sorted[from:to], pager
	shown := map[*group]bool{}
	for _, g := range p.Groups {
		shown[g] = true
		for state := inspect.UpToDate; state <= inspect.NotOptedIn; state++ {
			if n := g.states[state]; n > 0 {
				g.Counts = append(g.Counts, stateNumber{Name: state.String(), Count: n})
			}
		}
	}
	for f := range list.each() {
		if g := groups[place{f.cluster.Name(), f.sum.Key.Namespace}]; shown[g] {
			for _, use := range f.sum.Sources {
				g.Sources[use.Key] = true
			}
		}
	}
	p.withoutUnreadable(r.sight)
}

// withoutUnreadable removes the sources that the reader may not read from the numbers.
func (p *mapPage) withoutUnreadable(s *sight) {
	questions := map[scope]bool{}
	for _, g := range p.Groups {
		for key := range g.Sources {
			questions[scopeOfSource(g.Namespace, key.Kind)] = true
		}
	}
	s.together(keysOf(questions))
	for _, g := range p.Groups {
		maps.DeleteFunc(g.Sources, func(key source.LocalKey, _ bool) bool { return !s.source(g.Namespace, key.Kind) })
	}
}

// columns puts each source at the height of the first workload that uses it.
func (p *mapPage) columns(r *request, all []found) {
	known := map[string]int{}
	for i := range all {
		sum, name := all[i].sum, all[i].cluster.Name()
		one := mapWorkload{
			ID: id("w", name, sum.Key.String()), Link: workloadAddress(name, sum.Key), State: sum.State.String(), Key: sum.Key,
		}
		if p.SeveralClusters {
			one.Cluster = name
		}
		for _, uses := range sum.Sources {
			if !r.sight.source(sum.Key.Namespace, uses.Key.Kind) {
				one.HiddenSources++
				continue
			}
			at := id("s", name, sum.Key.Namespace, uses.Key.Kind.String(), uses.Key.Name)
			one.Uses = append(one.Uses, use{at, uses.Key, uses.Rolls})
			if _, is := known[at]; !is {
				known[at] = len(p.Sources)
				ref := sourceRef{uses.Key, sourceAddress(name, sum.Key.Namespace, uses.Key), uses.Rolls, uses.Absent}
				p.Sources = append(p.Sources, mapSource{sourceRef: ref, ID: at, Namespace: sum.Key.Namespace})
			}
			if src := &p.Sources[known[at]]; uses.Rolls {
				src.Rolled = append(src.Rolled, sum.Key)
			} else {
				src.Used = append(src.Used, sum.Key)
			}
		}
		one.dot(sum)
		p.HiddenSources += one.HiddenSources
		p.Workloads = append(p.Workloads, one)
	}
}

// dot shows how many Pods have the current data.
func (w *mapWorkload) dot(sum *inspect.Summary) {
	current, known := sum.Current()
	switch {
	case sum.Wanted == 0:
		w.Pods = "no Pods"
	case !known:
		w.Pods = fmt.Sprintf("%d, data unknown", sum.Wanted)
	default:
		w.Pods = fmt.Sprintf("%d of %d with current data", current, sum.Wanted)
	}
	for n := range min(sum.Wanted, mostDots) {
		class := inspect.ContentOld
		switch {
		case !known:
			class = inspect.ContentUnknown
		case n < current:
			class = inspect.ContentNew
		}
		w.Dots = append(w.Dots, class)
	}
	w.MoreDots = max(0, sum.Wanted-mostDots)
}
