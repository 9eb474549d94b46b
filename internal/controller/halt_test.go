package controller

import (
	"context"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/metainfo"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

// pinboard implements Halts in memory.
type pinboard struct {
	metainfo.Halted
	accepted int64
	fails    error
}

// Published implements Halts.
func (p *pinboard) Published(context.Context) (metainfo.Halted, int64, error) {
	return p.Halted, p.accepted, p.fails
}

// Publish implements Halts.
func (p *pinboard) Publish(_ context.Context, h metainfo.Halted) (int64, error) {
	p.Halted = h
	return p.accepted, p.fails
}

// halting is a stage of four Deployments, where two of the latest four reloads halt all others. Two
// have failed.
func halting(t *testing.T) (*waveStage, *pinboard) {
	t.Helper()
	s := inWaves(t, nil, "0", "0", "0", "0")
	pins := &pinboard{}
	s.opts().Halt, s.opts().Halts = gate.Halt{Percent: 50, Last: 4}, pins
	s.haltsAgain()
	s.change("2")
	s.want("nothing failed yet", "w0 w1 w2 w3")
	s.roll("w2", true)
	s.roll("w3", true)
	s.halted("two are in progress", false)
	s.says = nil
	s.roll("w0", false)
	s.roll("w1", false)
	s.play(11 * time.Minute)
	s.halted("two failures", true)
	return s, pins
}

// halted compares whether reloads are halted, and lets the controller publish that.
func (s *waveStage) halted(about string, want bool) {
	s.Helper()
	s.controller.publishHalt(s.Context(), !want)
	if got := s.controller.ReloadsHalted(); got != want {
		s.Errorf("%s: halted is %t", about, got)
	}
	s.play(5 * time.Second)
}

func TestTooManyFailedReloadsHaltTheOthersUntilTheyRecover(t *testing.T) {
	s, pins := halting(t)
	if !pins.In(namespace) || pins.In("other") || pins.Why != "2 of the last 4 reloads in the cluster did not complete (--halt-when-failing=50%/4)" {
		t.Errorf("published is %+v", pins.Halted)
	}
	s.heard("the second failure", "w0 ReloadsHalted: No further reload starts: 2 of the last 4 reloads in the cluster did not complete & reroll resume --all")
	s.change("3")
	s.want("the next data", "w0 w1") // what failed may be mended
	slices.Sort(s.says)
	s.heard("the next data", "w2 ReloadHeld: The reload waits: 2 of the last 4 reloads in the cluster", "w3 ReloadHeld")
	if held := s.controller.HeldBy(gate.Halted); held != 2 {
		t.Errorf("%d wait", held)
	}
	s.play(time.Minute)
	s.want("it is not known yet whether that mends them", "w0 w1")
	s.roll("w0", true)
	s.halted("one of them is mended", false)
	s.want("one of them is mended", "w0 w1 w2 w3")
	if pins.Is() || s.controller.HeldBy(gate.Halted) != 0 {
		t.Errorf("still published is %+v", pins.Halted)
	}
}

// Otherwise each publication causes the next one, as fast as the API server answers.
func TestAHaltThatStaysIsPublishedOnce(t *testing.T) {
	s, pins := halting(t)
	moved := func() bool {
		select {
		case <-s.controller.storm.changed:
			return true
		default:
			return false
		}
	}
	if !moved() {
		t.Error("nobody publishes that reloads are halted")
	}
	s.halted("published", true)
	if moved() {
		t.Error("a halt that is published is published again at once")
	}
	s.change("3")
	s.roll("w0", true)
	if !moved() {
		t.Error("nobody publishes that reloads are not halted any more")
	}
	s.halted("one of them is mended", false)
	if moved() || pins.Is() {
		t.Error("that reloads are not halted any more is published again at once")
	}
}

func TestAUserAcceptsFailedReloadsAndNoLaterOnes(t *testing.T) {
	s, pins := halting(t)
	create := func(name string) {
		s.create(name, "0")
		s.play(5 * time.Second)
	}
	create("w4")
	s.change("3")
	s.want("the next data", "w0 w1")
	pins.accepted = s.clock.Now().Add(time.Hour).Unix()
	s.halted("a time that is to come", true)
	pins.accepted = pins.Newest
	s.halted("all of them are accepted", false)
	s.want("all of them are accepted", "w0 w1 w2 w3 w4")
	for _, name := range []string{"w2", "w3"} {
		s.roll(name, false)
		s.play(11 * time.Minute)
	}
	s.halted("two others fail later", true)
}

func TestAnUrgentChangeIsNotHalted(t *testing.T) {
	s, _ := halting(t)
	s.source(annotations.Urgent, "true")
	s.change("3")
	s.want("an urgent change", "w0 w1 w2 w3")
}

func TestARestartDoesNotEndAHalt(t *testing.T) {
	s, _ := halting(t)
	next := s.again()
	next.followsAll()
	next.controller.accept(next.Context())
	next.edit("ca", "3")
	next.play(5 * time.Second)
	for _, name := range []string{"w2", "w3"} {
		if next.reloadedWith[name] {
			t.Errorf("%s is reloaded", name)
		}
	}
}

// The status of a StatefulSet has no deadline. Only its Pods show that its rollout has exceeded
// one.
func TestTheNextLeaderWaitsUntilItHasListedThePods(t *testing.T) {
	s, _ := halting(t)
	for _, name := range []string{"w0", "w1"} {
		s.edited(name, func(d *appsv1.Deployment) { d.Status.Conditions = nil })
	}
	next := s.again()
	next.followsAll()
	next.controller.accept(next.Context())
	ask := next.controller.otherWorkloads(nil).Halt
	if a := ask(named("w2")); a.Open() || a.Stopped {
		t.Errorf("before the Pods are listed: %+v", a)
	}
	next.play(time.Second)
	if a := ask(named("w2")); !a.Stopped {
		t.Errorf("the Pods are listed: %+v", a)
	}
}

// again is another controller in the same cluster, where Pods from before all changes run. It knows
// nothing else.
func (s *waveStage) again() *waveStage {
	s.Helper()
	next := &waveStage{stage: newStage(s.T), names: s.names, reloadedWith: map[string]bool{}}
	next.server, next.events = s.server, s.events
	next.sends(next)
	next.running, next.oldPods = s.running, true
	next.opts().Halt, next.opts().Halts = s.opts().Halt, s.opts().Halts
	next.haltsAgain()
	next.clock.SetTime(s.clock.Now())
	next.lead()
	src, err := s.server.Get("configmaps", inShop("ca"))
	if err != nil {
		s.Fatal(err)
	}
	next.configMaps().isListed(src)
	for _, name := range s.names {
		obj, err := s.server.Get("deployments", inShop(name))
		if err != nil {
			s.Fatal(err)
		}
		next.deployments().isListed(obj)
	}
	return next
}

func TestWithoutAHaltLedgersNoteNoTime(t *testing.T) {
	s := inWaves(t, nil, "0")
	s.change("2")
	if at := s.known().ReloadBegan(named("w0")); at != 0 {
		t.Errorf("it notes %d", at)
	}
	s.opts().Halt = gate.DefaultHalt()
	s.haltsAgain()
	s.roll("w0", true)
	s.change("3")
	if at := s.known().ReloadBegan(named("w0")); at == 0 {
		t.Error("with one, it notes none")
	}
	s.forgets(named("w0"))
	if keys := s.known().LatestReloads(9); len(keys) != 0 {
		t.Errorf("%v are left", keys)
	}
}

func TestADeletedWorkloadMakesRoomForAnEarlierReload(t *testing.T) {
	s, _ := halting(t)
	s.forgets(named("w1"))
	s.halted("one failed workload is deleted", false)
	s.change("3")
	s.want("one failed workload is deleted", "w0 w2 w3")
}

// The latest reloads are the same, whatever order they are read in.
func TestReloadsOfTheSameSecondHaveAnOrder(t *testing.T) {
	s := inWaves(t, nil, "0", "0", "0")
	s.opts().Halt = gate.Halt{Percent: 100, Last: 2}
	s.haltsAgain()
	s.change("2")
	keys := s.known().LatestReloads(2)
	want := []workload.Key{named("w2"), named("w1")}
	if len(keys) != 2 || keys[0] != want[0] || keys[1] != want[1] {
		t.Errorf("%v", keys)
	}
	for _, key := range want {
		if !s.controller.storm.Counts(key, s.known().ReloadBegan(key)) {
			t.Errorf("%s does not count", key)
		}
	}
	if s.controller.storm.Counts(named("w0"), s.known().ReloadBegan(named("w0"))) {
		t.Error("w0 counts, too")
	}
}

func TestWhatAUserRollsLaterIsNoFailureOfTheReload(t *testing.T) {
	s, _ := halting(t)
	changed, err := s.server.Edit("deployments", inShop("w1"), "kubectl", func(obj simapi.Object) {
		obj.(*appsv1.Deployment).Spec.Template.Spec.Containers[0].Image = "app:2"
	})
	if err != nil {
		t.Fatal(err)
	}
	s.deployments().arrives(changed)
	s.halted("another image", false)
	s.roll("w1", false)
	s.play(11 * time.Minute)
	s.halted("another image, which fails", false)
}
