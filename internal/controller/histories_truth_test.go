package controller

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

type sourceTruth struct {
	exists  bool
	content string
	created time.Time
	// deleted is when it was last deleted, made when it was last created, and said when its annotations
	// or labels last changed about which workloads it concerns.
	deleted, made, said uint64
	// dates has, by version, the time that the API shows for the data after each write.
	dates []dated
	// comings are its creations, and goings its deletions.
	comings, goings []uint64
	first           string // data
	changes         []change
	// withoutIt are the workloads whose Pods were all running when it was last created.
	withoutIt map[types.UID]bool
	// written are the seconds in which it was written, as far as the API recorded them.
	written []time.Time
	// The annotations about which workloads it concerns.
	matches, ignored, selected bool
	plugins                    string // a label
	// relabeled is when any label was last written, as the API shows it.
	relabeled time.Time
}

type change struct {
	version uint64
	// date is when the data changed, in seconds as the API shows it, or zero if it shows nothing.
	date time.Time
	// content is the new data.
	content string
	// deleted is when the source was deleted, if the change is a recreation with other data.
	deleted uint64
	// instant reports whether the change was in the second in which the source was created, and proven
	// whether its date is that of data.
	instant, proven bool
}

type workloadTruth struct {
	uid  types.UID
	name string
	// covered is since when a source is covered, and first since when it has been covered apart
	// from lapses: the controller may act on changes in a lapse, but need not.
	covered, first map[simapi.Source]uint64
	// early has the versions of sources in a ledger of ours from before they were first covered.
	early map[simapi.Source]uint64
	// may is since when a controller may act: with --auto-reload-all, since its start.
	may map[simapi.Source]turn
	// adopted is from when on the controller has had time to record the data of a covered source.
	adopted map[simapi.Source]uint64
	// began is how first began, and ended is how a former cover ended.
	began, ended map[simapi.Source]turn
	created      uint64
	// foreign is the last rollout by another client. The creation is the first one. foreigns are all
	// later ones.
	foreign  uint64
	foreigns []uint64
	// calm is when its status last showed a complete rollout, and before is the value of calm at
	// the last rollout by another client. recent has the templates since then. returned reports
	// whether this rollout restored one of them, so that Pods of it may exist.
	calm, before uint64
	recent       []*corev1.PodTemplateSpec
	returned     bool
	// carried has, by source, the version up to which our rollouts were made with its data, and wrote the
	// version that the controller had been shown when it wrote last.
	carried, wrote map[simapi.Source]uint64
	// noted is the newest date of the data that the controller had been shown when it wrote last.
	noted time.Time
	// overwritten are changes that left no time, after a change that no controller had acted on.
	overwritten map[simapi.Source]uint64
	reloads     []uint64
	// forClasses counts those since the last rest that may be for a class, and forPast those of them
	// that are for no rotation that was shown, and are excused.
	forClasses, forPast int
	// named are the sources that existed when the controller wrote last. missed has the versions up
	// to which they were known not to exist when it rolled last.
	named  map[simapi.Source]bool
	missed map[simapi.Source]uint64
	// mayName are those that were deleted when a controller might already cover them, and need not yet.
	mayName map[simapi.Source]bool
	// goneNoted reports whether a ledger notes that a source is gone, whose data it has.
	goneNoted map[simapi.Source]bool
	// unnamed has the versions of new sources with which the controller wrote first.
	unnamed map[simapi.Source]uint64
	// ready is the version in which its status first counted an available Pod, or 0.
	ready uint64
	// made is when it was created, and written the version of the last relevant write of a user.
	made    time.Time
	written uint64
	// askedShown has the beginnings of covers that the API showed at a write without a ledger.
	askedShown map[simapi.Source]time.Time
	// labeled has, by source, the version that the controller was shown when it wrote, if the time
	// of that version was later than all recorded times, and earlier than the time of the Pods.
	labeled map[simapi.Source]uint64
	// forgotten are the sources whose carried data the ledger may have lost, or lacks: see
	// noteRecorded. A controller that saw that must know the data. One that starts later cannot know it.
	forgotten map[simapi.Source]bool
	anew      map[simapi.Source]uint64 // their versions in the first ledger of such a controller
	// unreadable are the Secrets whose digest in the ledger was made with a lost key.
	unreadable map[simapi.Source]bool
	// dropped has the version of the last ledger of ours without a former source.
	dropped map[simapi.Source]uint64
	// tampered counts the changes of the ledger by other clients, and accepted those before our last
	// write. tamperedIn is the version of the last one, or of a later ledger of ours that lacks a source.
	tampered, accepted int
	tamperedIn         uint64
	// putBack has the sources whose data in our last ledger was replaced by that in an earlier one, which
	// another client put back, with the data time of that ledger.
	putBack map[simapi.Source]int64
	// again reports whether our last rollout brought nothing new after the one before. lower reports
	// whether any of them did so because the one before was undone: later ones have that form of mark,
	// too. annotated reports whether the last one was marked by the annotation.
	again, lower, annotated bool
	// moves are by source. reselected is when what selects sources changed since our last write, and
	// reselectedAt when it last changed.
	moves        map[simapi.Source]*moves
	reselected   uint64
	reselectedAt time.Time
	// pausedAt is when our last reload that paused it took effect.
	pausedAt time.Time
	// owed are the sources for which a reload began to wait, and that no ledger of ours has recorded
	// since. owedGone are those that did not exist then.
	owed, owedGone map[simapi.Source]bool
	// waitsFor has, by source, the version for which a ledger of ours has shown that a reload waits.
	waitsFor map[simapi.Source]uint64
	// waitsOver is the data time of the ledger with which the data was compared when the reload began to
	// wait.
	waitsOver int64
	// waits reports whether our last ledger shows that a reload waits for a gate.
	waits bool
	// waited reports whether its Pods waited for a source at the last rest, and start with its
	// data.
	waited bool
}

// turn is the event that began or ended a cover.
type turn struct {
	version uint64
	by      turnBy
}

type turnBy uint8

const (
	byWorkload turnBy = iota
	bySource
	byStart
	byNamespace
)

// undone reports whether another client rolled it after our rollout.
func (w *workloadTruth) undone() bool {
	return len(w.reloads) > 0 && w.foreign > w.reloads[len(w.reloads)-1]
}

func (w *workloadTruth) forget(list ...simapi.Source) {
	for _, src := range list {
		w.forgotten[src] = true
		delete(w.waitsFor, src)
	}
}

// observe receives every write.
func (o *oracle) observe(e simapi.Event) {
	switch resource := simapi.ResourceOf(e.Object); resource {
	case "configmaps", "secrets":
		o.source(simapi.Source{Resource: resource, Name: e.Object.GetName()}, e)
	case "namespaces":
		o.namespace(e)
	case simapi.ClassResource, simapi.StatusResource:
		o.class(resource, e)
	case "deployments", "statefulsets", "daemonsets":
		o.workload(e)
	case "jobs":
		if o.h.kind == cronJobKind {
			o.cronRun(e)
		} else {
			o.job(e)
		}
	case "cronjobs":
		o.cronJob(e)
	case "pods":
		if e.Type == watch.Added {
			o.podMade[e.Object.GetUID()] = e.Version
		} else if o.h.kind == cronJobKind {
			o.podOfRun(e.Object.(*corev1.Pod), e.Version)
		}
	}
}

// newTruth returns the truth about a new workload.
func newTruth(obj simapi.Object, version uint64) *workloadTruth {
	return &workloadTruth{
		uid: obj.GetUID(), name: obj.GetName(), created: version, foreign: version,
		may: map[simapi.Source]turn{}, began: map[simapi.Source]turn{}, ended: map[simapi.Source]turn{},
		covered: map[simapi.Source]uint64{}, first: map[simapi.Source]uint64{}, early: map[simapi.Source]uint64{}, adopted: map[simapi.Source]uint64{}, carried: map[simapi.Source]uint64{}, forgotten: map[simapi.Source]bool{}, anew: map[simapi.Source]uint64{}, wrote: map[simapi.Source]uint64{}, overwritten: map[simapi.Source]uint64{},
		unreadable: map[simapi.Source]bool{}, named: map[simapi.Source]bool{}, mayName: map[simapi.Source]bool{}, missed: map[simapi.Source]uint64{}, unnamed: map[simapi.Source]uint64{}, goneNoted: map[simapi.Source]bool{}, made: obj.GetCreationTimestamp().Time,
		askedShown: map[simapi.Source]time.Time{}, labeled: map[simapi.Source]uint64{}, dropped: map[simapi.Source]uint64{},
		owed: map[simapi.Source]bool{}, owedGone: map[simapi.Source]bool{}, waitsFor: map[simapi.Source]uint64{}, putBack: map[simapi.Source]int64{}, moves: map[simapi.Source]*moves{},
	}
}

func (o *oracle) workload(e simapi.Event) {
	uid := e.Object.GetUID()
	if e.Type == watch.Deleted {
		delete(o.workloads, uid)
		o.h.say("user: %s deleted", e.Object.GetName())
		return
	}
	w := o.workloads[uid]
	if w == nil {
		w = newTruth(e.Object, e.Version)
		o.workloads[uid] = w
	}
	rolled := e.Old != nil && e.Old.GetGeneration() != e.Object.GetGeneration() && !equality.Semantic.DeepEqual(templateOf(e.Old), templateOf(e.Object))
	switch {
	case e.Manager == workload.FieldManager && !rolled && !changesLedger(e):
		o.resumed(w, e)
	case e.Manager == workload.FieldManager:
		o.ours(w, e, rolled)
		o.heldStill(w, e, rolled)
	case rolled:
		o.h.say("user: rolls %s at %d", w.name, e.Version)
		w.foreign, w.foreigns, w.before = e.Version, append(w.foreigns, e.Version), w.calm
		w.returned = slices.ContainsFunc(w.recent, func(t *corev1.PodTemplateSpec) bool {
			return equality.Semantic.DeepEqual(t, templateOf(e.Object))
		})
	case e.Old != nil && maps.Equal(e.Old.GetAnnotations(), e.Object.GetAnnotations()):
		o.h.say("user: writes %s at %d", w.name, e.Version)
	default:
		o.h.say("user: writes %s at %d, which is annotated %v now", w.name, e.Version, words(e.Object.GetAnnotations()))
	}
	if e.Old != nil && e.Manager != workload.FieldManager && changesLedger(e) {
		o.h.say("user: changes the ledger of %s", w.name)
		w.tampered++
		w.tamperedIn = e.Version
		w.notePutBack(e)
		clear(w.adopted)
		w.forget(sources()...)
		o.classes.forgetAdoption(uid)
	}
	if w.ready == 0 && countsReady(e.Object) {
		w.ready = e.Version
	}
	if tellsRest(e.Object) {
		w.calm, w.recent = e.Version, nil
	}
	w.recent = append(w.recent, templateOf(e.Object))
	o.reselects(w, e)
	o.cover(w, e.Object, turn{e.Version, byWorkload}, e.Version)
}

// coverAll computes the covers from a version on, and records the turn of each new one.
func (o *oracle) coverAll(at turn, from uint64) {
	for _, obj := range o.h.workloads() {
		o.cover(o.workloads[obj.GetUID()], obj, at, from)
	}
}

func (o *oracle) cover(w *workloadTruth, obj simapi.Object, at turn, from uint64) {
	for _, src := range sources() {
		asks := o.asksFor(obj, src, o.all)
		_, might := w.may[src]
		if !asks && (o.mayFrom == 0 || !o.asksFor(obj, src, true)) {
			delete(w.may, src)
		} else if !might {
			w.may[src] = at
			if _, before := w.first[src]; !before {
				w.first[src], w.began[src] = at.version, at
			}
		}
		switch _, was := w.covered[src]; {
		case !asks:
			if was || might {
				w.ended[src] = at
			}
			delete(w.covered, src)
			delete(w.adopted, src)
			w.forget(src)
		case !was:
			w.covered[src] = from
		}
	}
	o.coverClasses(w, obj, at, from)
}

// ours receives a write of the controller.
func (o *oracle) ours(w *workloadTruth, e simapi.Event, rolled bool) {
	l := o.h.landing.look
	l.wrote = true
	if rolled {
		o.h.count("reloads")
		o.h.say("reload of %s lands at %d", w.name, e.Version)
		why, ok := o.why(w, l)
		if !ok && !w.waits {
			o.fail("%s was rolled at version %d without a change since its last rollout: %s", w.name, e.Version, why)
		}
		w.again = !o.bringsNews(w, l)
		w.lower, w.annotated = w.lower || w.again && w.undone(), annotates(e)
		w.reloads, w.waits, w.accepted = append(w.reloads, e.Version), false, w.tampered
		for src := range w.covered {
			w.carried[src] = max(w.carried[src], l.known[src])
		}
		w.miss(l)
		for src, m := range w.moves {
			m.rolled = max(m.rolled, l.known[src])
		}
	} else {
		o.h.say("ledger of %s lands at %d", w.name, e.Version)
		o.waits(w, e, l)
		if w.waits {
			return // it records no data
		}
	}
	o.carryClasses(w, l, rolled)
	o.note(w, l)
	o.noteShown(w, l, e.Old)
	for src := range w.ended {
		if _, covered := w.covered[src]; !covered {
			w.dropped[src] = e.Version
			w.noteLabel(src, l)
		}
	}
	o.noteRecorded(w, l, e.Version)
	o.noteDates(w, l)
	o.noteEarly(w, l, e.Object)
}
