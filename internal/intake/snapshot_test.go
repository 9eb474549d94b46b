package intake

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clocktesting "k8s.io/utils/clock/testing"
)

func TestSnapshots(t *testing.T) {
	tests := map[string]struct {
		answers []answer
		want    []string
	}{
		"what a stream brings up to its end mark is a snapshot, and what comes after it is live": {
			answers: []answer{open(added("a", 7), added("b", 5), endMark(9), modified("a", 10), deleted("b", 11), added("c", 12))},
			want:    []string{"stream", "put a@7", "put b@5", "whole a b", "live a@10", "gone b@11", "live c@12"},
		},
		"what changes before the end mark is not live, and what goes is not named": {
			answers: []answer{open(added("a", 7), added("b", 5), modified("a", 8), deleted("b", 9), added("c", 10), endMark(10), modified("c", 11))},
			want:    []string{"stream", "put a@7", "put b@5", "put a@8", "gone b@9", "put c@10", "whole a c", "live c@11"},
		},
		"an empty cluster is a complete snapshot": {
			answers: []answer{open(endMark(3), added("a", 4))},
			want:    []string{"stream", "whole", "live a@4"},
		},
		"a server that refuses the options is listed, page by page, and watched from the version of the list": {
			answers: []answer{
				fail(unprocessable()), page(20, "p2", object("a", 7), object("b", 5)), page(20, "p3", object("c", 2)), page(20, "", object("d", 9)),
				open(modified("a", 21)),
			},
			want: []string{"stream", "list", "put a@7", "put b@5", "list p2", "put c@2", "list p3", "put d@9", "whole a b c d", "watch from 20", "live a@21"},
		},
		"a server that calls the options a bad request is listed": {
			answers: []answer{fail(apierrors.NewBadRequest("no")), page(20, ""), open()},
			want:    []string{"stream", "list", "whole", "watch from 20"},
		},
		"a token that expires half way through the pages starts over, and nothing is concluded from the half": {
			answers: []answer{
				fail(unprocessable()), page(20, "p2", object("a", 7)), fail(expired()),
				page(30, "p2", object("a", 7)), page(30, "", object("b", 25)), open(),
			},
			want: []string{
				"stream", "list", "put a@7", "list p2", "failed: read a page of the list: too old resource version: 10 (20)",
				"list", "put a@7", "list p2", "put b@25", "whole a b", "watch from 30",
			},
		},
		"a bookmark before the end mark is that of a server which will never send one": {
			answers: []answer{open(added("a", 7), bookmark(9)), page(10, "", object("a", 7)), open()},
			want:    []string{"stream", "put a@7", "list", "put a@7", "whole a", "watch from 10"},
		},
		"a stream that is cut is begun again, and nothing is concluded from the half": {
			answers: []answer{ending(added("a", 7)), open(added("a", 7), added("b", 5), endMark(9))},
			want: []string{
				"stream", "put a@7", "failed: the initial stream was cut after 1 objects",
				"stream", "put a@7", "put b@5", "whole a b",
			},
		},
		"streams that are always cut give way to pages, for one snapshot": {
			answers: []answer{
				ending(), ending(added("a", 7)), open(failure(apierrors.NewInternalError(context.DeadlineExceeded))), page(10, "", object("a", 7)),
				open(failure(expired())), open(endMark(12)),
			},
			want: []string{
				"stream", "failed: the initial stream was cut after 0 objects", "stream", "put a@7",
				"stream", "failed: read the initial stream: the server closed the watch: Internal error occurred: context deadline exceeded",
				"list", "put a@7", "whole a", "watch from 10",
				"failed: the server closed the watch: too old resource version: 10 (20)",
				"stream from 10", "whole",
			},
		},
		"the snapshot after a gap is not live, and names what is left": {
			answers: []answer{
				open(added("a", 7), added("b", 5), endMark(9), modified("b", 10), failure(expired())),
				open(added("b", 15), endMark(20), modified("b", 21)),
			},
			want: []string{
				"stream", "put a@7", "put b@5", "whole a b", "live b@10", "failed: the server closed the watch: too old resource version: 10 (20)",
				"stream from 10", "put b@15", "whole b", "live b@21",
			},
		},
		"a snapshot that breaks off has raised the version that the next one may not be older than": {
			answers: []answer{
				open(endMark(9), failure(expired())),
				ending(added("a", 15), added("b", 12)),
				open(added("a", 15), endMark(20)),
			},
			want: []string{
				"stream", "whole", "failed: the server closed the watch: too old resource version: 10 (20)",
				"stream from 9", "put a@15", "put b@12", "failed: the initial stream was cut after 2 objects",
				"stream from 15", "put a@15", "whole a",
			},
		},
		"before the first snapshot is complete each try is a consistent read": {
			answers: []answer{ending(added("a", 15)), open(endMark(20))},
			want:    []string{"stream", "put a@15", "failed: the initial stream was cut after 1 objects", "stream", "whole"},
		},
		"a version that the server has not seen is asked for three times, then given up": {
			answers: []answer{
				open(endMark(900), failure(expired())),
				open(failure(unknownVersion(900))), open(failure(unknownVersion(900))), open(failure(unknownVersion(900))),
				open(added("a", 4), endMark(5), modified("a", 6)),
			},
			want: []string{
				"stream", "whole", "failed: the server closed the watch: too old resource version: 10 (20)",
				"stream from 900", "failed: read the initial stream: the server closed the watch: Timeout: Too large resource version: 900, current: 5",
				"stream from 900", "stream from 900",
				"stream", "put a@4", "whole a", "live a@6",
			},
		},
		"a version that is refused as forgotten is given up at once": {
			answers: []answer{open(endMark(9), failure(expired())), open(failure(expired())), open(endMark(20))},
			want: []string{
				"stream", "whole", "failed: the server closed the watch: too old resource version: 10 (20)",
				"stream from 9", "failed: read the initial stream: the server closed the watch: too old resource version: 10 (20)",
				"stream", "whole",
			},
		},
		"a server whose cache does not keep up with its storage is listed": {
			answers: []answer{
				open(failure(unknownVersion(9))), open(failure(unknownVersion(9))), open(failure(unknownVersion(9))), page(10, ""), open(),
			},
			want: []string{
				"stream", "failed: read the initial stream: the server closed the watch: Timeout: Too large resource version: 9, current: 5",
				"stream", "stream", "list", "whole", "watch from 10",
			},
		},
		"a snapshot without a version is none": {
			answers: []answer{fail(unprocessable()), page(0, "", object("a", 7)), page(10, "", object("a", 7)), open()},
			want: []string{
				"stream", "list", "put a@7", "failed: the snapshot has no resourceVersion from which to watch",
				"list", "put a@7", "whole a", "watch from 10",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { play(t, 50*time.Second, test.answers...).expect(t, test.want...) })
	}
}

func TestWhatAnObjectIsPutAs(t *testing.T) {
	for about, tc := range map[string]struct {
		answers []answer
		want    []string
	}{
		"by a stream": {
			[]answer{open(added("a", 7), modified("a", 8), endMark(9), modified("a", 10), deleted("a", 11), added("a", 12))},
			[]string{"added a@7", "modified a@8", "modified a@10", "added a@12"},
		},
		"by pages": {
			[]answer{fail(unprocessable()), page(20, "", object("a", 7)), open(modified("a", 21), added("b", 22))},
			[]string{"added a@7", "modified a@21", "added b@22"},
		},
		"by a snapshot after a gap, though it was known": {
			[]answer{open(added("a", 7), endMark(9), failure(expired())), open(added("a", 7), endMark(20))},
			[]string{"added a@7", "added a@7"},
		},
	} {
		t.Run(about, func(t *testing.T) {
			s := play(t, time.Minute, tc.answers...)
			if diff := cmp.Diff(tc.want, s.changes); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAStreamThatBringsSomethingIsNotSilent(t *testing.T) {
	s := play(t, 4*time.Minute, open(
		added("a", 7), added("b", 5).later(59*time.Second), added("c", 5).later(59*time.Second), endMark(9).later(59*time.Second)))
	s.expect(t, "stream", "put a@7", "put b@5", "put c@5", "whole a b c")
}

// The clock is the one that was given, and no other.
func TestSilenceForAMinuteMeansAnOlderServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{t: t, answers: []answer{open(added("a", 7)), page(20, "", object("a", 7)), open()}}
		ctx, cancel := context.WithCancel(t.Context())
		hand := clocktesting.NewFakeClock(time.Now())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.feed(hand).Run(ctx)
		}()
		synctest.Wait()
		hand.Step(59 * time.Second)
		synctest.Wait()
		s.expect(t, "stream", "put a@7")
		hand.Step(time.Second)
		synctest.Wait()
		s.expect(t, "stream", "put a@7", "list", "put a@7", "whole a", "watch from 20")
		cancel()
		<-ended
	})
}

func TestAnUpgradedServerIsNoticed(t *testing.T) {
	// Each watch ends with the need for a snapshot after 4 minutes, and the server was upgraded at
	// once.
	server := func(_ context.Context, opts metav1.ListOptions) (watch.Interface, runtime.Object, error) {
		gone := failure(expired()).later(4 * time.Minute)
		switch {
		case opts.Limit > 0:
			return nil, &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "10"}}, nil
		case opts.SendInitialEvents == nil:
			return newScripted([]event{gone}), nil, nil
		default:
			return newScripted([]event{endMark(20), gone}), nil, nil
		}
	}
	answers := append([]answer{fail(unprocessable())}, slices.Repeat([]answer{server}, 60)...)
	s := play(t, 70*time.Minute, answers...)
	var snapshots []string
	for i, line := range s.lines {
		if strings.HasPrefix(line, "stream") || line == "list" {
			snapshots = append(snapshots, line)
		}
		if i > 0 && strings.HasPrefix(line, "stream") && s.at[i] < time.Hour {
			t.Errorf("a server that did not stream was asked again after %s", s.at[i])
		}
	}
	want := append([]string{"stream"}, slices.Repeat([]string{"list"}, 15)...)
	want = append(want, "stream from 10", "stream from 20", "stream from 20")
	if diff := cmp.Diff(want, snapshots); diff != "" {
		t.Errorf("the snapshots were not taken as they should be (- should, + were):\n%s", diff)
	}
}

// The number of objects in a page follows their size, so that its memory does not.
func TestPagesOfLargeObjectsAreSmall(t *testing.T) {
	large := func(n int) []*corev1.ConfigMap {
		objects := make([]*corev1.ConfigMap, n)
		for i := range objects {
			objects[i] = object("large", 7)
			objects[i].BinaryData = map[string][]byte{"value": make([]byte, 1<<20)}
		}
		return objects
	}
	s := play(t, 10*time.Second, fail(unprocessable()),
		page(10, "p2", object("a", 7)), page(10, "p3", object("b", 7)), page(10, "p4", object("c", 7)), page(10, "p5", object("d", 7)),
		page(10, "p6", large(100)...), page(10, "p7", large(3)...), page(10, "p8", object("e", 7)), page(10, "", object("f", 7)), open())
	if diff := cmp.Diff([]int64{20, 40, 80, 100, 100, 3, 3, 6}, s.limits); diff != "" {
		t.Errorf("- should be asked for, + was:\n%s", diff)
	}
}
