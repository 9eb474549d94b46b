package lease

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/lease"
	"github.com/reroll-dev/reroll/test/harness"
)

// quick are times as short as a slow machine allows for.
var quick = []string{"--enable-ha", "--leader-election-lease-duration=8s", "--leader-election-renew-deadline=6s", "--leader-election-retry-period=500ms"}

func TestNoChangeIsLostWhenTheOneThatActsIsKilled(t *testing.T) {
	i := install(t)
	first := i.start("first", quick...)
	i.says(first, "holding the lease")
	standby := i.start("standby", quick...)
	i.says(standby, "waiting for the lease", `"holder":"first"`)

	i.edit("red") // seen by the first, and not acted upon yet
	first.Kill()
	i.rollsOnce(0)
	i.heldBy("standby")

	i.edit("blue")
	i.rollsOnce(1)
}

func TestOneWhosePodIsGoneIsNotWaitedFor(t *testing.T) {
	const line = "the Pod that held the lease no longer exists"
	for about, tc := range map[string]struct {
		gone  bool
		flags []string
	}{
		"it is deleted":                   {true, []string{"--leader-election-lease-duration=1h"}}, // longer than anybody waits here
		"it is there when it has run out": {false, quick},
	} {
		t.Run(about, func(t *testing.T) {
			i := install(t)
			i.pod("first")
			i.pod("next")
			first := i.start("first", tc.flags...)
			i.says(first, "holding the lease")
			i.must(i.ns.AwaitAdopted(i.ctx, web))
			first.Kill() // as one that may not write its release any more
			next := i.start("next", tc.flags...)
			i.says(next, "waiting for the lease", `"holder":"first"`)
			if tc.gone {
				i.must(i.ns.Delete(i.ctx, harness.Ref{Kind: "pod", Name: "first"}))
			}
			i.edit("red")
			i.rollsOnce(0)
			i.heldBy("next")
			if lines := next.Log.Holding(line, `"holder":"first"`); (len(lines) == 1) != tc.gone {
				t.Errorf("it says: %q", lines)
			}
		})
	}
}

// pod makes a pod whose name an instance has.
func (i *installation) pod(name string) {
	i.Helper()
	i.must(i.ns.Apply(i.ctx, `
apiVersion: v1
kind: Pod
metadata: {name: `+name+`}
spec: {containers: [{name: reroll, image: reroll}]}
`))
}

func TestAFrozenControllerThatThawsEndsAndWritesNothing(t *testing.T) {
	i := install(t)
	frozen := i.start("frozen", append(quick, "--settle=0s", "--log-level=debug")...)
	i.says(frozen, "holding the lease")
	standby := i.start("standby", append(quick, "--settle=0s")...)
	i.must(frozen.Freeze())
	i.says(standby, "holding the lease")
	i.edit("red")
	i.rollsOnce(0)
	// What it will see when it thaws, before it hears that the lease is another's.
	slow := make(chan struct{})
	frozen.proxy.set(func(p *proxy) {
		p.hold = func(r *http.Request) <-chan struct{} {
			if strings.Contains(r.URL.Path, "/leases") {
				return slow
			}
			return nil
		}
	})
	i.must(standby.Freeze())
	before := len(frozen.proxy.requests(aboutReload))
	i.must(frozen.Thaw())
	i.must(harness.Await(i.ctx, "the thawed one to try to renew", func(context.Context) error {
		tries := frozen.proxy.requests(func(r *request) bool { return aboutLease(r) && r.ended == 0 })
		if len(tries) == 0 {
			return fmt.Errorf("it has not")
		}
		return nil
	}))
	i.edit("blue")
	i.decidesTwice(frozen)
	if now := len(frozen.proxy.requests(aboutReload)); now != before {
		t.Errorf("it has written %d times under a lease that another holds", now-before)
	}
	close(slow)
	if code := i.ended(frozen); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	i.says(frozen, "reroll: lease "+i.ns.Name+"/"+lease.Name+" was lost: standby holds it now")
	i.must(standby.Thaw())
	i.rollsOnce(1)
}

// decidesTwice returns when an instance has found twice that the workload has to be rolled. It
// finds so once if it is able to do it.
func (i *installation) decidesTwice(c *instance) {
	i.Helper()
	i.must(harness.Await(i.ctx, "the controller to decide twice that the workload is to be rolled", func(context.Context) error {
		if n := len(c.Log.Holding(`"decided"`, "/web", `"action":"reload"`)); n < 2 {
			return fmt.Errorf("%d so far", n)
		}
		return nil
	}))
}

func TestALostLeaseEndsTheProcess(t *testing.T) {
	for about, tc := range map[string]struct {
		act  func(*installation)
		want string
	}{
		"deleted": {func(i *installation) {
			i.must(shared.Admin.CoordinationV1().Leases(i.ns.Name).Delete(i.ctx, lease.Name, metav1.DeleteOptions{}))
		}, "it was deleted"},
		"taken by another": {func(i *installation) {
			i.change(func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("thief") })
		}, "thief holds it now"},
	} {
		t.Run(about, func(t *testing.T) {
			i := install(t)
			first := i.start("first")
			i.says(first, "holding the lease")
			tc.act(i)
			if code := i.ended(first); code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
			i.says(first, "reroll: lease "+i.ns.Name+"/"+lease.Name+" was lost: "+tc.want)
			if lines := first.Log.Holding("released the lease"); len(lines) > 0 {
				t.Errorf("it releases what it has lost: %q", lines)
			}
		})
	}
}

// change does what an administrator does by hand, who may be too late.
func (i *installation) change(edit func(*coordinationv1.Lease)) {
	i.Helper()
	i.must(harness.Await(i.ctx, "to change the lease between two renewals", func(ctx context.Context) error {
		l := i.lease()
		edit(l)
		_, err := shared.Admin.CoordinationV1().Leases(i.ns.Name).Update(ctx, l, metav1.UpdateOptions{})
		return err
	}))
}

func TestWithoutRenewalNothingIsWrittenAndNothingIsLost(t *testing.T) {
	i := install(t)
	first := i.start("first", "--settle=0s", "--log-level=debug", "--leader-election-lease-duration=3s", "--leader-election-renew-deadline=2s", "--leader-election-retry-period=100ms")
	i.says(first, "holding the lease")
	i.must(i.ns.AwaitAdopted(i.ctx, web))
	// Of all requests only those about the lease fail, which shows that the others are not made.
	first.proxy.set(func(p *proxy) {
		p.away = func(r *http.Request) bool { return strings.Contains(r.URL.Path, "/leases") }
	})
	i.says(first, "writing nothing until it is")
	before := len(first.proxy.requests(aboutReload))
	i.edit("red")
	i.decidesTwice(first)
	if now := len(first.proxy.requests(aboutReload)); now != before {
		t.Errorf("it has written %d times without a lease", now-before)
	}
	first.proxy.set(func(p *proxy) { p.away = nil })
	i.rollsOnce(0)
	i.must(first.Stop(i.ctx))
}
