package harness

import (
	"context"
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	typedfake "k8s.io/client-go/kubernetes/fake"
)

// On a real cluster Kubernetes is nearly always fast enough to hide a count that does not wait for
// it, so here a moment is held still.
func TestACountWaitsForKubernetesAndTheObserver(t *testing.T) {
	t.Parallel()
	named := func(name, version string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), ResourceVersion: version, Generation: 2}
	}
	for name, test := range map[string]struct {
		workload runtime.Object
		seen     map[types.UID]uint64
		want     string
	}{
		"all is seen": {
			workload: &appsv1.Deployment{ObjectMeta: named("web", "9"), Status: appsv1.DeploymentStatus{ObservedGeneration: 2}},
			seen:     map[types.UID]uint64{"set": 7, "revision": 8},
		},
		"a Deployment is not acted upon": {
			workload: &appsv1.Deployment{ObjectMeta: named("web", "9"), Status: appsv1.DeploymentStatus{ObservedGeneration: 1}},
			seen:     map[types.UID]uint64{"set": 7, "revision": 8},
			want:     "generation 2 of web is not acted upon yet",
		},
		"a StatefulSet is not acted upon": {
			workload: &appsv1.StatefulSet{ObjectMeta: named("db", "9"), Status: appsv1.StatefulSetStatus{ObservedGeneration: 1}},
			seen:     map[types.UID]uint64{"set": 7, "revision": 8},
			want:     "generation 2 of db is not acted upon yet",
		},
		"a DaemonSet is not acted upon": {
			workload: &appsv1.DaemonSet{ObjectMeta: named("agent", "9")},
			seen:     map[types.UID]uint64{"set": 7, "revision": 8},
			want:     "generation 2 of agent is not acted upon yet",
		},
		"a ReplicaSet is not seen": {
			seen: map[types.UID]uint64{"set": 6, "revision": 8},
			want: "the observer has not seen version 7 of set yet",
		},
		"a ControllerRevision is not seen": {
			seen: map[types.UID]uint64{"set": 7},
			want: "the observer has not seen version 8 of revision yet",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := []runtime.Object{&appsv1.ReplicaSet{ObjectMeta: named("set", "7")}, &appsv1.ControllerRevision{ObjectMeta: named("revision", "8")}}
			if test.workload != nil {
				objects = append(objects, test.workload)
			}
			n := &Namespace{Name: "ns", Observer: &Observer{seen: test.seen}, clients: clients{typed: typedfake.NewClientset(objects...)}}
			ctx, cancel := context.WithCancelCause(t.Context())
			cancel(errors.New("one look is enough"))
			err := n.caughtUp(ctx)
			if test.want == "" {
				must(t, err)
				return
			}
			wantError(t, err, "one look is enough", test.want)
		})
	}
}
