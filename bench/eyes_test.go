package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/reroll-dev/reroll/internal/annotations"
)

func newEyes() *eyes {
	return &eyes{now: map[string]*appsv1.Deployment{}, rollouts: map[string][]rollout{}, stirred: make(chan struct{}, 1)}
}

// at is a version of a Deployment, and the second at which it was seen.
func (e *eyes) at(second int, kind watch.EventType, name string, change func(*appsv1.Deployment)) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}}
	change(d)
	e.see(watch.Event{Type: kind, Object: d}, time.Unix(int64(second), 0))
}

func image(image string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "app", Image: image}}
	}
}

func TestSince(t *testing.T) {
	e := newEyes()
	for _, name := range []string{"a", "b", "c", "still"} {
		e.at(1, watch.Added, name, image("1"))
	}
	e.at(4, watch.Modified, "a", image("2"))
	e.at(6, watch.Modified, "b", image("2"))
	e.at(7, watch.Modified, "a", image("3")) // not its first
	e.at(8, watch.Modified, "c", image("2"))
	got := e.since(func(name string) time.Time {
		return map[string]time.Time{"a": time.Unix(1, 0), "b": time.Unix(2, 0), "still": time.Unix(3, 0)}[name]
	})
	slices.Sort(got)
	if want := []time.Duration{3 * time.Second, 4 * time.Second}; !slices.Equal(got, want) {
		t.Errorf("%v since the edits, must be %v: c was not edited, and what is still has not rolled", got, want)
	}
}

func TestMostWithin(t *testing.T) {
	e := newEyes()
	for i, second := range []int{1, 2, 4, 5, 6, 9} {
		e.at(second, watch.Modified, "a", image(strconv.Itoa(i)))
		e.at(10*second, watch.Modified, "b", image(strconv.Itoa(i)))
	}
	for long, want := range map[time.Duration]int{time.Second: 1, 2 * time.Second: 2, 3 * time.Second: 3, time.Minute: 5} {
		if got := e.mostWithin(long); got != want {
			t.Errorf("%d within %s, must be %d", got, long, want)
		}
	}
}

func TestARolloutIsAnotherPodTemplate(t *testing.T) {
	e := newEyes()
	e.at(1, watch.Added, "a", image("1"))
	e.at(1, watch.Added, "b", image("1"))
	e.at(1, watch.Added, "c", image("1"))
	e.at(2, watch.Modified, "a", image("2")) // forgotten by begin
	e.begin()
	e.at(3, watch.Modified, "a", func(d *appsv1.Deployment) {
		image("2")(d)
		d.Annotations = map[string]string{"a": "b"}
		d.Status.ObservedGeneration = 2
	})
	if seen := e.seen(); seen.rollouts != 0 {
		t.Errorf("an annotation and a status are %d rollouts", seen.rollouts)
	}
	noting := func(of func(*appsv1.Deployment)) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			of(d)
			d.Annotations = map[string]string{annotations.Ledger: "{}"}
		}
	}
	e.at(4, watch.Modified, "c", noting(image("1")))
	e.at(4, watch.Modified, "b", noting(image("2")))
	e.at(6, watch.Modified, "a", image("3"))
	if err := e.seen().check(2); err != nil {
		t.Error(err)
	}
	e.at(9, watch.Modified, "b", image("1"))
	want := seen{first: time.Unix(4, 0), last: time.Unix(9, 0), rollouts: 3, workloads: 2, noted: 1}
	if got := e.seen(); got != want {
		t.Errorf("seen %+v, must be %+v", got, want)
	}
	if err := e.seen().check(2); err == nil || !strings.Contains(err.Error(), "2 workloads rolled 3 times, 2 had to") {
		t.Errorf("a second rollout of one workload: the error is %v", err)
	}
	if err := e.seen().check(3); err == nil {
		t.Error("3 rollouts of 2 workloads pass for those of 3")
	}
	if err := e.checkOnly("a"); err == nil {
		t.Error("rollouts of another workload pass")
	}
}

func TestAGapIsAnError(t *testing.T) {
	for about, event := range map[string]watch.Event{
		"a watch that cannot go on":   {Type: watch.Error, Object: &metav1.Status{Message: "too old", Reason: metav1.StatusReasonExpired}},
		"a Deployment that is gone":   {Type: watch.Deleted, Object: &appsv1.Deployment{}},
		"an object of another kind":   {Type: watch.Added, Object: &corev1.Pod{}},
		"a bookmark, not asked for":   {Type: watch.Bookmark, Object: &metav1.Status{}},
		"an error without an objects": {Type: watch.Error, Object: &metav1.Status{}},
	} {
		t.Run(about, func(t *testing.T) {
			e := newEyes()
			e.see(event, time.Time{})
			if err := e.awaitRollouts(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "does not tell all") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestAwaitSaysHowFarItCame(t *testing.T) {
	e := newEyes()
	e.at(1, watch.Added, "a", image("1"))
	e.at(2, watch.Modified, "a", image("2"))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no more time"))
	err := e.awaitRollouts(ctx, 2)
	if err == nil || err.Error() != "awaiting 2 workloads to roll: no more time; 1 have" {
		t.Errorf("the error is %v", err)
	}
}

func TestTheLastContentIsWithWhoRolledAfterIt(t *testing.T) {
	e := newEyes()
	at := func(version string, img string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			image(img)(d)
			d.ResourceVersion = version
		}
	}
	e.at(1, watch.Added, "a", at("10", "1"))
	e.at(1, watch.Added, "b", at("11", "1"))
	e.at(2, watch.Modified, "a", at("20", "2"))
	e.at(3, watch.Modified, "b", at("99", "2")) // before version 100, at which its content was last written
	e.at(4, watch.Modified, "a", at("101", "3"))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no more time"))
	newer, err := e.awaitNewer(ctx, map[string]uint64{"a": 100, "b": 100})
	if err == nil || !strings.HasSuffix(err.Error(), "no more time; 1 have it") || !newer["a"].Equal(time.Unix(4, 0)) {
		t.Errorf("%v, error %v", newer, err)
	}
	e.at(5, watch.Modified, "b", at("102", "3"))
	if newer, err := e.awaitNewer(ctx, map[string]uint64{"a": 100, "b": 100}); err != nil || len(newer) != 2 {
		t.Errorf("%v, error %v", newer, err)
	}
}
