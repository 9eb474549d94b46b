package web

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/inspect"
	"github.com/reroll-dev/reroll/internal/workload"
)

// gatesPage shows what reloads wait for.
type gatesPage struct {
	Frozen    []frozen
	Halted    []halted
	Approvals []waiting
	Waiting   []waiting
	More      int
	Waves     []waves
	Windows   []week
	// What the lists leave out.
	MoreFrozen, MoreWaves, MoreWindows int
}

func (*gatesPage) page() (name, title string) { return "gates", "Gates" }

// Empty reports whether nothing waits and nothing is set.
func (p *gatesPage) Empty() bool {
	return len(p.Frozen)+len(p.Halted)+len(p.Approvals)+len(p.Waiting)+len(p.Waves)+len(p.Windows) == 0
}

// halted is where no reload starts because too many failed.
type halted struct{ Cluster, Why, Resume string }

// waiting is a workload whose reload waits for a gate.
type waiting struct {
	row
	Gate, Approve string
	Until         time.Time
}

// waves are the workloads of a source that are rolled one after the other.
type waves struct {
	Cluster, Namespace, Settings, Stopped, Resume string
	Source                                        *sourceRef
	Waves                                         []wave
}

type wave struct {
	Number  int
	Members []member
	Hidden  int
}

type member struct {
	Key              workload.Key
	Link, State, Why string
}

// mostWaiting bounds the list of workloads that wait, mostFleets that of sources with waves in each
// cluster, and mostWindows that of windows.
const (
	mostWaiting = 200
	mostFleets  = 20
	mostWindows = 12
)

func (s *site) gates(r *request) (any, error) {
	p := &gatesPage{}
	for _, c := range s.clusters {
		f, err := c.Facts()
		if err != nil {
			continue // the head of the page shows the problem
		}
		p.Frozen = append(p.Frozen, r.frozen(c, &f)...)
		if h := f.Settings.Halted; h.Is() {
			why := h.Why
			if !r.sight.workloads(&f, "") {
				why = withheld
			}
			p.Halted = append(p.Halted, halted{c.Name(), why, s.onCluster(c, "reroll resume --all")})
		}
		r.sight.scopes(&f) // asks about all of them at once
		fleets := map[inspect.FleetKey]bool{}
		windows, zone := map[string]*week{}, r.zone(f.Now.Location())
		for _, sum := range f.Board.All {
			if !r.sight.workload(&f, sum.Key) {
				continue
			}
			p.wait(r, found{c, &f, sum}, len(s.clusters) > 1)
			for _, key := range sum.Fleets {
				fleets[key] = true
			}
			if sum.Schedule != "" && sum.State != inspect.NotOptedIn {
				if windows[sum.Schedule] == nil {
					windows[sum.Schedule] = weekOf(c.Name(), sum.Schedule, f.Now.In(zone))
				}
				windows[sum.Schedule].add(sum.Key)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(windows)) {
			p.Windows = append(p.Windows, *windows[key])
		}
		if err := p.fleets(r, c, &f, fleets); err != nil {
			return nil, err
		}
	}
	p.Frozen, p.MoreFrozen = first(p.Frozen, mostFrozen)
	p.Windows, p.MoreWindows = first(p.Windows, mostWindows)
	return p, nil
}

// wait lists a workload that waits for a gate.
func (p *gatesPage) wait(r *request, f found, several bool) {
	sum := f.sum
	if sum.Gate == "" || sum.State == inspect.UpToDate || sum.Gate == gate.Waves && len(sum.Fleets) > 0 {
		return // those in waves are shown with their waves
	}
	if len(p.Approvals)+len(p.Waiting) >= mostWaiting {
		p.More++
		return
	}
	one := waiting{row: r.row(&f, several), Gate: string(sum.Gate), Until: sum.Until}
	if sum.Gate != gate.Approval {
		p.Waiting = append(p.Waiting, one)
		return
	}
	if r.sight.shows(f.facts, sum, sum.Approve) {
		one.Approve = r.site.onCluster(f.cluster, sum.Approve)
	}
	p.Approvals = append(p.Approvals, one)
}

// fleets adds the waves of sources.
func (p *gatesPage) fleets(r *request, c Cluster, f *inspect.Facts, keys map[inspect.FleetKey]bool) error {
	all := slices.SortedFunc(maps.Keys(keys), func(a, b inspect.FleetKey) int {
		return cmp.Or(strings.Compare(a.Source.String(), b.Source.String()), strings.Compare(a.Namespace, b.Namespace))
	})
	all, more := first(all, mostFleets)
	p.MoreWaves += more
	found, err := c.Waves(all)
	if err != nil {
		return err
	}
	for i := range found {
		is := &found[i]
		one := waves{Cluster: c.Name(), Namespace: is.Namespace, Settings: withheld}
		readable := r.sight.source(is.Source.Namespace, is.Source.Kind)
		mayAll := readable && r.sight.workloads(f, is.Namespace) // texts may name the source, and any workload
		if readable {
			one.Settings = is.Settings // it names the source that sets it
			one.Source = &sourceRef{Key: is.Source.Local(), Link: sourceAddress(c.Name(), is.Source.Namespace, is.Source.Local())}
		}
		if is.Stopped != "" {
			one.Stopped = withheld
			if mayAll {
				one.Stopped = is.Stopped
			}
			if readable {
				one.Resume = r.site.onCluster(c, "reroll resume -n "+is.Namespace+" "+strings.ToLower(is.Source.Kind.String())+"/"+is.Source.Name)
			}
		}
		for _, w := range is.Waves {
			next := wave{Number: w.Number}
			for _, m := range w.Members {
				if !r.sight.workload(f, m.Key) {
					next.Hidden++
					continue
				}
				why, state := m.Why, m.State.String()
				if m.Soaking {
					state = inspect.UpToDate.String() // as all other answers about it
				} else if !mayAll {
					why = ""
				}
				next.Members = append(next.Members, member{m.Key, workloadAddress(c.Name(), m.Key), state, why})
			}
			one.Waves = append(one.Waves, next)
		}
		p.Waves = append(p.Waves, one)
	}
	return nil
}

// week is a schedule as the hours of one week.
type week struct {
	Cluster, Text, Err, Zone string
	Open                     bool
	Opens                    time.Time
	Days                     []weekDay
	Count                    int
	Namespaces               []string
}

type weekDay struct {
	Name  string
	Hours []weekHour
}

// weekHour is open, closed or partly open.
type weekHour struct {
	Class, Label string
}

// mostNamespaces is how many namespaces of a window are named.
const mostNamespaces = 5

func (w *week) add(key workload.Key) {
	w.Count++
	if len(w.Namespaces) < mostNamespaces && !slices.Contains(w.Namespaces, key.Namespace) {
		w.Namespaces = append(w.Namespaces, key.Namespace)
	}
}

func clockHour(hour int) string { return strconv.Itoa(hour/10) + strconv.Itoa(hour%10) + ":00" }
