package lease_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/lease"
)

func TestALostLeaseIsNoticedAtTheNextRenewal(t *testing.T) {
	for about, tc := range map[string]struct {
		act  func(*place)
		want string
	}{
		"deleted":          {(*place).delete, "was lost: it was deleted"},
		"taken by another": {func(p *place) { p.change(func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("thief") }) }, "was lost: thief holds it now"},
		"emptied":          {func(p *place) { p.change(func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("") }) }, "was lost: another client removed its holder"},
		"made anew for another": {
			func(p *place) { p.delete(); p.instance("second", as{}).acquires() },
			"was lost: second holds it now",
		},
		"made anew under the same name": {
			func(p *place) { p.delete(); p.instance("first", as{}).acquires() },
			"was lost: another process with the identity first acquired it",
		},
	} {
		t.Run(about, func(t *testing.T) {
			p := newPlace(t)
			i := p.instance("first", as{}).acquires()
			tc.act(p)
			before := p.lease()
			i.tick(retry)
			err := i.awaitLost()
			if err == nil || !strings.HasSuffix(err.Error(), tc.want) || !strings.HasPrefix(err.Error(), "lease "+p.namespace+"/"+lease.Name) {
				t.Errorf("error: %v\nwant: %s", err, tc.want)
			}
			if lines := i.log.with("level=INFO", "lost the lease", tc.want); len(lines) != 1 {
				t.Errorf("want one line, got %q", i.log.with())
			}
			i.Release(p.ctx)
			if now := p.lease(); (now == nil) != (before == nil) || now != nil && now.ResourceVersion != before.ResourceVersion {
				t.Errorf("it touches what is not its own: %+v", now)
			}
		})
	}
}

func TestALeaseThatOthersHoldIsNotReleased(t *testing.T) {
	p := newPlace(t)
	i := p.instance("first", as{}).acquires()
	p.change(func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("thief") })
	i.Release(p.ctx) // before a renewal can show it
	if p.heldBy() != "thief" {
		t.Errorf("held by %q", p.heldBy())
	}
	if lines := i.log.with("level=INFO", "lost the lease"); len(lines) != 1 {
		t.Errorf("log: %q", i.log.with())
	}
}

func TestALabelOnTheLeaseDoesNotLoseIt(t *testing.T) {
	p := newPlace(t)
	i := p.instance("first", as{}).acquires()
	p.change(func(l *coordinationv1.Lease) { metav1.SetMetaDataLabel(&l.ObjectMeta, "team", "a") })
	was := p.lease()
	i.tick(retry)
	if now := p.lease(); i.isLost() || !i.Held() || now.Labels["team"] != "a" || now.Spec.RenewTime.Equal(was.Spec.RenewTime) {
		t.Errorf("lost: %t, lease: %+v", i.isLost(), now)
	}
}

func TestItDoesNotActAfterItsDeadline(t *testing.T) {
	p := newPlace(t)
	i := p.instance("first", as{}).acquires()
	renewal := i.wire.holdNext(http.MethodPut)
	i.clock.Step(deadline - 1)
	i.awaitAnswered(renewal)
	if !i.Held() {
		t.Error("not held before the deadline")
	}
	i.clock.Step(1)
	if i.Held() {
		t.Error("held, and nobody knows whether the renewal has arrived")
	}
	// The renewal started a moment before the deadline, and the next deadline counts from that
	// start.
	close(renewal.free)
	i.rests()
	if !i.Held() {
		t.Error("renewed and not held")
	}
	renewal = i.wire.holdNext(http.MethodPut)
	i.clock.Step(deadline - 2)
	if !i.Held() {
		t.Error("not held until its deadline")
	}
	i.clock.Step(1)
	if i.Held() {
		t.Error("held for longer, reckoned from when the answer came")
	}
	i.awaitAnswered(renewal)
	close(renewal.free)
}

func TestAFrozenProcessHoldsNothingWhenItThaws(t *testing.T) {
	p := newPlace(t)
	frozen := p.instance("frozen", as{}).acquires()
	standby := p.instance("standby", as{}).waits(p.ctx)
	for range 8 {
		standby.tick(retry)
	}
	if !standby.Held() {
		t.Fatal("nobody took the lease of the frozen process")
	}
	renewal := frozen.wire.holdNext(http.MethodPut)
	frozen.clock.Step(time.Hour)
	if frozen.Held() {
		t.Error("it holds what it has not renewed for an hour")
	}
	frozen.awaitAnswered(renewal)
	if frozen.Held() {
		t.Error("it holds what it has not renewed for an hour")
	}
	close(renewal.free)
	if err := frozen.awaitLost(); err == nil || !strings.Contains(err.Error(), "standby holds it now") {
		t.Errorf("error: %v", err)
	}
}

func TestAFrozenProcessContinuesIfItsLeaseIsFree(t *testing.T) {
	p := newPlace(t)
	i := p.instance("first", as{}).acquires()
	i.tick(time.Hour)
	if !i.Held() || i.isLost() {
		t.Errorf("lost: %t %v", i.isLost(), i.Err())
	}
}

func TestWithoutAnAPIServerItPausesAndGoesOn(t *testing.T) {
	p := newPlace(t)
	i := p.instance("first", as{}).acquires()
	i.wire.setCut(true)
	for passed := retry; passed < deadline; passed += retry {
		i.tick(retry)
		if !i.Held() {
			t.Fatalf("not held after %s", passed)
		}
	}
	for range 100 {
		i.tick(retry)
	}
	if i.Held() || i.isLost() {
		t.Errorf("held: %t, lost: %t, want neither", i.Held(), i.isLost())
	}
	if lines := i.log.with("level=WARN", "writing nothing", errAway.Error()); len(lines) != 1 {
		t.Errorf("want one warning, got %q", i.log.with())
	}
	i.wire.setCut(false)
	i.tick(retry)
	if !i.Held() || i.isLost() {
		t.Errorf("held: %t, lost: %t after the API server is back", i.Held(), i.isLost())
	}
	if lines := i.log.with("writing again"); len(lines) != 1 {
		t.Errorf("log: %q", i.log.with())
	}
}

func TestADisconnectedHolderNoticesTheNewHolder(t *testing.T) {
	p := newPlace(t)
	i := p.instance("first", as{}).acquires()
	standby := p.instance("standby", as{}).waits(p.ctx)
	i.wire.setCut(true)
	for range 8 {
		i.tick(retry)
		standby.tick(retry)
		if i.Held() && standby.Held() {
			t.Fatal("two hold it")
		}
	}
	if !standby.Held() {
		t.Fatal("the standby did not take over")
	}
	i.wire.setCut(false)
	i.tick(retry)
	if err := i.awaitLost(); !strings.Contains(err.Error(), "standby holds it now") {
		t.Errorf("error: %v", err)
	}
}

func TestWhoWaitsOutlivesTheAPIServer(t *testing.T) {
	p := newPlace(t)
	i := p.instance("first", as{})
	i.wire.setCut(true)
	i.waits(p.ctx)
	for range 5 {
		i.tick(retry)
	}
	if lines := i.log.with("level=WARN", errAway.Error()); len(lines) != 1 {
		t.Errorf("want one warning, got %q", i.log.with())
	}
	i.wire.setCut(false)
	i.tick(retry)
	if !i.Held() {
		t.Error("not held after the API server is back")
	}
}
