package intake

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
)

// script is an API server that answers one request after the other with what it was given, and the
// Handler of the feed that asks. Both write down what happens, in one transcript. When the answers are
// used up, it answers no more.
type script struct {
	t       *testing.T
	answers []answer
	began   time.Time
	lines   []string
	at      []time.Duration // of each line
	limits  []int64         // of each page
	changes []string        // what each object was put as
}

type answer func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, runtime.Object, error)

// play runs a feed on a script for a while, in a bubble with a clock of its own: an hour takes no
// time. The bubble also fails the test if anything that the feed began is still running when it has
// ended, and so does a watch not stopped.
func play(t *testing.T, lasts time.Duration, answers ...answer) *script {
	t.Helper()
	var s *script
	synctest.Test(t, func(t *testing.T) {
		s = &script{t: t, answers: answers, began: time.Now()}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.feed(clock.RealClock{}).Run(ctx)
		}()
		time.Sleep(lasts)
		cancel()
		cancelled := time.Now()
		<-ended
		if took := time.Since(cancelled); took != 0 {
			t.Errorf("it ended %s after its context", took)
		}
	})
	return s
}

func (s *script) feed(c clock.Clock) *Feed {
	return &Feed{Open: s, Handler: s, Clock: c, Failed: func(err error) { s.note("failed: " + err.Error()) }}
}

func (s *script) note(line string) {
	s.lines = append(s.lines, line)
	s.at = append(s.at, time.Since(s.began))
}

func (s *script) next(ctx context.Context, opts metav1.ListOptions) (watch.Interface, runtime.Object, error) {
	if len(s.answers) == 0 {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	}
	next := s.answers[0]
	s.answers = s.answers[1:]
	return next(ctx, opts)
}

func (s *script) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	line := "watch"
	if opts.SendInitialEvents != nil {
		line = "stream"
	}
	if streams := opts.SendInitialEvents != nil && *opts.SendInitialEvents; streams != (opts.ResourceVersionMatch == metav1.ResourceVersionMatchNotOlderThan) {
		s.t.Errorf("no API server accepts these options together: %v", opts)
	}
	if opts.TimeoutSeconds == nil || *opts.TimeoutSeconds < 300 || *opts.TimeoutSeconds >= 600 || !opts.AllowWatchBookmarks {
		s.t.Errorf("a watch is to end by itself, and to bring bookmarks: %v", opts)
	}
	if opts.ResourceVersion != "" {
		line += " from " + opts.ResourceVersion
	}
	s.note(line)
	w, _, err := s.next(ctx, opts)
	if w == nil && err == nil {
		return nil, s.unexpected(ctx)
	}
	return w, err
}

func (s *script) List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	line := "list"
	if opts.Limit == 1 {
		line = "newest"
	}
	if opts.Continue != "" {
		line += " " + opts.Continue
	}
	if opts.ResourceVersion != "" || opts.ResourceVersionMatch != "" || opts.Limit < 1 || opts.TimeoutSeconds == nil {
		s.t.Errorf("a list is to be consistent, in pages and bounded in time: %v", opts)
	}
	s.note(line)
	if opts.Limit > 1 || opts.Continue != "" {
		s.limits = append(s.limits, opts.Limit)
	}
	w, list, err := s.next(ctx, opts)
	if w != nil {
		w.Stop()
		return nil, s.unexpected(ctx)
	}
	return list, err
}

// unexpected notes that the answer is not one to what was asked, and gives none.
func (s *script) unexpected(ctx context.Context) error {
	s.note("(another request was expected)")
	<-ctx.Done()
	return ctx.Err()
}

func (s *script) Put(change watch.EventType, obj runtime.Object, live bool) {
	s.changes = append(s.changes, strings.ToLower(string(change))+" "+name(obj))
	if live {
		s.note("live " + name(obj))
	} else {
		s.note("put " + name(obj))
	}
}

func (s *script) Delete(obj runtime.Object) { s.note("gone " + name(obj)) }

func (s *script) SnapshotComplete(names map[types.NamespacedName]struct{}, _ string) {
	line := "whole"
	for _, n := range slices.Sorted(maps.Keys(byText(names))) {
		line += " " + n
	}
	s.note(line)
}

func byText(names map[types.NamespacedName]struct{}) map[string]struct{} {
	texts := map[string]struct{}{}
	for n := range names {
		texts[strings.TrimPrefix(n.String(), "ns/")] = struct{}{}
	}
	return texts
}

func name(obj runtime.Object) string {
	m, err := meta.Accessor(obj)
	if err != nil {
		return err.Error()
	}
	return m.GetName() + "@" + m.GetResourceVersion()
}

// expect compares the transcript.
func (s *script) expect(t *testing.T, lines ...string) {
	t.Helper()
	if diff := cmp.Diff(lines, s.lines); diff != "" {
		t.Errorf("what happened is not what should (- should, + did):\n%s", diff)
	}
}

// gaps are the times between the lines that begin with a word.
func (s *script) gaps(word string) []time.Duration {
	var gaps []time.Duration
	last := time.Duration(-1)
	for i, line := range s.lines {
		if !strings.HasPrefix(line, word) {
			continue
		}
		if last >= 0 {
			gaps = append(gaps, s.at[i]-last)
		}
		last = s.at[i]
	}
	return gaps
}

// told are the reported failures.
func (s *script) told() []string {
	var told []string
	for _, line := range s.lines {
		if text, ok := strings.CutPrefix(line, "failed: "); ok {
			told = append(told, text)
		}
	}
	return told
}

// event is one of a scripted watch, which comes some time after the one before it. One without a
// type ends the watch.
type event struct {
	after time.Duration
	watch.Event
}

// open answers with a watch that stays open after its events.
func open(events ...event) answer {
	return func(context.Context, metav1.ListOptions) (watch.Interface, runtime.Object, error) {
		return newScripted(events), nil, nil
	}
}

// ending answers with a watch that ends after its events.
func ending(events ...event) answer { return open(append(events, event{})...) }

// inTime answers with a watch that ends when it was asked to.
func inTime(events ...event) answer {
	return func(_ context.Context, opts metav1.ListOptions) (watch.Interface, runtime.Object, error) {
		rest := time.Duration(*opts.TimeoutSeconds) * time.Second
		for _, e := range events {
			rest -= e.after
		}
		return newScripted(append(slices.Clone(events), event{after: rest})), nil, nil
	}
}

func fail(err error) answer {
	return func(context.Context, metav1.ListOptions) (watch.Interface, runtime.Object, error) {
		return nil, nil, err
	}
}

// page answers with one of a list; token leads to the next, and is empty in the last.
func page(version int, token string, objects ...*corev1.ConfigMap) answer {
	list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: strconv.Itoa(version), Continue: token}}
	for _, o := range objects {
		list.Items = append(list.Items, *o)
	}
	return func(context.Context, metav1.ListOptions) (watch.Interface, runtime.Object, error) {
		return nil, list, nil
	}
}

func object(name string, version int) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, ResourceVersion: strconv.Itoa(version)}}
}

func added(name string, version int) event {
	return event{Event: watch.Event{Type: watch.Added, Object: object(name, version)}}
}

func modified(name string, version int) event {
	return event{Event: watch.Event{Type: watch.Modified, Object: object(name, version)}}
}

func deleted(name string, version int) event {
	return event{Event: watch.Event{Type: watch.Deleted, Object: object(name, version)}}
}

func bookmark(version int) event {
	return event{Event: watch.Event{Type: watch.Bookmark, Object: object("", version)}}
}

// endMark ends the initial events.
func endMark(version int) event {
	mark := object("", version)
	mark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	return event{Event: watch.Event{Type: watch.Bookmark, Object: mark}}
}

func failure(err error) event {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		panic(fmt.Sprintf("no API server says %v", err))
	}
	s := status.Status()
	return event{Event: watch.Event{Type: watch.Error, Object: &s}}
}

func (e event) later(d time.Duration) event {
	e.after = d
	return e
}

func expired() error { return apierrors.NewResourceExpired("too old resource version: 10 (20)") }

// unknownVersion is what a server says that has not seen a version within 3 s.
func unknownVersion(version int) *apierrors.StatusError {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: 5", version), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version"}}
	return err
}

func unprocessable() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity, Message: "sendInitialEvents is forbidden",
	}}
}

// scripted is a watch by script. Its goroutine stays until it is stopped.
type scripted struct {
	events chan watch.Event
	done   chan struct{}
	once   sync.Once
}

func newScripted(events []event) *scripted {
	w := &scripted{events: make(chan watch.Event), done: make(chan struct{})}
	go func() {
		for _, e := range events {
			select {
			case <-time.After(e.after):
			case <-w.done:
				return
			}
			if e.Type == "" {
				close(w.events)
				break
			}
			select {
			case w.events <- e.Event:
			case <-w.done:
				return
			}
		}
		<-w.done
	}()
	return w
}

func (w *scripted) ResultChan() <-chan watch.Event { return w.events }

func (w *scripted) Stop() { w.once.Do(func() { close(w.done) }) }
