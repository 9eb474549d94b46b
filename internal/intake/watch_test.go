package intake

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

func TestWatchesGoOn(t *testing.T) {
	refused := errors.New(`Get "https://10.0.0.1:443/api/v1/configmaps": dial tcp 10.0.0.1:443: connect: connection refused`)
	tests := map[string]struct {
		answers []answer
		want    []string
	}{
		"a watch whose time is up is followed by one from its last version, at once and without another question": {
			answers: []answer{
				inTime(endMark(9), modified("a", 10).later(4*time.Minute)), inTime(modified("a", 11)), inTime(), open(modified("a", 12)),
			},
			want: []string{"stream", "whole", "live a@10", "watch from 10", "live a@11", "watch from 11", "watch from 11", "live a@12"},
		},
		"a bookmark is a version to go on from, too": {
			answers: []answer{inTime(endMark(9), bookmark(50).later(4*time.Minute)), open(modified("a", 51))},
			want:    []string{"stream", "whole", "watch from 50", "live a@51"},
		},
		"a watch that is cut is followed by one from its last version, once the server has proven not to be an older one": {
			answers: []answer{ending(endMark(9), modified("a", 10)), page(12, "more"), open(deleted("a", 11), added("b", 12))},
			want:    []string{"stream", "whole", "live a@10", "newest", "watch from 10", "gone a@11", "live b@12"},
		},
		"a server that does not answer is asked again for the same version, and nothing is taken anew": {
			answers: []answer{
				ending(endMark(9), modified("a", 10)), fail(refused), fail(apierrors.NewInternalError(errors.New("etcdserver: leader changed"))), page(12, "more"),
				fail(apierrors.NewServiceUnavailable("not ready")), page(12, "more"),
				fail(apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no role"))), page(12, "more"),
				fail(apierrors.NewUnauthorized("token expired")), page(12, "more"),
				fail(apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "")), page(12, "more"),
				open(modified("a", 11)),
			},
			want: []string{
				"stream", "whole", "live a@10",
				"newest", "failed: get the latest resourceVersion: read a page of the list: " + refused.Error(),
				"newest", "failed: get the latest resourceVersion: read a page of the list: Internal error occurred: etcdserver: leader changed",
				"newest", "watch from 10", "failed: watch from version 10: not ready",
				"newest", "watch from 10", `failed: watch from version 10: configmaps is forbidden: no role`,
				"newest", "watch from 10", "failed: watch from version 10: token expired",
				"newest", "watch from 10", `failed: watch from version 10: configmaps "" not found`,
				"newest", "watch from 10", "live a@11",
			},
		},
		"a storage restored from a backup is noticed, and what it holds is taken for what it is": {
			answers: []answer{ending(added("a", 900), endMark(1000)), page(500, "more"), open(added("a", 400), endMark(501), modified("a", 502))},
			want: []string{
				"stream", "put a@900", "whole a", "failed: the watch ended after 0s, without an event",
				"newest", "failed: the resourceVersions of the API server went back: its storage was restored from a backup",
				"stream", "put a@400", "whole a", "live a@502",
			},
		},
		"versions that are no numbers are not compared": {
			answers: []answer{ending(endMark(9), renamed("zz")), renamedPage("aa"), open(modified("a", 11))},
			want:    []string{"stream", "whole", "live a@zz", "newest", "watch from zz", "live a@11"},
		},
		"an event that cannot be read is tried five times, then a snapshot leads past it": {
			answers: append([]answer{open(endMark(9), modified("a", 10), unreadable())},
				append(slices.Repeat([]answer{page(12, "more"), open(unreadable())}, 4), open(endMark(20), modified("a", 21)))...),
			want: []string{
				"stream", "whole", "live a@10", "failed: the server closed the watch: unable to decode an event",
				"newest", "watch from 10", "newest", "watch from 10", "newest", "watch from 10", "newest", "watch from 10",
				"failed: the watch from version 10 fails each time: the server closed the watch: unable to decode an event",
				"stream from 10", "whole", "live a@21",
			},
		},
		"an event of a kind nobody knows is not passed over": {
			answers: []answer{
				open(endMark(9), event{Event: watch.Event{Type: "RENAMED", Object: object("a", 10)}}), page(12, "more"), open(modified("a", 10)),
			},
			want: []string{
				"stream", "whole", `failed: read a watch event: its type "RENAMED" is unknown`, "newest", "watch from 9", "live a@10",
			},
		},
		"an event that is no object is not passed over": {
			answers: []answer{
				open(endMark(9), event{Event: watch.Event{Type: watch.Modified, Object: &metav1.Status{}}}), page(12, "more"), open(modified("a", 10)),
			},
			want: []string{
				"stream", "whole", `failed: read a watch event of type "MODIFIED": object does not implement the Object interfaces`,
				"newest", "watch from 9", "live a@10",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { play(t, 40*time.Minute, test.answers...).expectFirst(t, test.want...) })
	}
}

// An error event says why the server ends a watch. Only some reasons mean that changes may be
// missed.
func TestErrorEvents(t *testing.T) {
	// Servers before the causes of errors respond in this way.
	early := apierrors.NewTimeoutError("Too large resource version: 9, current: 5", 1)
	byCause := unknownVersion(9)
	byCause.ErrStatus.Message = "try again later"
	tests := map[string]struct {
		err      error
		snapshot bool
	}{
		"410 Expired":                           {expired(), true},
		"410 Gone":                              {apierrors.NewGenericServerResponse(http.StatusGone, "get", schema.GroupResource{}, "", "", 0, false), true},
		"504 with too large resource version":   {unknownVersion(9), true},
		"504 with the same as the cause only":   {byCause, true},
		"504 with the same in the message":      {early, true},
		"400 for a version that cannot be read": {apierrors.NewBadRequest("invalid resource version"), true},
		"422 for a version that cannot be read": {unprocessable(), true},
		"504 for another reason":                {apierrors.NewTimeoutError("etcd", 0), false},
		"500":                                   {apierrors.NewInternalError(errors.New("etcdserver: leader changed")), false},
		"503":                                   {apierrors.NewServiceUnavailable("shutting down"), false},
		"429":                                   {apierrors.NewTooManyRequests("storage is (re)initializing", 1), false},
		"403":                                   {apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("no")), false},
		"an error of the client that reads the watch": {apierrors.NewGenericServerResponse(http.StatusInternalServerError, "get", schema.GroupResource{}, "", "", 0, false), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			answers := []answer{open(endMark(9), failure(test.err))}
			if test.snapshot {
				answers = append(answers, open(added("a", 12), endMark(20)))
			} else {
				answers = append(answers, page(20, "more"), open(modified("a", 12)))
			}
			s := play(t, 10*time.Second, answers...)
			want := []string{"newest", "watch from 9", "live a@12"}
			if test.snapshot {
				want = []string{"stream from 9", "put a@12", "whole a"}
			}
			s.expect(t, append([]string{"stream", "whole", "failed: the server closed the watch: " + test.err.Error()}, want...)...)
		})
	}
}

func TestAnErrorEventNeverShowsAnObject(t *testing.T) {
	secret := &corev1.Secret{StringData: map[string]string{"password": "hunter2"}}
	s := play(t, 10*time.Second, open(endMark(9), event{Event: watch.Event{Type: watch.Error, Object: secret}}), page(20, ""), open())
	s.expect(t, "stream", "whole", "failed: the server closed the watch: an error event that holds a *v1.Secret", "newest", "watch from 9")
}

// A connection whose other end has vanished says nothing for ever.
func TestADeadConnectionIsNotWaitedFor(t *testing.T) {
	s := play(t, 11*time.Minute, open(endMark(9)), page(20, ""), open(modified("a", 10)))
	s.expectFirst(t, "stream", "whole",
		"failed: the watch was not ended by the server when its time was up: the connection is dead", "newest", "watch from 9", "live a@10")
}

// Neither does a server that took a request and forgot it.
func TestARequestWithoutAResponseIsRetried(t *testing.T) {
	never := func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, runtime.Object, error) {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	}
	tooLate := func(ctx context.Context, _ metav1.ListOptions) (watch.Interface, runtime.Object, error) {
		<-ctx.Done()
		return newScripted(nil), nil, nil // must be stopped, though nobody wants it any more
	}
	s := play(t, 3*time.Minute, never, tooLate, open(endMark(9)))
	s.expect(t, "stream", "failed: open the initial stream: no response within 1m0s", "stream", "stream", "whole")
	for _, gap := range s.gaps("stream") {
		if gap < time.Minute || gap > time.Minute+time.Second {
			t.Errorf("asked again after %s", gap)
		}
	}
}

func unreadable() event {
	return failure(&apierrors.StatusError{ErrStatus: metav1.Status{
		Reason: metav1.StatusReasonInternalError, Code: http.StatusInternalServerError, Message: "unable to decode an event",
	}})
}

func renamed(version string) event {
	e := modified("a", 0)
	e.Object.(*corev1.ConfigMap).ResourceVersion = version
	return e
}

func renamedPage(version string) answer {
	return func(context.Context, metav1.ListOptions) (watch.Interface, runtime.Object, error) {
		return nil, &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: version}}, nil
	}
}

// expectFirst compares the beginning of the transcript: what comes after it is the end of the last
// watch.
func (s *script) expectFirst(t *testing.T, lines ...string) {
	t.Helper()
	if len(s.lines) > len(lines) && strings.HasPrefix(s.lines[len(lines)], "failed: the watch was not ended") {
		s.lines = s.lines[:len(lines)]
	}
	s.expect(t, lines...)
}
