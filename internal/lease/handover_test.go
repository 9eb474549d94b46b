package lease_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/reroll-dev/reroll/internal/lease"
)

func TestAStandbyTakesOverWithinOneRetryPeriodOfACleanHandOver(t *testing.T) {
	p := newPlace(t)
	first := p.instance("first", as{}).acquires()
	standby := p.instance("standby", as{})
	var seen atomic.Int32
	standby.OnAnother(func() { seen.Add(1) })
	standby.waits(p.ctx)
	for range 20 {
		first.tick(retry)
		standby.tick(retry)
	}
	if seen.Load() != 20 {
		t.Errorf("the first one was seen to renew the lease %d times", seen.Load())
	}
	if standby.hasAcquired() || p.heldBy() != "first" {
		t.Fatalf("%s holds the lease while the first renews it", p.heldBy())
	}

	first.Release(p.ctx)
	if first.Held() {
		t.Error("released and held")
	}
	standby.wire.asked()
	// The standby has just read the lease. A release now takes longest to be noticed.
	standby.tick(retry - 1)
	if asked := standby.wire.asked(); asked != "" {
		t.Errorf("it asks before it is time: %s", asked)
	}
	standby.tick(1)
	standby.rests()
	if !standby.Held() || standby.wire.asked() != "GET PUT" {
		t.Errorf("the first look after the release does not take the lease")
	}
	if err := <-standby.acquired; err != nil {
		t.Error(err)
	}
	if seen.Load() != 20 {
		t.Error("a release is taken for a renewal, or what it does itself for what another one does")
	}

	for about, tc := range map[string]struct {
		of    *instance
		words []string
	}{
		"waiting":  {standby, []string{"level=INFO", "waiting for the lease", "holder=first", "identity=standby"}},
		"holding":  {standby, []string{"level=INFO", "holding the lease", "lease=" + p.namespace + "/" + lease.Name}},
		"released": {first, []string{"level=INFO", "released the lease", "identity=first"}},
	} {
		if lines := tc.of.log.with(tc.words...); len(lines) != 1 {
			t.Errorf("%s: want one line, got %q of %q", about, lines, tc.of.log.with())
		}
	}
	if all := standby.log.with(); len(all) != 2 {
		t.Errorf("the standby says more than that it waits and that it holds: %q", all)
	}
}

func TestReleaseEmptiesTheRecord(t *testing.T) {
	p := newPlace(t)
	i := p.instance("first", as{}).acquires()
	i.Release(p.ctx)
	i.Release(p.ctx) // a second release changes nothing
	l := p.lease()
	if *l.Spec.HolderIdentity != "" || *l.Spec.LeaseDurationSeconds != 1 || *l.Spec.LeaseTransitions != 0 {
		t.Errorf("record: %+v", l.Spec)
	}
	if i.clock.HasWaiters() {
		t.Error("it goes on renewing")
	}
	p.instance("second", as{}).acquires()
	if l := p.lease(); *l.Spec.HolderIdentity != "second" || *l.Spec.LeaseTransitions != 1 || *l.Spec.LeaseDurationSeconds != 15 {
		t.Errorf("record: %+v", l.Spec)
	}
}

func TestAStandbyAcquiresTheExpiredLeaseOfACrashedHolder(t *testing.T) {
	for about, skew := range map[string]time.Duration{
		"same clock":           0,
		"its clock was ahead":  365 * 24 * time.Hour,
		"its clock was behind": -365 * 24 * time.Hour,
	} {
		t.Run(about, func(t *testing.T) {
			p := newPlace(t)
			p.instance("crashed", as{skew: skew}).acquires() // its clock stops here
			standby := p.instance("standby", as{}).waits(p.ctx)
			for passed := retry; passed < duration; passed += retry {
				standby.tick(retry)
				if standby.Held() {
					t.Fatalf("taken after %s, before it has run out", passed)
				}
			}
			standby.tick(retry)
			if !standby.Held() || p.heldBy() != "standby" {
				t.Errorf("not taken though it has run out: %s holds it", p.heldBy())
			}
		})
	}
}

func TestARecordWithoutADurationIsGivenOurs(t *testing.T) {
	p := newPlace(t)
	p.instance("crashed", as{}).acquires()
	p.change(func(l *coordinationv1.Lease) { l.Spec.LeaseDurationSeconds = nil })
	standby := p.instance("standby", as{}).waits(p.ctx)
	standby.tick(duration - 1)
	if standby.Held() {
		t.Error("taken at once")
	}
	standby.tick(retry)
	if !standby.Held() {
		t.Error("not taken after our own duration")
	}
}

func TestTheRecordedDurationIsRoundedUp(t *testing.T) {
	p := newPlace(t)
	p.instance("first", as{lasts: 14*time.Second + 1}).acquires()
	if got := *p.lease().Spec.LeaseDurationSeconds; got != 15 {
		t.Errorf("%d s for 14 s and a little", got)
	}
}

func TestARestartedContainerHasTheLeaseAtOnce(t *testing.T) {
	p := newPlace(t)
	before := p.instance("pod", as{}).acquires()
	was := p.lease()
	after := p.instance("pod", as{}).acquires()
	if lines := after.log.with("waiting"); len(lines) > 0 {
		t.Errorf("it waits for itself: %q", lines)
	}
	if now := p.lease(); *now.Spec.LeaseTransitions != *was.Spec.LeaseTransitions || now.Spec.AcquireTime.Equal(was.Spec.AcquireTime) {
		t.Errorf("record before: %+v\nafter: %+v", was.Spec, now.Spec)
	}
	// If the other process is still alive, it must notice.
	before.tick(retry)
	if err := before.awaitLost(); err == nil || after.isLost() {
		t.Errorf("the earlier process: %v; the later one has lost it: %t", err, after.isLost())
	}
}

func TestOneOfManyGetsIt(t *testing.T) {
	p := newPlace(t)
	first := p.instance("first", as{}).acquires()
	var standbys []*instance
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		standbys = append(standbys, p.instance(name, as{}).waits(p.ctx))
	}
	first.Release(p.ctx)
	for _, s := range standbys {
		s.clock.Step(retry)
	}
	holders := 0
	for _, s := range standbys {
		s.rests()
		if s.Held() {
			holders++
			if s.name != p.heldBy() {
				t.Errorf("%s thinks it holds what %s does", s.name, p.heldBy())
			}
		}
	}
	if holders != 1 {
		t.Errorf("%d hold it", holders)
	}
}

func TestWaitingEndsWithTheContext(t *testing.T) {
	p := newPlace(t)
	p.instance("first", as{}).acquires()
	ctx, cancel := context.WithCancel(p.ctx)
	standby := p.instance("standby", as{}).waits(ctx)
	cancel()
	if err := <-standby.acquired; !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
	standby.wire.asked()
	standby.Release(p.ctx)
	if asked := standby.wire.asked(); asked != "" || p.heldBy() != "first" {
		t.Errorf("it releases what it does not hold: %s, held by %q", asked, p.heldBy())
	}
}

func TestTheLeaseIsRenewedUntilItIsReleased(t *testing.T) {
	p := newPlace(t)
	ctx, terminate := context.WithCancel(p.ctx)
	i := p.instance("first", as{})
	if err := i.acquire(ctx); err != nil {
		t.Fatal(err)
	}
	i.rests()
	terminate() // writes in flight must complete under the lease
	for range 20 {
		i.tick(retry)
	}
	if !i.Held() || p.lease().Spec.RenewTime.Equal(p.lease().Spec.AcquireTime) {
		t.Errorf("held: %t, lease: %+v", i.Held(), p.lease().Spec)
	}
}

func TestALeaseThatIsTakenWhileTheProcessEndsIsReleased(t *testing.T) {
	p := newPlace(t)
	ctx, cancel := context.WithCancel(p.ctx)
	i := p.instance("first", as{})
	create := i.wire.holdNext(http.MethodPost)
	i.acquired = make(chan error, 1)
	go func() { i.acquired <- i.Acquire(ctx) }()
	i.awaitAnswered(create)
	cancel()
	close(create.free)
	if err := <-i.acquired; err != nil {
		t.Error(err)
	}
	i.Release(p.ctx)
	if holder := p.heldBy(); holder != "" {
		t.Errorf("%q holds it and is gone", holder)
	}
}

func TestAReleaseIsNotStoppedByARenewalWithoutAnswer(t *testing.T) {
	p := newPlace(t)
	i := p.instance("first", as{}).acquires()
	renewal := i.wire.holdNext(http.MethodPut)
	i.clock.Step(retry)
	i.awaitAnswered(renewal)
	i.Release(p.ctx)
	if holder := p.heldBy(); holder != "" {
		t.Errorf("%q holds it and is gone", holder)
	}
}

func TestASingleReplicaWarnsAboutAnotherHolder(t *testing.T) {
	for about, tc := range map[string]struct {
		alone bool
		want  int
	}{
		"without HA": {true, 1},
		"with HA":    {false, 0},
	} {
		t.Run(about, func(t *testing.T) {
			p := newPlace(t)
			first := p.instance("first", as{}).acquires()
			second := p.instance("second", as{alone: tc.alone}).waits(p.ctx)
			warnings := func() int {
				return len(second.log.with("level=WARN", "two installations cannot share a namespace", "holder=first"))
			}
			for range 30 { // four lease durations
				first.tick(retry)
				second.tick(retry)
			}
			if warnings() > 0 {
				t.Errorf("it warns while a pod may still be ending")
			}
			for range 10 {
				first.tick(retry)
				second.tick(retry)
			}
			if warnings() != tc.want {
				t.Errorf("%d warnings, want %d: %q", warnings(), tc.want, second.log.with())
			}
		})
	}
}
