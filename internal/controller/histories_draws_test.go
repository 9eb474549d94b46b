package controller

import (
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// draws are the properties of a history: the settings of its controllers, the objects and tools of
// its users, and its cluster. They are drawn separately from the steps. Add a new one at the end.
type draws struct {
	// onCreate and onDelete are flags of every controller of the history.
	onCreate, onDelete bool
	// pauses reports whether reloads of Deployments pause them, from the beginning.
	pauses bool
	// all selects the controllers with --auto-reload-all: none, each, or a drawn selection at each
	// start.
	all optInAll
	// optInLate reports whether workloads exist for a while before they are opted in.
	optInLate bool
	// policies reports whether users use all forms of annotations: names, expressions, search and
	// exclusions.
	policies bool
	// selector reports whether controllers watch only sources with a label.
	selector bool
	// optional reports whether Pods can start without some of their sources.
	optional bool
	// forgotten reports whether sources lose their managed fields.
	forgotten bool
	// skewed reports whether there are two API servers, whose clocks differ by clockSkew.
	skewed bool
	// below reports whether pod templates have opt-in annotations, too.
	below bool
	// inNamespace reports whether controllers watch only namespaces with the label.
	inNamespace bool
	// keysChosen reports whether users choose which keys of sources count.
	keysChosen bool
	// blind is a workload whose Pods are not found, as with a guessed selector.
	blind string
	// byLabel reports whether workloads select sources by labels.
	byLabel bool
	// kind is the kind of the history instead of Deployments, StatefulSets and DaemonSets. Such
	// histories are separate.
	kind string
}

type optInAll uint8

const (
	allNever optInAll = iota
	allAlways
	allAtTimes
)

// clockSkew is less than the tolerance of the engine for Pods.
const clockSkew = 3 * time.Second

func drawAll(r *rand.Rand) draws {
	var d draws
	d.onCreate, d.onDelete = r.IntN(5) < 2, r.IntN(5) < 2
	d.pauses = r.IntN(6) == 0
	d.all = []optInAll{allNever, allNever, allNever, allAlways, allAtTimes, allAtTimes}[r.IntN(6)]
	d.optInLate = r.IntN(3) == 0
	d.policies = r.IntN(3) == 0
	d.selector = r.IntN(6) == 0
	d.optional = r.IntN(5) == 0
	d.forgotten = r.IntN(6) == 0
	d.skewed = r.IntN(5) == 0
	if r.IntN(12) == 0 {
		d.blind = workloads()[r.IntN(len(workloads()))].name
	}
	d.below = r.IntN(6) == 0
	d.inNamespace = r.IntN(6) == 0
	d.byLabel = r.IntN(5) == 0 && !d.pauses // so that pauses stay as frequent in theirs
	d.keysChosen = r.IntN(6) == 0 && !d.pauses
	return d
}

// names returns the names of the draws that apply.
func (d draws) names() []string {
	var names []string
	for name, drawn := range d.table() {
		if drawn {
			names = append(names, drawPrefix+name)
		}
	}
	slices.Sort(names)
	return names
}

// drawPrefix is the prefix of their counters.
const drawPrefix = "draw: "

func drawNames() []string {
	var names []string
	for name := range (draws{}).table() {
		names = append(names, drawPrefix+name)
	}
	slices.Sort(names)
	return names
}

func (d draws) table() map[string]bool {
	return map[string]bool{
		"on create":                    d.onCreate,
		"on delete":                    d.onDelete,
		"pauses":                       d.pauses,
		"everything opted in":          d.all == allAlways,
		"everything opted in at times": d.all == allAtTimes,
		"opted in late":                d.optInLate,
		"all ways to ask":              d.policies,
		"sources selected":             d.selector,
		"optional references":          d.optional,
		"managers forgotten":           d.forgotten,
		"two clocks":                   d.skewed,
		"pods not found":               d.blind != "",
		"asked on templates":           d.below,
		"namespace selected":           d.inNamespace,
		"keys chosen":                  d.keysChosen,
		"sources by label":             d.byLabel,
	}
}

// Sources and the namespace have this label if controllers select by it.
const (
	selectLabel = "reload"
	selectValue = "yes"
)

func selector(drawn bool) labels.Selector {
	if !drawn {
		return nil
	}
	return labels.SelectorFromSet(labels.Set{selectLabel: selectValue})
}

// optsInAll draws whether the next controller has --auto-reload-all.
func (h *history) optsInAll() bool {
	switch h.all {
	case allAlways:
		return true
	case allAtTimes:
		return rand.New(rand.NewPCG(h.seed, uint64(h.life)+1000)).IntN(2) == 0
	default:
		return false
	}
}
