package controller

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/test/simapi"
)

// The knowledge of the oracle about classes that a controller forgets, and about rotations that it
// learns in parts.
//
// A version of an object that Pods only start with is no rotation. So if the first running Pod that
// gets a turn had a part of it before, the rest counts as rotated when another running Pod gets it.

// partsLook has, by class, what the running controller was shown: in given, by the version of an
// object, the version of the write with which a running Pod got it first; in parts, the version of the
// last write with which a running Pod got such a version first, although its turn had been shown
// before; in last, by object, the turn that gave its latest version to a running Pod, or that of the
// first report; in added, by object, when the first status with it was written; in anew, the version
// of the first write after the controller forgot the class, if it has a later turn than those before.
type partsLook struct {
	given map[string]map[string]uint64
	parts map[string]uint64
	last  map[string]map[string]int
	added map[ofClass]time.Time
	anew  map[string]uint64
}

func newPartsLook() partsLook {
	return partsLook{map[string]map[string]uint64{}, map[string]uint64{}, map[string]map[string]int{}, map[ofClass]time.Time{}, map[string]uint64{}}
}

// takeParts receives a write that the running controller is shown. Only a watch shows which objects
// the write changed.
func (o *oracle) takeParts(told *toldOfPod, live bool) {
	p := &o.classes.parts
	if !told.gone {
		if newest, known := o.classes.newest[told.class]; known && told.turn > newest && p.last[told.class] == nil {
			p.anew[told.class] = told.version
		}
		o.takeLast(told, live)
		p.takeAdded(told, o.h.driver.Turn(told.class, told.turn))
	}
	if !told.rotated || told.gone {
		return
	}
	if p.given[told.class] == nil {
		p.given[told.class] = map[string]uint64{}
	}
	now, started, from := o.h.driver.Turn(told.class, told.turn), o.h.driver.Turn(told.class, told.started), o.h.driver.Turn(told.class, told.from)
	for _, id := range classObjects() {
		given := id + "=" + now[id]
		if live && now[id] == started[id] && now[id] == from[id] || p.given[told.class][given] > 0 {
			continue
		}
		p.given[told.class][given] = told.version
		if told.turn <= latestRotation(o.classes.shown[told.class]).turn {
			p.parts[told.class] = told.version
		}
	}
}

// takeLast is for a write after which the running controller knows the versions that running Pods got.
// A Pod that gets a version that others had before is only late. If no running Pod was known to have
// got it, because the others skipped its turn, the controller takes it for the latest.
func (o *oracle) takeLast(told *toldOfPod, live bool) {
	last := o.classes.parts.last[told.class]
	if last == nil {
		last = map[string]int{}
		o.classes.parts.last[told.class] = last
	}
	version := func(turn int, id string) string { return o.h.driver.Turn(told.class, turn)[id] }
	givenIn := func(turn int, id string) uint64 { return o.classes.parts.given[told.class][id+"="+version(turn, id)] }
	others := reportsClass(o.classes.reports, told.class)
	for _, id := range classObjects() {
		now := version(told.turn, id)
		known, before := last[id]
		kept := now == version(told.from, id) && live // the write changed other objects
		late := kept
		for between := told.from + 1; between <= known; between++ {
			late = late || version(between, id) == now
		}
		// By the order of the writes, the data went back if another Pod got the version of an earlier
		// turn after this one. Then the controller still takes the earlier turn for the latest one.
		late = late || before && givenIn(told.turn, id) > givenIn(told.from, id)
		skipped := told.turn < known && givenIn(told.turn, id) == 0 && (!live || now != version(told.from, id))
		// Of a Pod that is new to the controller, it only knows when its status was last written.
		latest := before && !live && !told.known && now != version(known, id)
		// A Pod that had the latest version was not behind, so that another version is taken for later.
		left := live && before && now != version(told.from, id) && version(told.from, id) == version(known, id)
		// While others run without an object, that a Pod starts with it gives it to none of them.
		begins := !before && now != "" && (told.rotated && !kept || !others)
		if begins || before && told.rotated && (told.turn > known && !late || skipped || left || latest) {
			last[id] = told.turn
		}
	}
}

// takesOther reports whether the running controller takes other versions for the data of a class than
// those of a turn that it was shown: Pods have started with some of them that no running Pod got, or
// that a running Pod lost. A controller that starts after those Pods are gone cannot know that.
func (o *oracle) takesOther(name string, turn int) bool {
	last := o.classes.parts.last[name]
	return slices.ContainsFunc(classObjects(), func(id string) bool {
		version := o.h.driver.Turn(name, turn)[id]
		at, known := last[id]
		return known && o.h.driver.Turn(name, at)[id] != version || !known && version != ""
	})
}

// forgetClasses forgets the rotations of classes if the running controller knows neither the object nor
// a status. What Pods start with next is the data of such a class.
func (o *oracle) forgetClasses() {
	for _, name := range classNames() {
		_, known := o.known[simapi.Source{Resource: simapi.ClassResource, Name: name}]
		if !known && !reportsClass(o.classes.reports, name) {
			delete(o.classes.shown, name)
			delete(o.classes.parts.given, name)
			delete(o.classes.parts.last, name)
			maps.DeleteFunc(o.classes.parts.added, func(of ofClass, _ time.Time) bool { return of.class == name })
		}
	}
}

// reportsClass reports whether one of these statuses is that of a Pod of a class.
func reportsClass(reports map[string]types.UID, class string) bool {
	return slices.ContainsFunc(slices.Collect(maps.Keys(reports)), func(status string) bool {
		return strings.HasSuffix(status, "-"+namespace+"-"+class)
	})
}

// firstOf returns the first of the latest rotations that brought a Pod the present objects: another
// turn may have the same ones.
func (o *oracle) firstOf(all []rotation, pod *corev1.Pod, name string) rotation {
	first := latestRotation(all)
	given, _ := o.h.driver.Given(pod.UID, name)
	for _, r := range slices.Backward(all) {
		if given.Started >= r.turn || !maps.Equal(o.h.driver.Turn(name, r.turn), o.h.driver.Turn(name, first.turn)) {
			break
		}
		first = r
	}
	return first
}

// givenTo returns the rotations of a class that a Pod can have been given. With a turn that came and
// went before it was given it, other Pods may have reported a rotation.
func (o *oracle) givenTo(pod *corev1.Pod, name string) []rotation {
	all := o.classes.rotations[name]
	given, mounted := o.h.driver.Given(pod.UID, name)
	return slices.DeleteFunc(slices.Clone(all), func(r rotation) bool { return mounted && r.turn > given.Present })
}

// startedAfter reports whether a Pod had to wait before it started, and started after a time.
func startedAfter(pod *corev1.Pod, at time.Time) bool {
	return slices.ContainsFunc(pod.Status.ContainerStatuses, func(c corev1.ContainerStatus) bool {
		return c.State.Running != nil && c.State.Running.StartedAt.After(at)
	})
}
