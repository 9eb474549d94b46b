package controller

import (
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// draws are what a history is about: how its controllers are set up, what its users own and write with, and what its
// cluster is like. They are drawn apart from the steps. A new one is drawn at the end.
type draws struct {
	// onCreate and onDelete are what every controller of the history is told.
	onCreate, onDelete bool
	// pauses reports whether reloads of Deployments are to pause them, from the beginning.
	pauses bool
	// all is whether controllers opt everything in: none, each, or each as it is drawn when it starts.
	all optInAll
	// optInLate reports whether workloads are there for a while before they ask for anything.
	optInLate bool
	// policies reports whether users ask in all ways there are: by name, by expression, by searching, and what they leave out.
	policies bool
	// selector reports whether controllers look at the sources alone that have a label.
	selector bool
	// optional reports whether pods can do without some of their sources.
	optional bool
	// forgotten reports whether sources lose their managed fields.
	forgotten bool
	// skewed reports whether there are two API servers, whose clocks are clockSkew apart.
	skewed bool
	// below reports whether workloads ask on their pod templates, too.
	below bool
	// inNamespace reports whether controllers look at the namespaces alone that have the label.
	inNamespace bool
	// blind is a workload of which no pod is found, as where a selector had to be guessed.
	blind string
	// kind is what the history is about instead of Deployments, StatefulSets and DaemonSets. Those are histories of their own.
	kind string
}

type optInAll uint8

const (
	allNever optInAll = iota
	allAlways
	allAtTimes
)

// clockSkew is less than what the engine allows pods for.
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
	return d
}

// names are those that apply.
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

// drawPrefix is what they are counted under.
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
	}
}

// Sources, and the namespace, have this label where controllers select them.
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

// optsInAll draws whether the next controller opts everything in.
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
