package web

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/reroll-dev/reroll/internal/inspect"
	"github.com/reroll-dev/reroll/internal/workload"
)

// filter is what a reader searches for, from the query of a page.
type filter struct {
	Cluster, Namespace, Kind, State, Text string
	page                                  int
	lower                                 string
}

func filterOf(query url.Values) filter {
	f := filter{Cluster: query.Get("cluster"), Namespace: query.Get("ns"), Kind: query.Get("kind"), State: query.Get("state"), Text: strings.TrimSpace(query.Get("q"))}
	f.page, _ = strconv.Atoi(query.Get("page"))
	f.page, f.lower = max(f.page, 0), strings.ToLower(f.Text)
	return f
}

// Any reports whether anything is searched for.
func (f *filter) Any() bool {
	return f.Cluster != "" || f.Namespace != "" || f.Kind != "" || f.State != "" || f.Text != ""
}

// address returns the address of a page with this filter.
func (f *filter) address(page string, changed ...string) string {
	return address(page, append([]string{"cluster", f.Cluster, "ns", f.Namespace, "kind", f.Kind, "state", f.State, "q", f.Text}, changed...)...)
}

// matches reports whether a workload is searched for, apart from its state. A source that the reader
// may not read finds nothing.
func (f *filter) matches(s *sight, sum *inspect.Summary) bool {
	switch {
	case f.Namespace != "" && sum.Key.Namespace != f.Namespace, f.Kind != "" && sum.Key.Object() != f.Kind && sum.Key.Kind != f.Kind:
		return false
	case f.lower == "", contains(sum.Key.Name, f.lower), contains(sum.Key.Namespace, f.lower), contains(sum.Key.Object()+"/"+sum.Key.Name, f.lower):
		return true
	}
	return slices.ContainsFunc(sum.Sources, func(use inspect.SourceUse) bool {
		return contains(use.Key.Name, f.lower) && s.source(sum.Key.Namespace, use.Key.Kind)
	})
}

// questions returns what a reader must be allowed to read so that sources are found.
func (f *filter) questions(all []*inspect.Summary) []scope {
	asked := map[scope]bool{}
	for _, sum := range all {
		for _, use := range sum.Sources {
			if contains(use.Key.Name, f.lower) {
				asked[scopeOfSource(sum.Key.Namespace, use.Key.Kind)] = true
			}
		}
	}
	return keysOf(asked)
}

func keysOf(questions map[scope]bool) []scope { return slices.Collect(maps.Keys(questions)) }

// contains reports whether a name contains a text in lower case. Most names are in lower case.
func contains(name, lower string) bool {
	return strings.Contains(name, lower) || strings.Contains(strings.ToLower(name), lower)
}

// scope reports whether the workloads of a scope are searched for, apart from their names.
func (f *filter) scope(scope *inspect.Scope) bool {
	return (f.Namespace == "" || scope.Namespace == f.Namespace) && (f.Kind == "" || object(scope.Kind) == f.Kind || scope.Kind == f.Kind)
}

func object(kind string) string {
	key := workload.Key{Kind: kind}
	return key.Object()
}

// inState reports whether a state is searched for. Workloads that are not opted in are shown only
// if a reader asks for them.
func (f *filter) inState(state inspect.State) bool {
	if f.State == "" {
		return state != inspect.NotOptedIn
	}
	return state.String() == f.State
}

// pager is the part of a list that a page shows.
type pager struct {
	From, To, Of  int
	Before, After string
}

// Any reports whether there is more than one part.
func (p pager) Any() bool { return p.Before != "" || p.After != "" }

// window returns the part of a list of a length that a page shows.
func (f *filter) window(page string, length, size int) (from, to int, p pager) {
	at := min(f.page, max(length-1, 0)/size)
	from = at * size
	to = min(from+size, length)
	p = pager{From: from + 1, To: to, Of: length}
	if at > 0 {
		p.Before = f.address(page, "page", number(at-1))
	}
	if to < length {
		p.After = f.address(page, "page", number(at+1))
	}
	return from, to, p
}

func number(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}
