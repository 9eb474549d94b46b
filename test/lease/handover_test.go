package lease

import (
	"net/http"
	"path"
	"slices"
	"testing"
)

func TestAStandbyGoesOnWhereTheFirstWasStopped(t *testing.T) {
	i := install(t)
	first := i.start("first", "--enable-ha")
	i.says(first, "holding the lease", `"identity":"first"`)
	// Start returns when it is ready: a standby is, or an upgrade of the Deployment would wait for
	// ever.
	standby := i.start("standby", "--enable-ha")
	i.says(standby, "waiting for the lease", `"holder":"first"`)
	i.edit("red")
	i.rollsOnce(0)
	if n := len(standby.proxy.requests(aboutReload)); n > 0 {
		t.Errorf("the standby has written %d times while the first acts", n)
	}

	i.must(first.Stop(i.ctx)) // any exit code but 0 is an error
	i.edit("blue")
	i.rollsOnce(1)
	i.heldBy("standby")
	i.says(standby, "holding the lease")
	i.says(first, "released the lease")

	// The first look of the standby after the release takes the lease.
	updates := first.proxy.requests(func(r *request) bool { return aboutLease(r) && r.method == http.MethodPut })
	released := updates[len(updates)-1].ended
	looks := standby.proxy.requests(func(r *request) bool { return aboutLease(r) && r.begun > released })
	if len(looks) < 2 || looks[0].method != http.MethodGet || looks[1].method != http.MethodPut || looks[1].code != http.StatusOK {
		t.Errorf("after the release the standby asked: %+v", looks[:min(len(looks), 4)])
	}
	// What it takes over with is what it has seen all the time.
	read := standby.proxy.requests(func(r *request) bool {
		return r.begun > released && r.method == http.MethodGet && slices.Contains([]string{"configmaps", "secrets", "deployments"}, path.Base(r.path))
	})
	if len(read) > 0 {
		t.Errorf("the standby reads again when it takes over: %+v", read)
	}
	i.must(standby.Stop(i.ctx))
	i.heldBy("")
}

func TestWithoutHATwoVersionsDoNotActAtOnceEither(t *testing.T) {
	i := install(t)
	old := i.start("old")
	i.says(old, "holding the lease")
	i.start("new")
	i.edit("red")
	i.rollsOnce(0)
	i.must(old.Stop(i.ctx))
	i.edit("blue")
	i.rollsOnce(1)
	i.heldBy("new")
}

func TestAContainerThatIsStartedAgainDoesNotWaitForItself(t *testing.T) {
	i := install(t)
	first := i.start("pod", "--leader-election-lease-duration=1h")
	i.must(i.ns.AwaitAdopted(i.ctx, web))
	first.Kill()
	i.edit("red")
	again := i.start("pod", "--leader-election-lease-duration=1h")
	i.rollsOnce(0)
	if lines := again.Log.Holding("waiting for the lease"); len(lines) > 0 {
		t.Errorf("it waits for itself: %q", lines)
	}
}

func TestADryRunHoldsNoLease(t *testing.T) {
	i := install(t)
	dry := i.start("dry", "--dry-run", "--enable-ha")
	acting := i.start("acting", "--enable-ha")
	i.says(acting, "holding the lease")
	i.edit("red")
	i.rollsOnce(0)
	if asked := dry.proxy.requests(aboutLease); len(asked) > 0 {
		t.Errorf("the dry run has asked: %+v", asked)
	}
}
