package lease_test

import (
	"context"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/reroll-dev/reroll/internal/lease"
)

// elector is a replica of Reloader: the leader election of client-go on the same lease. Its clock
// is the real one.
type elector struct {
	*leaderelection.LeaderElector
	wire  *wire
	stop  context.CancelFunc
	ended chan struct{}
}

func (p *place) elector() *elector {
	p.Helper()
	e := &elector{wire: &wire{}, ended: make(chan struct{})}
	config := shared.Config()
	config.Wrap(e.wire.over)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		p.Fatal(err)
	}
	e.LeaderElector, err = leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Name: lease.Name, Namespace: p.namespace},
			Client:     client.CoordinationV1(),
			LockConfig: resourcelock.ResourceLockConfig{Identity: "reloader"},
		},
		ReleaseOnCancel: true,
		LeaseDuration:   duration, RenewDeadline: deadline, RetryPeriod: 20 * time.Millisecond,
		Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {}, OnStoppedLeading: func() {}},
	})
	if err != nil {
		p.Fatal(err)
	}
	ctx, stop := context.WithCancel(p.ctx)
	e.stop = stop
	go func() {
		defer close(e.ended)
		e.Run(ctx)
	}()
	p.Cleanup(stop)
	return e
}

func (p *place) awaitLeads(e *elector) {
	p.Helper()
	p.await("client-go to take the lease", func() string {
		if e.IsLeader() {
			return ""
		}
		return e.GetLeader() + " leads"
	})
}

func TestReloaderHandsOverToReroll(t *testing.T) {
	p := newPlace(t)
	reloader := p.elector()
	p.awaitLeads(reloader)
	standby := p.instance("reroll", as{}).waits(p.ctx)
	if lines := standby.log.with("waiting for the lease", "holder=reloader"); len(lines) != 1 {
		t.Errorf("log: %q", standby.log.with())
	}
	reloader.stop()
	<-reloader.ended
	standby.tick(retry)
	if !standby.Held() || p.heldBy() != "reroll" {
		t.Errorf("held by %q", p.heldBy())
	}
}

func TestTheExpiredLeaseOfACrashedReloaderIsAcquired(t *testing.T) {
	p := newPlace(t)
	reloader := p.elector()
	p.awaitLeads(reloader)
	standby := p.instance("reroll", as{}).waits(p.ctx)
	reloader.wire.setCut(true)
	p.await("the last request of client-go to be answered", func() string {
		if reloader.wire.busy() {
			return "it is under way"
		}
		return ""
	})
	// A request that was still in flight may have renewed the lease after the first read of the
	// standby. This write makes that certain.
	p.change(func(l *coordinationv1.Lease) { l.Spec.RenewTime.Time = l.Spec.RenewTime.Add(time.Second) })
	standby.tick(retry)
	standby.tick(duration - retry)
	if standby.Held() {
		t.Error("taken before it has run out")
	}
	standby.tick(retry)
	if !standby.Held() {
		t.Error("not taken though it has run out")
	}
}

func TestRerollHandsOverToReloader(t *testing.T) {
	p := newPlace(t)
	reroll := p.instance("reroll", as{}).acquires()
	reloader := p.elector()
	looks := 0
	p.await("client-go to have looked several times", func() string {
		if p.heldBy() != "reroll" {
			t.Fatalf("held by %s", p.heldBy())
		}
		if looks += strings.Count(reloader.wire.asked(), "GET"); looks < 5 {
			return "it has not"
		}
		return ""
	})
	if reloader.IsLeader() || reloader.GetLeader() != "reroll" {
		t.Errorf("client-go thinks that %s leads", reloader.GetLeader())
	}
	reroll.Release(p.ctx)
	p.awaitLeads(reloader)
}

func TestReloaderTakesWhatACrashedRerollHeld(t *testing.T) {
	p := newPlace(t)
	reroll := p.instance("reroll", as{lasts: deadline + 1}).acquires() // its clock stops here
	reloader := p.elector()
	p.awaitLeads(reloader)
	reroll.tick(retry)
	if err := reroll.awaitLost(); !strings.Contains(err.Error(), "reloader holds it now") {
		t.Errorf("error: %v", err)
	}
}
