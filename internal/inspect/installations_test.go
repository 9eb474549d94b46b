package inspect

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/reroll-dev/reroll/internal/clientset"
	"github.com/reroll-dev/reroll/internal/kubeapi"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/clientsettest"
)

func TestAnInstallationIsRemovedOnlyIfItsControllerEnded(t *testing.T) {
	const days = 3 * 24 * time.Hour
	reloader := leftBehind(t, "tools")
	reloader.Data["reloaderOptions"] = `{"autoReloadAll":true}`
	broken := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "reloader-meta-info", Namespace: "odd", Labels: reloader.Labels}}
	for about, tc := range map[string]struct {
		at, ns    string
		forbidden string
		left      []apiruntime.Object
		want      string
		alive     string
		// renewed is the namespace whose Lease is renewed while the command watches it.
		renewed string
	}{
		"it has ended": {left: []apiruntime.Object{leftBehind(t, "a"), leaseOf("a", "", days)}, want: "a"},
		"it runs": {
			left: []apiruntime.Object{leftBehind(t, "a"), leaseOf("a", "pod", 0)},
			want: "a", alive: "the controller in namespace a runs", renewed: "a",
		},
		"it was killed just now": {
			left: []apiruntime.Object{leftBehind(t, "a"), leaseOf("a", "pod", 0)},
			want: "a",
		},
		"it runs without a lease": {
			left: []apiruntime.Object{leftBehind(t, "a"), deploymentOf("a", 1, 1)},
			want: "a", alive: "the controller in namespace a runs",
		},
		"one of two runs": {
			left: []apiruntime.Object{leftBehind(t, "a"), leaseOf("a", "", days), leftBehind(t, "b"), leaseOf("b", "pod", 0)},
			want: "a b", alive: "the controller in namespace b runs", renewed: "b",
		},
		"the one that runs watches other namespaces": {
			ns:   "shop",
			left: []apiruntime.Object{leftBehind(t, "a"), leaseOf("a", "", days), leftBehind(t, "b", "--namespaces=bank"), leaseOf("b", "pod", 0)},
			want: "a",
		},
		"the user names the one that has ended": {
			at: "a", left: []apiruntime.Object{leftBehind(t, "a"), leaseOf("a", "", days), leftBehind(t, "b"), leaseOf("b", "pod", 0)},
			want: "a",
		},
		"its lease may not be read": {
			left: []apiruntime.Object{leftBehind(t, "a")}, forbidden: "leases deployments",
			want: "a", alive: "whether the controller in namespace a runs is unknown: you may not read its Lease, and Deployment reroll-reroll could not be read",
		},
		"its ConfigMap was deleted, and it runs": {
			at: "a", left: []apiruntime.Object{leaseOf("a", "pod", 0)},
			want: "a", alive: "the controller in namespace a runs", renewed: "a",
		},
		"its ConfigMap and its lease were deleted": {at: "a", want: "a"},
		"its ConfigMap was deleted, and its lease may not be read": {
			at: "a", forbidden: "leases",
			want: "a", alive: "whether the controller in namespace a runs is unknown: you may not read its Lease",
		},
		"there is none":                 {},
		"there is only one of Reloader": {left: []apiruntime.Object{reloader}},
		"it may be in a namespace that the user may not read": {
			ns: "shop", forbidden: everywhere,
			alive: "whether a controller runs is unknown: you may not look for the controller in all namespaces; name its namespace with --controller-namespace",
		},
		"its ConfigMap is damaged": {
			left:  []apiruntime.Object{broken},
			alive: "whether the controller in namespace odd runs is unknown: read the settings in ConfigMap odd/reloader-meta-info: unexpected end of JSON input",
		},
	} {
		t.Run(about, func(t *testing.T) {
			c := &Cluster{kubeapi.Client{Interface: forbidding(tc.forbidden, tc.left...)}}
			got, alive, err := c.Installations(t.Context(), tc.at, tc.ns, renewing(t, c, tc.renewed))
			if err != nil {
				t.Fatal(err)
			}
			slices.Sort(got)
			if strings.Join(got, " ") != tc.want || alive != tc.alive {
				t.Errorf("got %v, alive %q; want %s, alive %q", got, alive, tc.want, tc.alive)
			}
		})
	}
}

func TestARequiredControllerHasToRenewItsLease(t *testing.T) {
	for about, tc := range map[string]struct {
		renewed string
		code    int
	}{
		"it runs":                {"reroll", CodeUpToDate},
		"it was killed just now": {"", CodeUnknown},
	} {
		t.Run(about, func(t *testing.T) {
			s := asked(t, "reroll", "shop", "", leftBehind(t, "reroll"), leaseOf("reroll", "pod", 0))
			c := &Cluster{kubeapi.Client{Interface: forbidding("", leaseOf("reroll", "pod", 0))}}
			clk := renewing(t, c, tc.renewed)
			c.Observe(t.Context(), s, clk)
			status := Status{Settings: s, Namespace: "shop", RequireController: true, Now: clk.Now()}
			if got := status.Code(); got != tc.code {
				t.Errorf("the exit code is %d, want %d", got, tc.code)
			}
		})
	}
}

// renewing returns a clock that advances when the command waits for it, while the leader renews its
// Lease.
func renewing(t *testing.T, c *Cluster, renewed string) clock.Clock {
	t.Helper()
	clk, done := clocktesting.NewFakeClock(noon), make(chan struct{})
	var moving sync.WaitGroup
	moving.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			if !clk.HasWaiters() {
				runtime.Gosched()
				continue
			}
			for ns := range strings.FieldsSeq(renewed) {
				held := leaseOf(ns, "pod", noon.Sub(clk.Now().Add(between)))
				if _, err := c.Leases(ns).Update(context.Background(), held, metav1.UpdateOptions{FieldManager: workload.FieldManager}); err != nil {
					t.Error(err)
				}
			}
			clk.Step(between)
		}
	})
	t.Cleanup(func() { close(done); moving.Wait() })
	return clk
}

// forbidding returns a cluster with resources that the user may not read.
func forbidding(resources string, objects ...apiruntime.Object) clientset.Interface {
	client := clientsettest.New(objects...)
	for resource := range strings.FieldsSeq(resources) {
		verb := "*"
		if resource == everywhere {
			verb, resource = "list", "configmaps"
		}
		client.PrependReactor(verb, resource, func(action clienttesting.Action) (bool, apiruntime.Object, error) {
			return true, nil, apierrors.NewForbidden(action.GetResource().GroupResource(), "", nil)
		})
	}
	return client
}
