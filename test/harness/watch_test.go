package harness

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

func pod(name, version string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: version}}
}

func TestAWatchThatBreaksGoesOnWhereItBroke(t *testing.T) {
	t.Parallel()
	var asked []string
	first, second := watch.NewFake(), watch.NewFake()
	lw := &cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "10"}, Items: []corev1.Pod{*pod("a", "4")}}, nil
		},
		WatchFuncWithContext: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
			asked = append(asked, options.ResourceVersion)
			return map[int]watch.Interface{1: first, 2: second}[len(asked)], nil
		},
	}
	seen := make(chan change, 10)
	lost := make(chan error, 1)
	must(t, follow(t.Context(), lw, func(c change) error { seen <- c; return nil }, func(err error) { lost <- err }))
	first.Add(pod("b", "12"))
	first.Stop()
	second.Delete(pod("b", "15"))
	for _, want := range []struct {
		name              string
		version           uint64
		deleted, baseline bool
	}{{"a", 4, false, true}, {"b", 12, false, false}, {"b", 15, true, false}} {
		got := <-seen
		if got.object.GetName() != want.name || got.version != want.version || got.deleted != want.deleted || got.baseline != want.baseline {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if len(asked) != 2 || asked[0] != "10" || asked[1] != "12" {
		t.Errorf("the watches began at versions %q, want 10 and 12", asked)
	}

	// The version is gone: what happened since cannot be known.
	gone := apierrors.NewResourceExpired("too old resource version").Status()
	second.Error(&gone)
	wantError(t, <-lost, "the watch cannot go on without a gap", "too old resource version")
}

func TestAnObserverThatHasLostSightSaysSo(t *testing.T) {
	t.Parallel()
	ctx, n := newNamespace(t)
	must(t, n.Apply(ctx, workloads))
	must(t, n.AwaitRolls(ctx, ref(t, "deployment/web"), 0))
	n.Observer.mu.Lock()
	n.Observer.blind = errors.New("a gap of three seconds")
	n.Observer.mu.Unlock()
	_, err := n.Rolls(ctx, ref(t, "deployment/web"))
	wantError(t, err, "a gap of three seconds")
	wantError(t, n.AwaitRolls(ctx, ref(t, "deployment/web"), 0), "a gap of three seconds")
	wantError(t, n.QuietBy(ctx, n.Observer.decisions), "a gap of three seconds")
}
