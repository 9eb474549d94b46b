package controller

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/reroll-dev/reroll/test/simapi"
)

// The knowledge of the oracle about SecretProviderClasses.
//
// Terms: a turn is what Pods can get of a class from then on. The driver knows the turn with which
// each Pod has started. A rotation is the first write in which the status of a running Pod has a
// later turn than any such write before. The first turn of a Pod is not a rotation: a rotation
// proves that Pods run with another turn. A Pod is stale if it has started with an earlier turn
// than the latest rotation.
//
//  1. No change is lost. At rest, every Pod of a workload that mounts a covered class has started
//     with the turn of the latest rotation, or later. Every Pod of a workload that only names the
//     class was created after the rotation. Rotations that no controller had to act on are
//     excepted.
//  2. Nothing rolls without a rotation. Each rollout of ours without another source has a rotation
//     that the controller had been shown, and that no earlier rollout of ours had. The rotation is
//     later than the last rollout by any client and than the beginning of the cover, and the list
//     of Pods had a stale one. Only across a gap, the rotation may be earlier than the last
//     rollout.
//  3. A single rotation is one rollout at most: see judgeSingleRotation. Whether one is missing, the
//     first rule decides.

// classesTruth is the knowledge about all classes.
type classesTruth struct {
	// rotations has, by class, the turns that running Pods got.
	rotations map[string][]rotation
	covers    map[types.UID]map[string]*classCover
	// told has the content of each write of a status, by its version.
	told map[uint64]toldOfPod
	// shown has the rotations as the running controller was shown them: it may not have seen their
	// first write. reports has the Pods of the statuses that it knows, by the name of the status.
	// live is since when it has missed none.
	life    int
	shown   map[string][]rotation
	reports map[string]types.UID
	live    uint64
	// taken came with an incomplete snapshot.
	taken []toldOfPod
	// newest is the latest reported turn of a class. late is the version of the last status with an
	// earlier turn than a previous one, also in a snapshot.
	newest map[string]int
	late   map[string]uint64
	// makers has the Pods that statuses were created for, and owners their current Pods, by the
	// name of the status.
	makers, owners map[string]types.UID
	// over has the classes of statuses that replaced those of earlier Pods, if the running
	// controller was not shown the first write for the Pod. begun has those of which it was shown.
	// Both are by the name of the status.
	over  map[string]string
	begun map[string]types.UID
	back  backTruth
	parts partsLook
}

type rotation struct {
	turn, started int // the Pod had started with the latter
	from          int // the turn that the Pod had before
	version       uint64
	date          time.Time
	// reported is the latest turn in a status that was written before, of those that the controller
	// was shown.
	reported int
}

// toldOfPod is the content of a write of a status.
type toldOfPod struct {
	rotation
	status, class string
	pod           types.UID
	rotated, gone bool
	// over reports whether the status was created for an earlier Pod of this name, and first
	// whether this is the first write for this Pod.
	over, first bool
	// known reports whether the running controller had a report of the Pod before a snapshot.
	known bool
	// back reports whether an object has, for this Pod, the version that it had before the one that
	// the Pod had.
	back bool
}

// classCover is the knowledge about a workload and a class that it covers or has covered.
type classCover struct {
	covered bool
	// since is when the cover began, and first when it began for the first time. In a lapse it
	// ended.
	since, first uint64
	lapsed       bool
	ended        turn
	// adopted is from when on the controller has had time to record the class.
	adopted uint64
	// recorded is the turn of our last ledger that has the data, and carried that of our last rollout.
	// told and brought are the latest reported turns at these times.
	// tampered counts the changes of the ledger by other clients before our last write.
	recorded, carried, brought, told int
	tampered                         int
	// other reports whether our last rollout took other versions for its data than those of carried.
	other bool
	// unrolled reports whether our last ledger has a later turn than our last rollout.
	unrolled bool
	// late is the late status that our last rollout knew, and afterLate counts the rollouts that
	// knew it.
	late      uint64
	afterLate int
}

func newClassesTruth() *classesTruth {
	return &classesTruth{
		rotations: map[string][]rotation{}, covers: map[types.UID]map[string]*classCover{}, told: map[uint64]toldOfPod{},
		shown: map[string][]rotation{}, reports: map[string]types.UID{}, newest: map[string]int{}, late: map[string]uint64{},
		makers: map[string]types.UID{}, owners: map[string]types.UID{}, over: map[string]string{}, begun: map[string]types.UID{}, back: newBackTruth(), parts: newPartsLook(),
	}
}

func latestRotation(all []rotation) rotation {
	if len(all) == 0 {
		return rotation{turn: -1}
	}
	return all[len(all)-1]
}

// class receives every write of a class, or of a status.
func (o *oracle) class(resource string, e simapi.Event) {
	if resource == simapi.ClassResource {
		o.classObject(e)
		return
	}
	pod := e.Object.GetOwnerReferences()[0].UID
	t := toldOfPod{status: e.Object.GetName(), pod: pod, gone: e.Type == watch.Deleted, class: classOfStatus(e.Object)}
	given, _ := o.h.driver.Given(pod, t.class)
	t.rotation = rotation{turn: given.Present, started: given.Started, version: e.Version, date: e.Time}
	t.rotated = given.Present > given.Started
	o.classes.own(&t, e.Type)
	o.noteBack(&t)
	o.h.say("driver: %s %s at %d, turn %d %v, started with %d", e.Type, t.status, e.Version, given.Present, o.h.driver.Turn(t.class, given.Present), given.Started)
	o.classes.told[e.Version] = t
	if !t.gone && t.rotated && t.turn > latestRotation(o.classes.rotations[t.class]).turn {
		o.h.count("rotations")
		o.h.say("… which is a rotation of %s", t.class)
		o.classes.rotations[t.class] = append(o.classes.rotations[t.class], t.rotation)
	}
}

// own records the current and the first Pod of a status.
func (t *classesTruth) own(told *toldOfPod, what watch.EventType) {
	if what == watch.Added {
		t.makers[told.status] = told.pod
	}
	told.over, told.first = t.makers[told.status] != told.pod, t.owners[told.status] != told.pod
	t.owners[told.status] = told.pod
	if told.gone {
		delete(t.owners, told.status)
	}
}

// classObject receives every write of a class itself.
func (o *oracle) classObject(e simapi.Event) {
	src := simapi.Source{Resource: simapi.ClassResource, Name: e.Object.GetName()}
	if o.sources[src] == nil {
		o.sources[src] = &sourceTruth{}
	}
	s := o.sources[src]
	s.exists = e.Type != watch.Deleted
	o.h.say("user: %s %s at %d, which mounts %v, annotated %v", e.Type, src, e.Version, simapi.IDs(e.Object), words(e.Object.GetAnnotations()))
	if s.exists {
		o.sourceSays(src, s, e)
	} else if s.matches || s.ignored {
		s.matches, s.ignored, s.said = false, false, e.Version
		o.coverAll(turn{e.Version, bySource}, e.Version)
	}
}

// coverClasses computes which classes a workload covers.
func (o *oracle) coverClasses(w *workloadTruth, obj simapi.Object, at turn, from uint64) {
	if o.h.driver == nil {
		return
	}
	covers := o.classes.covers[w.uid]
	if covers == nil {
		covers = map[string]*classCover{}
		o.classes.covers[w.uid] = covers
	}
	for _, name := range classNames() {
		src, c := simapi.Source{Resource: simapi.ClassResource, Name: name}, covers[name]
		asks := o.sources[src] != nil && o.asksFor(obj, src, o.all)
		switch {
		case asks && c == nil:
			covers[name] = &classCover{covered: true, since: from, first: from, recorded: -1, carried: -1, brought: -1}
		case asks && !c.covered:
			c.covered, c.since = true, from
		case !asks && c != nil && c.covered:
			c.covered, c.lapsed, c.ended, c.adopted = false, true, at, 0
		}
	}
}

// forgetAdoption records that the ledger of a workload was removed or restored.
func (t *classesTruth) forgetAdoption(uid types.UID) {
	for _, c := range t.covers[uid] {
		c.adopted = 0
	}
}

// newLife forgets what the previous controller was shown.
func (t *classesTruth) newLife(life int) {
	if t.life != life {
		t.life, t.taken = life, nil
		clear(t.shown)
		clear(t.newest)
		clear(t.late)
		clear(t.reports)
		clear(t.over)
		clear(t.begun)
		t.back.backLook, t.parts = newBackLook(), newPartsLook()
	}
}

// cut drops the objects of an incomplete snapshot.
func (t *classesTruth) cut(resource string, life int) {
	t.newLife(life)
	if resource == simapi.StatusResource {
		t.taken, t.live = nil, never
	}
}

// classDelivered records an event that the controller is shown. The objects of a snapshot count when it
// is complete.
func (o *oracle) classDelivered(version uint64, live bool) {
	t := o.classes
	told, ok := t.told[version]
	switch {
	case !ok:
	case live:
		if told.first {
			t.begun[told.status] = told.pod
		}
		o.takeParts(&told, true)
		t.take(told)
	default:
		t.taken = append(t.taken, told)
	}
	o.forgetClasses()
}

// classesWhole records that a snapshot is complete.
func (o *oracle) classesWhole(resource string, version uint64) {
	defer o.forgetClasses()
	t := o.classes
	if resource != simapi.StatusResource {
		return
	}
	reported := maps.Clone(t.reports)
	clear(t.reports)
	clear(t.over)
	slices.SortFunc(t.taken, func(a, b toldOfPod) int { return cmp.Compare(a.version, b.version) })
	before := maps.Clone(t.late)
	for _, told := range t.taken {
		told.known = reported[told.status] == told.pod
		o.takeParts(&told, false)
		t.take(told)
	}
	for class, written := range t.late {
		if written != before[class] {
			t.late[class] = version // without the earlier writes, this one is misleading
		}
	}
	t.taken, t.live = nil, version
}

func (t *classesTruth) take(told toldOfPod) {
	delete(t.over, told.status)
	if told.back {
		t.back.returned[told.class] = told.version
	}
	if told.gone {
		delete(t.reports, told.status)
		return
	}
	t.reports[told.status] = told.pod
	if told.over && t.begun[told.status] != told.pod {
		t.over[told.status], t.back.replaced[told.class] = told.class, told.version
	}
	told.reported = t.newest[told.class]
	t.newest[told.class] = max(t.newest[told.class], told.turn)
	if told.turn < latestRotation(t.shown[told.class]).turn {
		t.late[told.class] = told.version
	}
	if told.rotated && told.turn > latestRotation(t.shown[told.class]).turn {
		t.shown[told.class] = append(t.shown[told.class], told.rotation)
	}
}
