package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/test/harness"
)

// The requests that a reload is made of, and those that an instance makes to stay the one that
// acts.
//
//nolint:gochecknoglobals // they cannot be constants, and nobody changes them
var (
	patches  = request{Verb: "patch", Resource: "deployments"}
	events   = request{Verb: "create", Resource: "events"}
	podLists = request{Verb: "list", Resource: "pods"}
	renewal  = request{Verb: "update", Resource: "leases"}
)

// window is a piece of time in which it is counted what a controller uses.
type window struct {
	counted *tally
	pid     int
	before  usage
	began   time.Time
}

// spent is what a controller has used in it.
type spent struct {
	cpu      time.Duration
	peak     float64 // MiB
	rss      float64 // MiB, at the end
	took     time.Duration
	requests requests
}

// begin forgets what was seen of the workloads, too.
func (s *stage) begin() (*window, error) {
	return s.beginOf(s.controller, s.audit)
}

func (s *stage) beginOf(c worker, audit auditLog) (*window, error) {
	w := &window{pid: c.PID()}
	var err error
	if w.counted, err = audit.begin(); err != nil {
		return nil, err
	}
	if err := forgetPeak(w.pid); err != nil {
		return nil, err
	}
	if w.before, err = usageOf(w.pid); err != nil {
		return nil, err
	}
	s.eyes.begin()
	w.began = time.Now()
	return w, nil
}

// end returns what was used when the Events of so many reloads are created, or will not be.
func (w *window) end(ctx context.Context, reloads int) (spent, error) {
	took := time.Since(w.began)
	asked, err := awaitEvents(ctx, w.counted, reloads)
	if err != nil {
		return spent{}, err
	}
	after, err := usageOf(w.pid)
	return spent{cpu: after.cpu - w.before.cpu, peak: after.peak, rss: after.rss, took: took, requests: asked}, err
}

// eventsTake bounds the wait for Events, which are published behind the reloads. To lose one is no
// fault of the work.
const eventsTake = 15 * time.Second

// quietFor is how long no Event must have come for there to be no more of them.
const quietFor = time.Second

// awaitEvents waits until the Events of so many reloads were created and no more come, and returns
// all requests.
func awaitEvents(ctx context.Context, counted *tally, reloads int) (requests, error) {
	var asked requests
	bounded, cancel := context.WithTimeout(ctx, eventsTake)
	defer cancel()
	var failed error
	last, since := 0, time.Now()
	err := harness.Await(bounded, "the Events", func(context.Context) error {
		if asked, failed = counted.read(); failed != nil {
			return nil //nolint:nilerr // to look again will not help
		}
		if now := asked[events]; now != last {
			last, since = now, time.Now()
		}
		if last < reloads || reloads > 0 && time.Since(since) < quietFor {
			return fmt.Errorf("%d of %d", last, reloads)
		}
		return nil
	})
	if err != nil && ctx.Err() != nil {
		return nil, err
	}
	return asked, failed
}

// sheet gathers what several runs have measured.
type sheet struct {
	names  []string // in the order in which they came
	units  map[string]string
	values map[string][]float64
	limits map[string]limit
	asked  []requests
	least  []requests // one of each run, as there is of what was asked
}

type limit struct {
	values []float64
	is     string
}

func newSheet() *sheet {
	return &sheet{units: map[string]string{}, values: map[string][]float64{}, limits: map[string]limit{}}
}

func (sh *sheet) add(name, unit string, value float64) {
	if _, known := sh.values[name]; !known {
		sh.names = append(sh.names, name)
	}
	sh.units[name] = unit
	sh.values[name] = append(sh.values[name], value)
}

// beside adds what one run has measured of the limit of a figure.
func (sh *sheet) beside(name, is string, value float64) {
	l := sh.limits[name]
	sh.limits[name] = limit{append(l.values, value), is}
}

// reloads are the requests that so many reloads are: each is one PATCH and one Event.
func reloads(n int) requests { return requests{patches: n, events: n} }

// addSpent adds what a controller has used, and the least that the work takes.
func (sh *sheet) addSpent(sp spent, least requests) {
	sh.add(cpuTimeRow, "s", sp.cpu.Seconds())
	sh.add(peakRow, "MiB", sp.peak)
	sh.add(endRow, "MiB", sp.rss)
	sh.asked = append(sh.asked, sp.requests)
	sh.least = append(sh.least, least)
}

const (
	cpuTimeRow = "processor time"
	readsRow   = "LIST and GET, WATCH of all"
	othersRow  = "other requests"
)

// addFirstAndLast adds the times of the first and the last rollout. A peer that has rolled nothing
// has none.
func (sh *sheet) addFirstAndLast(s seen, began time.Time) {
	if s.workloads == 0 {
		return
	}
	sh.add(firstRow, "ms", milliseconds(s.first.Sub(began)))
	sh.add(lastRow, "s", s.last.Sub(began).Seconds())
}

// addLatencies adds percentiles of the times of one run. A peer that has rolled nothing has none.
func (sh *sheet) addLatencies(took []time.Duration) {
	if len(took) == 0 {
		return
	}
	var ms []float64
	for _, d := range took {
		ms = append(ms, milliseconds(d))
	}
	sh.add("p50", "ms", percentile(ms, 50))
	sh.add("p99", "ms", percentile(ms, 99))
}

// rows are the figures, and the requests if they were counted.
func (sh *sheet) rows() []row {
	if len(sh.asked) == 0 {
		return sh.figures()
	}
	return append(sh.figures(), sh.requestRows()...)
}

func (sh *sheet) figures() []row {
	var rows []row
	for _, name := range sh.names {
		rows = append(rows, sh.figure(name, name))
	}
	return rows
}

// figure is one of them, under a name of its own, beside its limit if it has one.
func (sh *sheet) figure(name, as string) row {
	r := figure(as, sh.units[name], sh.values[name])
	if l, ok := sh.limits[name]; ok {
		r = r.against(over(l.values), l.is)
	}
	return r
}

// requestRows are the requests by verb and resource, and those that a reload does not need.
func (sh *sheet) requestRows() []row {
	return append(sh.kindRows(),
		figure(readsRow, "", count(sh.asked, requests.reads)).against(over([]float64{0}), "none"),
		figure(othersRow, "", count(sh.asked, func(asked requests) int { return asked.total(patches, events, renewal) })).against(over([]float64{0}), "none"))
}

// count is how many there were in each run.
func count(runs []requests, of func(requests) int) []float64 {
	var counts []float64
	for _, run := range runs {
		counts = append(counts, float64(of(run)))
	}
	return counts
}

// kindRows are the requests by verb and resource, without the renewals of the lease, which come
// with time.
func (sh *sheet) kindRows() []row {
	kinds, needed := map[request]bool{}, map[request]bool{}
	for _, least := range sh.least {
		for kind := range least {
			kinds[kind], needed[kind] = true, true
		}
	}
	for _, asked := range sh.asked {
		for kind := range asked {
			kinds[kind] = true
		}
	}
	delete(kinds, renewal)
	all := slices.SortedFunc(maps.Keys(kinds), func(a, b request) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb))
	})
	var rows []row
	for _, kind := range all {
		times := func(run requests) int { return run[kind] }
		r := figure(kind.String(), "", count(sh.asked, times))
		if needed[kind] {
			r = r.against(over(count(sh.least, times)), "one a reload")
		}
		rows = append(rows, r)
	}
	return rows
}

// String is how a request is called in the table.
func (r request) String() string { return strings.ToUpper(r.Verb) + " " + r.Resource }

const (
	// ofOne is behind the resource of a LIST that asked for one object at most.
	ofOne = " (limit 1)"
	// ofAll is behind that of a WATCH that begins with all objects there are.
	ofAll = " (all)"
)

// reads is how many were a LIST or a GET of objects, or a WATCH that is a LIST too. One LIST of a
// single object is right for each watch that the API server has ended before its time, as it does
// when it has too much to do: it tells whether the storage was set back meanwhile. And what has a
// path and no resource is about the server and not about objects.
func (r requests) reads() int {
	n := 0
	for kind, times := range r {
		switch {
		case strings.HasPrefix(kind.Resource, "/"):
		case kind.Verb == "get", kind.Verb == "watch" && strings.HasSuffix(kind.Resource, ofAll):
			n += times
		case kind.Verb == "list":
			if resource, one := strings.CutSuffix(kind.Resource, ofOne); one {
				times = max(times-r[request{Verb: "watch", Resource: resource}], 0)
			}
			n += times
		}
	}
	return n
}
