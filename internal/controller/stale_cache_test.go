package controller

import (
	"strings"
	"testing"
	"time"
)

// A snapshot is put object by object, and takes its time. What was written meanwhile comes by the
// watch that goes on from it.
func TestASnapshotFromBeforeAReloadEndsNothing(t *testing.T) {
	r := newRoad(t)
	r.oldPods = true
	after := r.stands()
	asked, patched := r.asked, r.patched
	r.deployments().isListed(r.before)
	r.play(watchTakes - 2*time.Second)
	if r.controller.RolloutsInProgress() != 1 || r.asked != asked || r.patched != patched {
		t.Errorf("%d are followed, pods were asked for %d times, and %d writes were tried", r.controller.RolloutsInProgress(), r.asked-asked, r.patched-patched)
	}
	r.deployments().arrives(after)
	r.pods(0, 3)
	r.status(3, 3, 3)
	r.play(time.Minute)
	if len(r.lines) != 1 || !strings.HasPrefix(r.lines[0], "rolled 3 pods") || r.patched != patched || r.controller.stale() != 0 {
		t.Errorf("told was %q, %d writes were tried, %d count as set back", r.lines, r.patched-patched, r.controller.stale())
	}
}

func TestAStorageThatWasSetBackBehindAReloadIsBelieved(t *testing.T) {
	r := newRoad(t)
	r.oldPods = true
	patched := r.patched
	r.deployments().isListed(r.before)
	r.play(watchTakes + 2*time.Second)
	if r.controller.RolloutsInProgress() != 0 || r.patched == patched || r.controller.stale() != 0 {
		t.Errorf("%d are followed, %d writes were tried, %d count as set back", r.controller.RolloutsInProgress(), r.patched-patched, r.controller.stale())
	}
}

func TestASnapshotFromBeforeTheEndOfAPauseIsNoOtherPause(t *testing.T) {
	r := paused(t)
	before := r.stands()
	r.play(10 * time.Minute)
	after := r.stands()
	told := []string{"resumed at 12:11:01, spoilt false"}
	r.wantPause(false, told...)
	r.deployments().isListed(before)
	r.play(watchTakes / 2)
	r.wantPause(false, told...)
	r.deployments().arrives(after)
	r.play(time.Minute)
	r.wantPause(false, told...)
	if r.controller.stale() != 0 {
		t.Error("it counts as set back still")
	}
}
