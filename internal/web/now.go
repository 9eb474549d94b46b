package web

import (
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/inspect"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// nowPage shows what needs a user first, and then all others. It has a field for each part of the
// page.
type nowPage struct {
	Filter          filter
	Numbers         []stateNumber
	Frozen          []frozen
	MoreFrozen      int
	Namespaces      []string
	Kinds           []string
	SeveralClusters bool
	ClusterNames    []string
	// Urgent are the first workloads of the list that need a user. Rows are the others on the page.
	Urgent, Rows    []row
	Calm            bool
	Pager           pager
	HiddenWorkloads int
	Reading         bool
	Annotation      string
	Reloads         []reloadRow
	// Found are the sources that are searched for.
	Found     []foundSource
	MoreFound int
	// Since is when the process began to follow the clusters: from then on, it has seen the reloads
	// whose time no ledger notes. Unnoted reports that none does.
	Since   time.Time
	Unnoted bool
}

func (*nowPage) page() (name, title string) { return "now", "Now" }

// stateNumber is how many workloads are in a state.
type stateNumber struct {
	Name, Label, Link string
	Count             int
	Active            bool
}

// row is a workload in a list.
type row struct {
	Cluster, ID, Link, State, Detail string
	Key                              workload.Key
	Updated, Wanted                  int32
	Reloads                          int64
	Sources                          []sourceRef
	// More are further sources, and HiddenSources those that the reader may not read.
	More, HiddenSources int
}

// sourceRef is a source in a list.
type sourceRef struct {
	Key           source.LocalKey
	Link          string
	Rolls, Absent bool
}

type reloadRow struct {
	Cluster string
	Key     workload.Key
	Link    string
	At      time.Time
}

// rowsOnPage is how many workloads one page lists.
const rowsOnPage = 50

func (s *site) now(r *request) (any, error) {
	p := &nowPage{Filter: filterOf(r.query), SeveralClusters: len(s.clusters) > 1, Reading: true}
	list := newListing(&p.Filter, r.sight)
	namespaces, kinds := map[string]bool{}, map[string]bool{}
	for _, c := range s.clusters {
		p.ClusterNames = append(p.ClusterNames, c.Name())
		facts, err := c.Facts()
		if err != nil {
			continue // the head of the page shows the problem
		}
		p.Annotation = facts.Settings.Rules.Names.Auto
		board := facts.Board
		p.Reading = p.Reading && !board.Ready
		if p.Since.IsZero() || board.Began.Before(p.Since) {
			p.Since = board.Began
		}
		p.Frozen = append(p.Frozen, r.frozen(c, &facts)...)
		scopes, hidden := r.sight.scopes(&facts)
		for _, scope := range scopes {
			namespaces[scope.Namespace], kinds[object(scope.Kind)] = true, true
		}
		p.HiddenWorkloads += hidden
		p.Reloads = append(p.Reloads, reloads(c, scopes)...)
		p.Unnoted = p.Unnoted || facts.Settings.Rules.Halt == gate.Halt{}
		list.add(c, &facts, scopes)
		if err := p.search(r, c, &facts); err != nil {
			return nil, err
		}
	}
	if len(s.clusters) > 1 {
		slices.SortStableFunc(p.Reloads, func(a, b reloadRow) int { return b.At.Compare(a.At) })
	}
	p.Reloads = p.Reloads[:min(len(p.Reloads), mostReloads)]
	p.Frozen, p.MoreFrozen = first(p.Frozen, mostFrozen)
	p.Numbers = p.numbers(&list.counts)
	p.Namespaces, p.Kinds = some(namespaces), some(kinds)
	var shown []found
	shown, p.Pager = list.show("./", rowsOnPage)
	for i := range shown {
		p.Rows = append(p.Rows, r.row(&shown[i], len(s.clusters) > 1))
	}
	if !p.Filter.Any() && p.Filter.page == 0 {
		p.first(shown)
	}
	return p, nil
}

// mostUrgent is how many workloads that need a user stand before the numbers. The others are the first
// ones of the list.
const mostUrgent = 8

// first moves the workloads that need a user from the list to the top of the page. A reader who
// searches finds them in the list.
func (p *nowPage) first(shown []found) {
	urgent := slices.IndexFunc(shown, func(f found) bool { return !f.sum.NeedsUser() })
	if urgent < 0 {
		urgent = len(shown)
	}
	p.Calm = urgent == 0 && len(shown) > 0
	urgent = min(urgent, mostUrgent)
	p.Urgent, p.Rows = p.Rows[:urgent], p.Rows[urgent:]
	p.Pager.From += urgent
}

// mostSuggested is how many namespaces an input suggests.
const mostSuggested = 200

func some(names map[string]bool) []string {
	all := slices.Sorted(maps.Keys(names))
	return all[:min(len(all), mostSuggested)]
}

// numbers returns how many workloads are in each state.
func (p *nowPage) numbers(count *[inspect.NotOptedIn + 1]int) []stateNumber {
	optedIn := 0
	for _, n := range count[:inspect.NotOptedIn] {
		optedIn += n
	}
	all := []stateNumber{{Name: "all", Label: "opted in", Count: optedIn, Link: p.Filter.address("./", "state", ""), Active: p.Filter.State == ""}}
	for _, state := range []inspect.State{
		inspect.Stuck, inspect.OutOfDate, inspect.Reverted, inspect.Missing, inspect.Waiting, inspect.InProgress, inspect.Unknown, inspect.UpToDate, inspect.NotOptedIn,
	} {
		name := state.String()
		if count[state] == 0 && p.Filter.State != name && (state == inspect.Reverted || state == inspect.Unknown || state == inspect.NotOptedIn) {
			continue // these are rare
		}
		all = append(all, stateNumber{Name: name, Label: name, Count: count[state], Link: p.Filter.address("./", "state", name), Active: p.Filter.State == name})
	}
	return all
}

// mostSources is how many sources of a workload a list names.
const mostSources = 4

func (r *request) row(f *found, several bool) row {
	sum := f.sum
	one := row{
		Link: workloadAddress(f.cluster.Name(), sum.Key), State: sum.State.String(), Detail: r.sight.detail(f.facts, sum), Key: sum.Key,
		Updated: sum.Updated, Wanted: sum.Wanted, Reloads: sum.Reloads, ID: id("w", f.cluster.Name(), sum.Key.String()),
	}
	if several {
		one.Cluster = f.cluster.Name()
	}
	for _, use := range sum.Sources {
		switch {
		case !r.sight.source(sum.Key.Namespace, use.Key.Kind):
			one.HiddenSources++
		case len(one.Sources) == mostSources:
			one.More++
		default:
			one.Sources = append(one.Sources, sourceRef{use.Key, sourceAddress(f.cluster.Name(), sum.Key.Namespace, use.Key), use.Rolls, use.Absent})
		}
	}
	return one
}

// id returns an identifier for an element. It has no blanks, and differs for different names: those of
// contexts may contain anything.
func id(parts ...string) string {
	escaped := make([]string, len(parts))
	for i, part := range parts {
		escaped[i] = url.QueryEscape(part)
	}
	return strings.Join(escaped, "/")
}

// mostReloads is how many reloads the page lists.
const mostReloads = 12

// reloads returns the latest reloads in the scopes that the reader may read.
func reloads(c Cluster, scopes []*inspect.Scope) []reloadRow {
	var all []reloadRow
	for _, latest := range inspect.LatestOf(scopes) {
		all = append(all, reloadRow{c.Name(), latest.Key, workloadAddress(c.Name(), latest.Key), latest.At})
	}
	return all
}
