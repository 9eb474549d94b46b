package report

import (
	"context"
	"hash/fnv"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"github.com/reroll-dev/reroll/internal/clientset"
)

const (
	normal  = corev1.EventTypeNormal
	warning = corev1.EventTypeWarning

	// maxNote is the maximum length of a text that the API server accepts.
	maxNote = 1024
	// publishers is how many events are published at the same time. Events about one object keep
	// their order.
	publishers = 4
	// maxPending bounds the events that wait for one publisher, so that a slow API server does not
	// fill the memory.
	maxPending = 2500
)

// The reasons of the events about reloads and rollouts; package notice has all others. They never
// change, because users filter by them.
const (
	reloadedReason = "Reloaded"
	// rolledReason means that no Pod from before the reload remains.
	rolledReason = "Rolled"
	// notRolledReason means that Pods were not replaced, for a reason that a user can often remove:
	// their rollout does not complete, or a client keeps reverting it.
	notRolledReason = "NotRolled"
	// revertedReason means that a mark was removed, and that the workload was rolled with another
	// mark.
	revertedReason   = "Reverted"
	reloadFailReason = "ReloadFail"
)

// Events publishes events in the background, one request each.
type Events struct {
	client   clientset.Interface
	clock    clock.Clock
	log      *slog.Logger
	instance string
	pending  [publishers]chan pendingEvent
	once     onceNames
	// failed is called for each event that was not published.
	failed func()
	// writing reports whether workloads are being written.
	writing func() bool
}

// pendingEvent is an event that was not published yet. Then is called once it was, or cannot be, but
// not if it has the name of an event that an earlier controller emitted.
type pendingEvent struct {
	*eventsv1.Event
	then func()
}

// NewEvents returns events that are published under the name of this replica.
func NewEvents(client clientset.Interface, c clock.Clock, log *slog.Logger, instance string) *Events {
	e := &Events{client: client, clock: c, log: log, instance: instance, failed: func() {}, writing: func() bool { return false }}
	for i := range e.pending {
		e.pending[i] = make(chan pendingEvent, maxPending)
	}
	return e
}

// GiveWayTo delays events while workloads are being written, as writing reports. Call it before
// Run.
func (e *Events) GiveWayTo(writing func() bool) { e.writing = writing }

// flush is how long events in flight, and events that still wait, may take at the end.
const flush = 5 * time.Second

// Run publishes until stop closes, and then the waiting events.
func (e *Events) Run(stop <-chan struct{}) {
	ctx, cancel := flushing(stop, flush)
	defer cancel()
	var running sync.WaitGroup
	for _, pending := range e.pending {
		running.Go(func() { e.publishAll(ctx, pending, stop) })
	}
	running.Wait()
}

// flushing returns a context that ends after flush when stop has closed.
func flushing(stop <-chan struct{}, flush time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		select {
		case <-stop:
			ending, done := context.WithTimeout(ctx, flush)
			defer done()
			<-ending.Done()
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

func (e *Events) publishAll(ctx context.Context, pending <-chan pendingEvent, stop <-chan struct{}) {
	for {
		select {
		case event := <-pending:
			e.giveWay(event, pending, stop)
			e.create(ctx, event)
		case <-stop:
			for {
				select {
				case event := <-pending:
					e.create(ctx, event)
				default:
					return
				}
			}
		}
	}
}

// maxEventDelay is the maximum time for which an event waits for writes, so that a write that hangs
// does not block events of other workloads.
const maxEventDelay = 10 * time.Second

// giveWay waits while workloads are being written, unless the event is old or so many wait that
// some could be dropped. An edit of a source that a thousand workloads use causes as many events,
// and the rollouts matter more to its user.
func (e *Events) giveWay(event pendingEvent, pending <-chan pendingEvent, stop <-chan struct{}) {
	const retryAfterWrites = 20 * time.Millisecond
	for e.writing() && e.clock.Since(event.EventTime.Time) < maxEventDelay && len(pending) < maxPending/2 {
		select {
		case <-stop:
			return
		case <-e.clock.After(retryAfterWrites):
		}
	}
}

// ReportingController is the controller name in our events.
const ReportingController = "reroll"

// create tries once, for a bounded time, because events about other objects wait behind one that
// hangs.
func (e *Events) create(ctx context.Context, event pendingEvent) {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	_, err := e.client.Events(event.Namespace).Create(ctx, event.Event, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return
	}
	if err != nil {
		e.failed()
		e.log.Warn("an event could not be emitted", "about", event.Regarding.Name, "namespace", event.Namespace, "reason", event.Reason, "error", err.Error())
	}
	event.then()
}

// publish emits an event about an object.
func (e *Events) publish(about corev1.ObjectReference, kind, reason, note string) {
	e.add(about, kind, reason, note, "", func() {})
}

// publishOnce emits an event, and calls a function then. Once identifies the event, so that
// controllers that follow each other emit it only once as long as it exists.
func (e *Events) publishOnce(about corev1.ObjectReference, kind, reason, note, once string, then func()) {
	e.add(about, kind, reason, note, e.once.name(about.UID, reason, once), then)
}

func (e *Events) add(about corev1.ObjectReference, kind, reason, note, name string, then func()) {
	now := e.clock.Now()
	namespace := about.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault // there the API server accepts events about namespaces
	}
	if name == "" {
		name = strconv.FormatInt(now.UnixNano(), 16) // unique by the time, like the names of other events
	}
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: eventName(about.Name, name), Namespace: namespace},
		EventTime:  metav1.NewMicroTime(now),
		Regarding:  about,
		Type:       kind, Reason: reason, Note: cut(OneLine(note)), Action: "Reload",
		ReportingController: ReportingController, ReportingInstance: e.instance,
	}
	select {
	case e.pending[publisherOf(about)] <- pendingEvent{event, then}:
	default:
		e.failed()
		e.log.Warn("an event was dropped: too many events are pending", "about", about.Kind+" "+about.Namespace+"/"+about.Name, "reason", reason)
		then()
	}
}

func publisherOf(about corev1.ObjectReference) uint32 {
	sum := fnv.New32a()
	_, _ = io.WriteString(sum, about.Kind+"/"+about.Namespace+"/"+about.Name)
	return sum.Sum32() % publishers
}

// eventName joins the name of an object and what makes the name of an event unique. Before its dot
// there must be a letter or a digit.
func eventName(about, unique string) string {
	const longest = 200
	return strings.TrimRight(about[:min(len(about), longest)], "-.") + "." + unique
}

func cut(note string) string { return cutTo(note, maxNote) }

func cutTo(note string, most int) string {
	if len(note) <= most {
		return note
	}
	end := most - len("…")
	// Do not cut within a character.
	for end > 0 && note[end]&0xC0 == 0x80 {
		end--
	}
	return note[:end] + "…"
}
