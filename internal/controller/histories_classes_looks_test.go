package controller

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/test/simapi"
)

// classLook is what a controller knew of classes when it began to reconcile a workload, and of Pods
// when it listed them.
type classLook struct {
	shown   map[string][]rotation
	reports map[string]types.UID
	liveAt  uint64
	newest  map[string]int
	late    map[string]uint64
	over    map[string]string
	parts   map[string]uint64
	added   map[ofClass]time.Time
	anew    map[string]uint64
	backLook
	// stale reports, by class, whether a stale Pod was found, untold whether a Pod without a known
	// status was found, and over whether its status replaced that of an earlier Pod, unseen. behind
	// reports whether a Pod has started with an earlier turn than the latest reported one. back
	// reports whether an object seems to have gone back to its version before the turn of a Pod, and
	// lacks whether a Pod may still be given an object that it started without.
	stale, untold, behind, overEarlier, back, lacks map[string]bool
	// other are the classes for whose data it took other versions than those of the latest rotation, or
	// those of the latest turn that a Pod has started with if no rotation was shown.
	other map[string]bool
}

// classesLook returns the knowledge of the running controller.
func (o *oracle) classesLook() classLook {
	l := o.classes.look(o.h.life)
	if o.h.driver == nil {
		return l
	}
	for _, name := range classNames() {
		turn := latestRotation(l.shown[name]).turn
		if newest, reported := l.newest[name]; turn < 0 && reported {
			turn = newest
		}
		l.other[name] = turn >= 0 && o.takesOther(name, turn)
	}
	return l
}

// look returns the knowledge about the writes of the driver.
func (t *classesTruth) look(life int) classLook {
	t.newLife(life)
	return classLook{
		shown: maps.Clone(t.shown), reports: maps.Clone(t.reports), liveAt: t.live, newest: maps.Clone(t.newest), late: maps.Clone(t.late),
		over: maps.Clone(t.over), backLook: t.back.clone(), parts: maps.Clone(t.parts.parts), added: maps.Clone(t.parts.added), anew: maps.Clone(t.parts.anew),
		stale: map[string]bool{}, untold: map[string]bool{}, behind: map[string]bool{}, overEarlier: map[string]bool{}, back: map[string]bool{},
		lacks: map[string]bool{}, other: map[string]bool{},
	}
}

// classesAsked records which turns the Pods in a list have of the classes that the controller
// knows.
func (o *oracle) classesAsked(l *look) {
	obj, err := o.h.server.Get(plural(l.key.Kind), inShop(l.key.Name))
	if err != nil || o.h.driver == nil {
		return
	}
	for _, name := range classNames() {
		last := latestRotation(l.shown[name])
		for _, pod := range o.h.pods.Of(obj) {
			given, mounted := o.h.driver.Given(pod.UID, name)
			status := simapi.StatusName(pod, name)
			l.behind[name] = l.behind[name] || lives(pod) && mounted && given.Started < l.newest[name]
			switch {
			case !lives(pod):
			case !mounts(pod, name):
				l.stale[name] = l.stale[name] || o.podMade[pod.UID] < last.version
				l.untold[name] = l.untold[name] || !pod.CreationTimestamp.After(last.date.Add(startLag+clockSkew))
			case mounted && given.Started < last.turn:
				l.stale[name] = true
			case l.reports[status] != pod.UID:
				l.untold[name] = true
			case l.over[status] != "":
				l.overEarlier[name] = true
			default:
				l.back[name] = l.back[name] || o.wentBack(name, given.Started) || o.overtook(name, l.shown[name], given.Started)
				l.lacks[name] = l.lacks[name] || o.mayBeGiven(pod, name, l.added, last)
			}
		}
	}
}

func mounts(pod *corev1.Pod, class string) bool {
	return slices.Contains(simapi.Mounts(&pod.Spec), class)
}
