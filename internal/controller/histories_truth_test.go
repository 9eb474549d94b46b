package controller

import (
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

type sourceTruth struct {
	exists  bool
	content string
	created time.Time
	// deleted is when it was last deleted, and made when it was last created.
	deleted, made uint64
	// dates are, by version, the time that the API shows for the content after each write.
	dates []dated
	// comings are when it was made, and goings when it was deleted.
	comings, goings []uint64
	first           string // content
	changes         []change
	// withoutIt are the workloads of which all pods ran when it was last made.
	withoutIt map[types.UID]bool
	// written are the seconds in which it was written, as far as the API noted them.
	written []time.Time
	// What it says about whom it concerns.
	matches, ignored, selected bool
}

type dated struct {
	version uint64
	date    time.Time
	// proven reports whether who owns the data in that time owns nothing else, so that the data seems to have been written then. It
	// misleads where it was not: who applies gets another time by taking a label away, and who loses a label to somebody else
	// keeps the time of that.
	proven, misleads bool
}

type change struct {
	version uint64
	// date is when the content changed, in seconds as the API has it; zero if the API shows nothing of it.
	date time.Time
	// content is what it was changed to.
	content string
	// deleted is when the source was deleted before it came back with other content, 0 for every other change.
	deleted uint64
	// instant is true for one within the second in which the source was made.
	instant bool
	// proven reports whether its date is that of data.
	proven bool
}

type workloadTruth struct {
	uid  types.UID
	name string
	// covered is since when a source is, and first since when it has been apart from lapses: what changed in a lapse
	// may be acted upon, and need not.
	covered, first map[simapi.Source]uint64
	// may is since when a source is covered, or would be if the controller that is to opt everything in had seen everything.
	may map[simapi.Source]turn
	// adopted is from when on the controller has had time to note the content of a source since the cover began.
	adopted map[simapi.Source]uint64
	// began is how first began, and ended is how the cover of what is not covered any more ended.
	began   map[simapi.Source]turn
	ended   map[simapi.Source]turn
	created uint64
	// foreign is the last rollout by somebody else; the creation is the first.
	foreign uint64
	// calm is when its status last told that no rollout was under way, and before is what that was at the last rollout
	// by somebody else. Recent are the templates since then, and returned tells that this rollout brought one of
	// them back, so that there could be pods of it still.
	calm, before uint64
	recent       []*corev1.PodTemplateSpec
	returned     bool
	// carried is, by source, up to which version our rollouts were made with its content.
	carried map[simapi.Source]uint64
	// noted is the newest date of what the controller had been shown when it wrote last.
	noted time.Time
	// wrote is, by source, which version the controller had been shown of it when it wrote last.
	wrote map[simapi.Source]uint64
	// overwritten are changes that left no time, and before which there was one that nobody had acted upon.
	overwritten map[simapi.Source]uint64
	reloads     []uint64
	// named are the sources that were there when the controller wrote last, and missed up to when they were known not to
	// be when it rolled last.
	named  map[simapi.Source]bool
	missed map[simapi.Source]uint64
	// unnamed are, for sources that were not there before, the versions with which the controller wrote first.
	unnamed map[simapi.Source]uint64
	// made is when it was created, and written the version in which a user wrote it last, where that matters.
	made    time.Time
	written uint64
	// askedShown is, by source, since when it was covered as the API showed it when the controller wrote without a ledger.
	askedShown map[simapi.Source]time.Time
	// labeled is, by source, the version of it that the controller was shown when it wrote, if the time of that was later than all it
	// had noted before, and earlier than that of the pods.
	labeled map[simapi.Source]uint64
	// forgotten are the sources of which the ledger may not tell any more what was carried. Who saw it happen must know;
	// who starts later cannot.
	forgotten map[simapi.Source]bool
	// unreadable are the Secrets whose digest in the ledger was made with a key that is lost.
	unreadable map[simapi.Source]bool
	// tampered counts how often somebody else changed the ledger.
	tampered int
	// again reports whether our last rollout came with nothing that the one before had not come with.
	again bool
	// pausedAt is when our last reload that paused it took effect.
	pausedAt time.Time
	// waited reports whether pods of it waited for a source at the last rest. They start with what there is when that comes.
	waited bool
}

// turn is what began or ended a cover.
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

// undone reports whether somebody else rolled it after we did.
func (w *workloadTruth) undone() bool {
	return len(w.reloads) > 0 && w.foreign > w.reloads[len(w.reloads)-1]
}

func (w *workloadTruth) forget(list ...simapi.Source) {
	for _, src := range list {
		w.forgotten[src] = true
	}
}

// observe takes every write.
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

// newTruth is what is known of a workload that was just created.
func newTruth(obj simapi.Object, version uint64) *workloadTruth {
	return &workloadTruth{
		uid: obj.GetUID(), name: obj.GetName(), created: version, foreign: version,
		may: map[simapi.Source]turn{}, began: map[simapi.Source]turn{}, ended: map[simapi.Source]turn{},
		covered: map[simapi.Source]uint64{}, first: map[simapi.Source]uint64{}, adopted: map[simapi.Source]uint64{}, carried: map[simapi.Source]uint64{}, forgotten: map[simapi.Source]bool{}, wrote: map[simapi.Source]uint64{}, overwritten: map[simapi.Source]uint64{},
		unreadable: map[simapi.Source]bool{}, named: map[simapi.Source]bool{}, missed: map[simapi.Source]uint64{}, unnamed: map[simapi.Source]uint64{}, made: obj.GetCreationTimestamp().Time,
		askedShown: map[simapi.Source]time.Time{}, labeled: map[simapi.Source]uint64{},
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
		w.foreign, w.before = e.Version, w.calm
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
		clear(w.adopted)
		w.forget(sources()...)
	}
	if tellsRest(e.Object) {
		w.calm, w.recent = e.Version, nil
	}
	w.recent = append(w.recent, templateOf(e.Object))
	o.cover(w, e.Object, turn{e.Version, byWorkload}, e.Version)
}

// coverAll works out anew what is covered, from a version on. Whether a rollout is for a change is asked from the turn on.
func (o *oracle) coverAll(at turn, from uint64) {
	for _, obj := range o.h.workloads() {
		o.cover(o.workloads[obj.GetUID()], obj, at, from)
	}
}

func (o *oracle) cover(w *workloadTruth, obj simapi.Object, at turn, from uint64) {
	for _, src := range sources() {
		asks := o.asksFor(obj, src, o.all)
		if !asks && (o.allFrom == 0 || !o.asksFor(obj, src, true)) {
			delete(w.may, src)
		} else if _, might := w.may[src]; !might {
			w.may[src] = at
		}
		switch _, was := w.covered[src]; {
		case !asks:
			if was {
				w.ended[src] = at
			}
			delete(w.covered, src)
			delete(w.adopted, src)
			w.forget(src)
		case !was:
			w.covered[src] = from
			if _, before := w.first[src]; !before {
				w.first[src], w.began[src] = w.may[src].version, w.may[src]
			}
		}
	}
	o.coverClasses(w, obj, at, from)
}

// tellsRest reads a status as its documentation says.
func tellsRest(obj simapi.Object) bool {
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return o.Status.ObservedGeneration == o.Generation && o.Status.UpdatedReplicas == o.Status.Replicas
	case *appsv1.StatefulSet:
		return o.Status.ObservedGeneration == o.Generation && o.Status.UpdatedReplicas == o.Status.Replicas
	case *appsv1.DaemonSet:
		return o.Status.ObservedGeneration == o.Generation && o.Status.UpdatedNumberScheduled == o.Status.CurrentNumberScheduled
	default:
		return false
	}
}

// away is the version in which the content that is there again had left, and back the one in which it came back; 0 if it
// was never there before.
func (s *sourceTruth) away() (away, back uint64) {
	before := s.first
	for _, c := range s.changes {
		if before == s.content {
			away = c.version
		}
		if before != s.content && c.content == s.content {
			back = c.version
		}
		before = c.content
	}
	return away, back
}

// bringsNews reports whether a rollout of ours comes with a content that none had come with.
func (o *oracle) bringsNews(w *workloadTruth, l *look) bool {
	for src := range w.covered {
		for _, c := range o.sources[src].changes {
			if c.version > w.carried[src] && c.version <= l.known[src] {
				return true
			}
		}
	}
	return false
}

// ours takes a write of the controller.
func (o *oracle) ours(w *workloadTruth, e simapi.Event, rolled bool) {
	l := o.h.landing.look
	l.wrote = true
	if rolled {
		o.h.count("reloads")
		o.h.say("reload of %s lands at %d", w.name, e.Version)
		why, ok := o.why(w, l)
		if !ok {
			o.fail("%s was rolled at version %d without a change since its last rollout: %s", w.name, e.Version, why)
		}
		w.reloads = append(w.reloads, e.Version)
		w.again = !o.bringsNews(w, l)
		for src := range w.covered {
			w.carried[src] = max(w.carried[src], l.known[src])
		}
		w.miss(l)
	} else {
		o.h.say("ledger of %s lands at %d", w.name, e.Version)
	}
	o.carryClasses(w, l, rolled)
	w.note(l)
	o.noteShown(w, l, e.Old)
	for src := range w.covered {
		w.wrote[src] = l.known[src]
		if _, known := l.known[src]; known {
			delete(w.forgotten, src)
			delete(w.unreadable, src)
		}
		if date := o.sources[src].dateAt(l.known[src]); date.After(w.noted) {
			w.noted = date
		}
	}
}

// words are annotations or labels as a trace shows them.
func words(values map[string]string) []string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if key != annotations.Ledger {
			words = append(words, key+"="+values[key])
		}
	}
	return words
}
