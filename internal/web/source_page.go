package web

import (
	"net/http"
	"time"

	"github.com/reroll-dev/reroll/internal/inspect"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// sourcePage shows who uses a source, and what a change of it would roll.
type sourcePage struct {
	Cluster string
	Key     source.Key
	Absent  bool
	// Writer wrote the data last, at Written.
	Writer           string
	Written, Created time.Time
	Keys             int
	Rolled, Left     []planned
	Pods             int64
	Hidden           int
	Note             string
	Waves            bool
	Unread           []string
	Map              string
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
	key := source.Key{Namespace: r.query.Get("ns"), Name: r.query.Get("name")}
	for _, kind := range source.Kinds() {
		if kind.String() == r.query.Get("kind") && !kind.Reported() {
			key.Kind = kind
		}
	}
	key = key.Origin() // the permission that counts is that in its own namespace
	if !key.Kind.Known() || key.Name == "" || !r.sight.source(key.Namespace, key.Kind) {
		return nil, pageError{http.StatusNotFound, "There is no such source, or you may not read it."}
	}
	plan, src, err := c.Plan(key)
	if err != nil {
		return nil, err
	}
	p := &sourcePage{Cluster: c.Name(), Key: key, Absent: plan.Absent, Note: plan.Note(), Waves: plan.Waves != nil, Unread: plan.Unread}
	p.Map = address("map", "cluster", c.Name(), "ns", key.Namespace, "q", key.Name)
	if src != nil {
		p.Writer, p.Written, p.Created, p.Keys = src.Writer, src.DataTime, src.Created, len(src.Keys)
	}
	p.Rolled, p.Left = p.planned(r, &f, plan.Rolled), p.planned(r, &f, plan.Left)
	for i := range p.Rolled {
		p.Pods += p.Rolled[i].Pods
	}
	return p, nil
}

func (p *sourcePage) planned(r *request, f *inspect.Facts, all []inspect.Planned) []planned {
	states := map[workload.Key]*inspect.Summary{}
	for _, sum := range f.Board.All {
		if sum.Key.Namespace == p.Key.Namespace {
			states[sum.Key] = sum
		}
	}
	var shown []planned
	for i := range all {
		one := &all[i]
		if !r.sight.workload(f, one.Key) {
			p.Hidden++
			continue
		}
		row := planned{Key: one.Key, Link: workloadAddress(p.Cluster, one.Key), Why: one.Why, Keys: one.Keys, Wave: one.Wave, Pods: one.Pods}
		sum := states[one.Key]
		if sum != nil {
			row.State = sum.State.String()
		}
		if !one.Gate.Open() {
			row.Gate = one.Gate.Why
			if !one.Gate.Until.IsZero() {
				row.Opens = one.Gate.When(f.Now.Location())
			}
		}
		if sum == nil || !r.sight.shows(f, sum, row.Why+row.Gate+row.Keys) {
			if !r.sight.workloads(f, p.Key.Namespace) || !r.sight.sources(p.Key.Namespace) {
				row.Why, row.Gate, row.Keys = withheld, "", ""
			}
		}
		if tellsHalt(f, row.Gate) && !r.sight.workloads(f, "") {
			row.Gate = withheld
		}
		shown = append(shown, row)
	}
	return shown
}
