package controller

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/reroll-dev/reroll/test/simapi"
)

// What the oracle knows of SecretProviderClasses.
//
// Words: a turn is what pods can be given of a class from then on, and the driver knows with which turn each pod has started. A
// rotation is the first write in which the status of a pod that runs says a later turn than any such write before. What a pod starts
// with is none: only from then on it is known that there are pods which run with something else. A pod is stale if it has started
// with an earlier turn than the latest rotation.
//
//  1. No change is lost. At rest, every pod of a workload that covers a class has started with what the latest rotation has brought,
//     or has started later. One of a workload that only names the class was made after it. Excepted is what nobody asked to act upon.
//  2. Nothing rolls without a rotation. Each rollout of ours that has no other source for its reason has a rotation that the
//     controller had been shown, that no earlier rollout of ours was made with, that is later than the last rollout by anybody and
//     than the beginning of the cover, and for which the list of its pods had a stale one. Only across a gap, when no order was
//     seen, may the rotation be earlier than the last rollout.
//  3. A single rotation is one rollout: see judgeSingleRotation.

// classesTruth is what is known of all classes.
type classesTruth struct {
	// rotations are, by class, what pods were given while they ran.
	rotations map[string][]rotation
	covers    map[types.UID]map[string]*classCover
	// told is what each write of a status says, by its version.
	told map[uint64]toldOfPod
	// shown are the rotations as the controller of this life was shown them: it may not have seen the first write of one. Reports are
	// the pods of which it has a status, by the name of that, and live is since when it has missed none.
	life    int
	shown   map[string][]rotation
	reports map[string]types.UID
	live    uint64
	// taken came with a snapshot that is not whole.
	taken []toldOfPod
	// newest is the latest turn of a class that anything told, and late the version in which a status that says an earlier turn than
	// one before was last written, or came with a snapshot.
	newest map[string]int
	late   map[string]uint64
	// makers are the pods for which statuses were made, and owners those that they are of, by the name of the status.
	makers, owners map[string]types.UID
	// over are the classes of statuses that stand over those of earlier pods, as far as the controller of this life was not shown the
	// first write for the pod, and begun those of which it was. Both are by the name of the status.
	over  map[string]string
	begun map[string]types.UID
}

type rotation struct {
	turn    int
	version uint64
	date    time.Time
}

// toldOfPod is what a write of a status says.
type toldOfPod struct {
	rotation
	status, class string
	pod           types.UID
	rotated, gone bool
	// over reports whether the status was made for an earlier pod of the name, and first that it is the first write for this one.
	over, first bool
}

// classCover is what is known of a workload and a class that it covers or has covered.
type classCover struct {
	covered bool
	// since is when the cover began, and first when it began first. In a lapse it ended.
	since, first uint64
	lapsed       bool
	ended        turn
	// adopted is from when on the controller has had time to note what the class is.
	adopted uint64
	// carried is the turn with which our last rollout was made, brought the latest that anything had told then, and tampered how often
	// somebody had changed the ledger when we wrote last.
	carried, brought int
	tampered         int
}

// classLook is what a controller knew of classes when it began to look at a workload, and of pods when it asked for them.
type classLook struct {
	shown   map[string][]rotation
	reports map[string]types.UID
	liveAt  uint64
	newest  map[string]int
	late    map[string]uint64
	over    map[string]string
	// stale tells, by class, that a stale pod was found, untold that one was found of which no status was known, and over that the
	// status of one was written over that of an earlier pod, unseen. Back tells that one has started with what there was before.
	stale, untold, overEarlier, back map[string]bool
}

func newClassesTruth() *classesTruth {
	return &classesTruth{
		rotations: map[string][]rotation{}, covers: map[types.UID]map[string]*classCover{}, told: map[uint64]toldOfPod{},
		shown: map[string][]rotation{}, reports: map[string]types.UID{}, newest: map[string]int{}, late: map[string]uint64{},
		makers: map[string]types.UID{}, owners: map[string]types.UID{}, over: map[string]string{}, begun: map[string]types.UID{},
	}
}

func latestRotation(all []rotation) rotation {
	if len(all) == 0 {
		return rotation{turn: -1}
	}
	return all[len(all)-1]
}

// class takes every write of a class, or of a status.
func (o *oracle) class(resource string, e simapi.Event) {
	if resource == simapi.ClassResource {
		o.classObject(e)
		return
	}
	pod := e.Object.GetOwnerReferences()[0].UID
	t := toldOfPod{status: e.Object.GetName(), pod: pod, gone: e.Type == watch.Deleted, class: classOfStatus(e.Object)}
	given, _ := o.h.driver.Given(pod, t.class)
	t.rotation = rotation{given.Present, e.Version, e.Time}
	t.rotated = given.Present > given.Started
	o.classes.own(&t, e.Type)
	o.h.say("driver: %s %s at %d, turn %d %v, started with %d", e.Type, t.status, e.Version, given.Present, o.h.driver.Turn(t.class, given.Present), given.Started)
	o.classes.told[e.Version] = t
	if !t.gone && t.rotated && t.turn > latestRotation(o.classes.rotations[t.class]).turn {
		o.h.count("rotations")
		o.h.say("… which is a rotation of %s", t.class)
		o.classes.rotations[t.class] = append(o.classes.rotations[t.class], t.rotation)
	}
}

// own notes whose status it is, and whose it was.
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

// classObject takes every write of a class itself.
func (o *oracle) classObject(e simapi.Event) {
	src := simapi.Source{Resource: simapi.ClassResource, Name: e.Object.GetName()}
	if o.sources[src] == nil {
		o.sources[src] = &sourceTruth{}
	}
	s := o.sources[src]
	s.exists = e.Type != watch.Deleted
	o.h.say("user: %s %s at %d, which mounts %v, annotated %v", e.Type, src, e.Version, simapi.IDs(e.Object), words(e.Object.GetAnnotations()))
	if s.exists {
		o.sourceSays(s, e)
	} else if s.matches || s.ignored {
		s.matches, s.ignored = false, false
		o.coverAll(turn{e.Version, bySource}, e.Version)
	}
}

// coverClasses works out anew which classes a workload covers.
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
			covers[name] = &classCover{covered: true, since: from, first: from, carried: -1, brought: -1}
		case asks && !c.covered:
			c.covered, c.since = true, from
		case !asks && c != nil && c.covered:
			c.covered, c.lapsed, c.ended, c.adopted = false, true, at, 0
		}
	}
}

// newLife forgets what the controller before was shown.
func (t *classesTruth) newLife(life int) {
	if t.life != life {
		t.life, t.taken = life, nil
		clear(t.shown)
		clear(t.newest)
		clear(t.late)
		clear(t.reports)
		clear(t.over)
		clear(t.begun)
	}
}

// cut forgets what came with a snapshot before it was whole.
func (t *classesTruth) cut(resource string, life int) {
	t.newLife(life)
	if resource == simapi.StatusResource {
		t.taken, t.live = nil, never
	}
}

// delivered notes what the controller is shown. What comes with a snapshot counts when that is whole.
func (t *classesTruth) delivered(version uint64, live bool) {
	told, ok := t.told[version]
	switch {
	case !ok:
	case live:
		if told.first {
			t.begun[told.status] = told.pod
		}
		t.take(told)
	default:
		t.taken = append(t.taken, told)
	}
}

// whole notes that a snapshot is.
func (t *classesTruth) whole(resource string, version uint64) {
	if resource != simapi.StatusResource {
		return
	}
	clear(t.reports)
	clear(t.over)
	slices.SortFunc(t.taken, func(a, b toldOfPod) int { return cmp.Compare(a.version, b.version) })
	before := maps.Clone(t.late)
	for _, told := range t.taken {
		t.take(told)
	}
	for class, written := range t.late {
		if written != before[class] {
			t.late[class] = version // who has not seen what came before is misled now
		}
	}
	t.taken, t.live = nil, version
}

func (t *classesTruth) take(told toldOfPod) {
	delete(t.over, told.status)
	if told.gone {
		delete(t.reports, told.status)
		return
	}
	t.reports[told.status] = told.pod
	if told.over && t.begun[told.status] != told.pod {
		t.over[told.status] = told.class
	}
	t.newest[told.class] = max(t.newest[told.class], told.turn)
	if told.turn < latestRotation(t.shown[told.class]).turn {
		t.late[told.class] = told.version
	}
	if told.rotated && told.turn > latestRotation(t.shown[told.class]).turn {
		t.shown[told.class] = append(t.shown[told.class], told.rotation)
	}
}

// look is what the running controller knows.
func (t *classesTruth) look(life int) classLook {
	t.newLife(life)
	return classLook{
		shown: maps.Clone(t.shown), reports: maps.Clone(t.reports), liveAt: t.live, newest: maps.Clone(t.newest), late: maps.Clone(t.late),
		over: maps.Clone(t.over), stale: map[string]bool{}, untold: map[string]bool{}, overEarlier: map[string]bool{}, back: map[string]bool{},
	}
}

// classesAsked notes what the pods that a controller was shown have of the classes that it knows.
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
				l.back[name] = l.back[name] || o.wentBack(name, given.Started)
			}
		}
	}
}

// wentBack reports whether an object came with a turn to be what it was before another turn.
func (o *oracle) wentBack(name string, last int) bool {
	for _, id := range classObjects() {
		had, left := map[string]bool{}, map[string]bool{}
		for turn := range last {
			version := o.h.driver.Turn(name, turn)[id]
			for before := range had {
				left[before] = left[before] || before != version
			}
			had[version] = true
		}
		if version := o.h.driver.Turn(name, last)[id]; left[version] {
			return true
		}
	}
	return false
}

// carryClasses takes a write of ours.
func (o *oracle) carryClasses(w *workloadTruth, l *look, rolled bool) {
	for name, c := range o.classes.covers[w.uid] {
		if c.covered {
			c.tampered, c.lapsed = w.tampered, false
			if rolled {
				c.carried = max(c.carried, latestRotation(l.shown[name]).turn)
				c.brought = max(c.brought, l.newest[name])
			}
		}
	}
}

func mounts(pod *corev1.Pod, class string) bool {
	return slices.Contains(simapi.Mounts(&pod.Spec), class)
}
