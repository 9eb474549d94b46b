package web

import (
	"net/http"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/inspect"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// sourcePage shows who uses a source, and what a change of it would roll. It has a field for each part
// of the page.
type sourcePage struct {
	Cluster string
	Key     source.Key
	Absent  bool
	// Writer wrote the data last, at Written.
	Writer           string
	Written, Created time.Time
	Keys             int
	Rolled, Left     []planned
	// Elsewhere are workloads of other namespaces that a change rolls. LeftElsewhere are those that it
	// does not roll.
	Elsewhere, LeftElsewhere []planned
	// Workloads and Pods are how many a change rolls in all namespaces.
	Workloads int
	Pods      int64
	Hidden    int
	Note      string
	Waves     bool
	Unread    []string
	Map       string
}

func (p *sourcePage) page() (name, title string) { return "source", p.Key.Name }

// planned is a workload that a change of a source would roll, or would not.
type planned struct {
	Key       workload.Key
	Link, Why string
	// Keys are which keys count, if not all do by default.
	Keys        string
	State       string
	Wave        int
	Pods        int64
	Gate, Opens string
}

func (s *site) source(r *request) (any, error) {
	c, f, err := s.facts(r)
	if err != nil {
		return nil, err
	}
	local := source.LocalKey{Name: r.query.Get("name")}
	for _, kind := range source.Kinds() {
		if kind.String() == r.query.Get("kind") && !kind.Reported() {
			local.Kind = kind
		}
	}
	key := local.In(r.query.Get("ns")).Origin() // the permission that counts is that in its own namespace
	if !key.Kind.Known() || key.Name == "" || !r.sight.source(key.Namespace, key.Kind) {
		return nil, pageError{http.StatusNotFound, "There is no such source, or you may not read it."}
	}
	plan, src, err := c.Plan(key)
	if err != nil {
		return nil, err
	}
	p := &sourcePage{Cluster: c.Name(), Key: key, Absent: plan.Absent, Note: plan.Note(), Waves: plan.Waves != nil, Unread: plan.Unread}
	if src != nil {
		p.Writer, p.Written, p.Created, p.Keys = src.Writer, src.DataTime, src.Created, len(src.Keys)
	}
	states := summariesOf(&f, plan.Rolled, plan.Left, plan.Elsewhere.Rolled, plan.Elsewhere.Left)
	p.Rolled, p.Left = p.planned(r, &f, states, plan.Rolled), p.planned(r, &f, states, plan.Left)
	p.Elsewhere, p.LeftElsewhere = p.planned(r, &f, states, plan.Elsewhere.Rolled), p.planned(r, &f, states, plan.Elsewhere.Left)
	for _, one := range slices.Concat(p.Rolled, p.Elsewhere) {
		p.Workloads++
		p.Pods += one.Pods
	}
	where := key.Namespace
	if len(p.Elsewhere)+len(p.LeftElsewhere) > 0 {
		where = ""
	}
	p.Map = address("map", "cluster", c.Name(), "ns", where, "q", key.Name)
	return p, nil
}

func (p *sourcePage) planned(r *request, f *inspect.Facts, states map[workload.Key]*inspect.Summary, all []inspect.Planned) []planned {
	var shown []planned
	for i := range all {
		one := &all[i]
		if !r.sight.workload(f, one.Key) {
			p.Hidden++
			continue
		}
		row := planned{Key: one.Key, Link: workloadAddress(p.Cluster, one.Key), Why: one.Why, Keys: one.Keys, Wave: one.Wave, Pods: one.Pods}
		if sum := states[one.Key]; sum != nil {
			row.State = sum.State.String()
		}
		if !one.Gate.Open() {
			row.Gate = one.Gate.Why
			if !one.Gate.Until.IsZero() {
				row.Opens = one.Gate.When(f.Now.Location())
			}
		}
		p.withhold(r.sight, f, states[one.Key], &row)
		shown = append(shown, row)
	}
	return shown
}

// withhold replaces the texts of a workload that name what the reader may not read.
func (p *sourcePage) withhold(s *sight, f *inspect.Facts, sum *inspect.Summary, row *planned) {
	text := row.Why + row.Gate + row.Keys
	if sum == nil || !s.shows(f, sum, text) {
		if !s.workloads(f, row.Key.Namespace) || !s.sources(f, row.Key.Namespace, text) {
			row.Why, row.Gate, row.Keys = withheld, "", ""
		}
	}
	if tellsHalt(f, row.Gate) && !s.workloads(f, "") {
		row.Gate = withheld
	}
}

// summariesOf returns the summaries of the workloads of plans. Most workloads of a large cluster are in
// other namespaces.
func summariesOf(f *inspect.Facts, plans ...[]inspect.Planned) map[workload.Key]*inspect.Summary {
	found, namespaces := map[workload.Key]*inspect.Summary{}, map[string]bool{}
	for _, plan := range plans {
		for i := range plan {
			found[plan[i].Key], namespaces[plan[i].Key.Namespace] = nil, true
		}
	}
	for _, sum := range f.Board.All {
		if !namespaces[sum.Key.Namespace] {
			continue
		}
		if _, planned := found[sum.Key]; planned {
			found[sum.Key] = sum
		}
	}
	return found
}
