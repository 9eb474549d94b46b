package controller

import (
	"errors"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/workload"
	"github.com/reroll-dev/reroll/test/simapi"
)

func rejected() error {
	return apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, "w0", errors.New("an admission policy says no"))
}

// edited changes a Deployment, and lets the watch bring that.
func (s *waveStage) edited(name string, edit func(*appsv1.Deployment)) {
	s.Helper()
	changed, err := s.server.Edit("deployments", inShop(name), "kubectl", func(obj simapi.Object) { edit(obj.(*appsv1.Deployment)) })
	if err != nil {
		s.Fatal(err)
	}
	s.deployments().arrives(changed)
}

// A canary whose reload an admission policy rejects must not block the higher waves in silence.
func TestAReloadThatIsRejectedTryAfterTryStopsTheRest(t *testing.T) {
	s := inWaves(t, nil, "-1", "0")
	s.says = nil
	s.refusesOnly = map[string]error{"w0": rejected()}
	s.change("2")
	s.play(time.Minute)
	s.want("nothing can be written to the canary", "")
	s.heard("it is rejected", "ca WavesStopped: wave -1 stopped, deployment/w0 cannot be reloaded (each write fails)",
		"w1 ReloadHeld: wave -1 stopped, deployment/w0 cannot be reloaded")
	s.play(time.Hour)
	s.heard("further tries")
	s.refusesOnly = nil
	s.play(10 * time.Minute)
	s.roll("w0", true)
	s.want("it is accepted", "w0 w1")
	if s.controller.StoppedSources() != 0 {
		t.Error("it is still stopped")
	}
}

func TestAConflictOrAShortOutageIsNoRejection(t *testing.T) {
	resource := schema.GroupResource{Group: "apps", Resource: "deployments"}
	for about, tc := range map[string]struct {
		err  error
		lets time.Duration
		want int
	}{
		"a conflict":        {apierrors.NewConflict(resource, "w0", errors.New("changed")), 10 * time.Minute, 0},
		"too many requests": {apierrors.NewTooManyRequests("later", 1), 10 * time.Minute, 0},
		"a short outage":    {apierrors.NewInternalError(errors.New("no webhook")), 10 * time.Second, 0},
		"a long outage":     {apierrors.NewInternalError(errors.New("no webhook")), 10 * time.Minute, 1},
	} {
		s := inWaves(t, nil, "-1", "0")
		s.refuses = tc.err
		s.change("2")
		s.play(tc.lets)
		if n := s.controller.StoppedSources(); n != tc.want {
			t.Errorf("%s: %d sources are stopped, want %d", about, n, tc.want)
		}
	}
}

// A write without an answer may have taken effect, but not for ever.
func TestAPlaceIsFreeAgainIfAWriteIsNeverAnswered(t *testing.T) {
	for about, later := range map[string]error{"it is never answered": apierrors.NewInternalError(errors.New("timeout")), "the next try is rejected": rejected()} {
		t.Run(about, func(t *testing.T) {
			s := inWaves(t, map[string]string{annotations.MaxRolling: "1", annotations.MaxFailures: "1"}, "0", "0")
			s.refuses = apierrors.NewInternalError(errors.New("timeout"))
			s.change("2")
			lost := ""
			for _, name := range s.names {
				if s.controller.recordOf(named(name)).sent != nil {
					lost += name
				}
			}
			if len(lost) != len("w0") {
				t.Fatalf("writes to %q were lost, want one", lost)
			}
			s.refusesOnly = map[string]error{lost: later}
			s.refuses = nil
			s.play(time.Second)
			s.want("its place is reserved", "")
			s.play(time.Hour)
			if len(s.reloadedWith) != 1 {
				t.Errorf("reloaded are %v, want the other one", s.reloadedWith)
			}
		})
	}
}

// Which of the two asks first after the edit differs, so it is tried several times.
func TestAnEditOfASettingKeepsWhatIsBeingWritten(t *testing.T) {
	for range 12 {
		s := inWaves(t, map[string]string{annotations.MaxRolling: "1"}, "0", "0")
		s.refuses = apierrors.NewInternalError(errors.New("timeout"))
		s.change("2")
		s.source(annotations.Soak, "1s")
		lost := 0
		for _, name := range s.names {
			if s.controller.recordOf(named(name)).sent != nil {
				lost++
			}
		}
		if lost != 1 {
			t.Fatalf("%d writes were begun with a budget of 1", lost)
		}
	}
}

func TestAnIgnoredWorkloadHoldsUpNobody(t *testing.T) {
	s := inWaves(t, map[string]string{annotations.DefaultNames().Match: "true"}, "0", "1")
	s.edited("w0", func(d *appsv1.Deployment) {
		delete(d.Annotations, annotations.DefaultNames().Auto)
		d.Annotations[annotations.DefaultNames().Search] = "true"
	})
	s.play(5 * time.Second)
	s.refusesOnly = map[string]error{"w0": apierrors.NewInternalError(errors.New("timeout"))}
	s.change("2")
	s.want("w1 waits for w0", "")
	s.source(annotations.DefaultNames().Match, "false")
	s.play(5 * time.Minute)
	s.want("the source does not concern w0 any more", "w1")
}

func TestPodsThatCannotBeListedAfterARestartAreReportedInTheEnd(t *testing.T) {
	s := inWaves(t, nil, "-1", "0")
	s.change("2")
	s.roll("w0", false)
	next := s.again()
	next.followsAll()
	next.unlistable = rejected()
	next.play(10 * time.Minute)
	next.want("the Pods cannot be listed", "")
	if next.controller.StoppedSources() != 1 {
		t.Error("nothing reports that")
	}
	next.unlistable = nil
	next.play(10 * time.Minute)
	next.roll("w0", true)
	next.want("they can", "w1")
}

// A canary that goes up and down is down at the restart. Its status shows only since when: nothing
// may start after it until it has stayed available.
func TestWhatIsDownAtARestartIsNotDone(t *testing.T) {
	s := inWaves(t, map[string]string{annotations.Soak: "3m"}, "-1", "0")
	s.change("2")
	s.want("the canary", "w0")
	completed := metav1.NewTime(s.clock.Now())
	s.roll("w0", true)
	s.refuses = errRefused // w1 has to wait for the next leader
	s.play(8 * time.Minute)
	available := func(o *waveStage, pods int32, is corev1.ConditionStatus) {
		o.edited("w0", func(d *appsv1.Deployment) {
			d.Status.AvailableReplicas = pods
			d.Status.Conditions = []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable", LastUpdateTime: completed},
				{Type: appsv1.DeploymentAvailable, Status: is, LastTransitionTime: metav1.NewTime(o.clock.Now())},
			}
		})
	}
	available(s, 0, corev1.ConditionFalse)
	next := s.again()
	next.followsAll()
	next.play(time.Minute)
	next.want("the canary is down", "")
	available(next, 1, corev1.ConditionTrue)
	next.play(2 * time.Minute)
	next.want("the canary is up for less than the soak time", "")
	next.play(2 * time.Minute)
	next.want("the canary stayed up", "w1")
}

// The canary starts with bad data, and ends a moment later. That stops the source, and the next data
// is bad in the same way.
func TestACanaryThatWentDownIsNotExcusedForTheNextData(t *testing.T) {
	s := inWaves(t, map[string]string{annotations.Soak: "1m"}, "-1", "0")
	for _, data := range []string{"2", "3"} {
		s.change(data)
		s.want("data "+data, "w0")
		s.roll("w0", true)
		s.down("w0")
		s.play(30 * time.Minute)
		s.want("the canary is down with data "+data, "w0")
		if s.controller.StoppedSources() != 1 {
			t.Errorf("data %s stopped nothing", data)
		}
	}
}

// Data changes again before the next leader has listed the Pods of the rollout in progress. Which
// workload asks first is drawn.
func TestANextLeaderCountsARolloutWithEarlierData(t *testing.T) {
	for range 30 {
		s := inWaves(t, map[string]string{annotations.MaxRolling: "1"}, "0", "0", "0", "0")
		s.change("2")
		s.edited(s.rolling(), func(d *appsv1.Deployment) {
			d.Status.ObservedGeneration, d.Status.UpdatedReplicas, d.Status.Replicas = d.Generation, 1, 2
		})
		next := s.again()
		next.reloadedWith = s.reloadedWith
		next.unlistable = rejected()
		next.followsAll()
		next.server.Advance(5 * time.Second)
		next.edit("ca", "3")
		next.play(5 * time.Second)
		if n := len(next.reloadedWith); n > 1 {
			t.Fatalf("%d roll with a budget of 1", n)
		}
	}
}

// A new workload of the lowest wave cannot even be recorded. It must not keep the others waiting in
// silence.
func TestAWorkloadThatCannotBeRecordedStopsTheWaves(t *testing.T) {
	s := inWaves(t, nil, "-1", "0")
	s.change("2")
	s.want("the canary", "w0")
	s.server.Advance(time.Minute)
	s.refusesOnly = map[string]error{"w2": rejected()}
	s.create("w2", "-1")
	s.play(time.Minute)
	s.roll("w0", true)
	s.play(10 * time.Minute)
	s.want("w2 cannot be recorded", "w0")
	if s.controller.StoppedSources() != 1 {
		t.Error("nothing reports that")
	}
	s.refusesOnly = nil
	s.play(2 * time.Hour)
	s.roll("w2", true)
	s.play(10 * time.Minute)
	s.want("it can", "w0 w1")
}

// A user rolls the canary with another template, and that does not complete. Nothing tracks it, and
// a DaemonSet has no deadline in its status.
func TestARolloutOfAUserTakesItsPlaceOnlyUntilItsDeadline(t *testing.T) {
	s := inWaves(t, map[string]string{annotations.MaxRolling: "1", annotations.MaxFailures: "1"}, "-1", "0")
	s.change("2")
	s.want("the canary", "w0")
	s.edited("w0", func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].Image = "example.com/app:2"
		d.Spec.Template.Spec.Containers[0].Env = nil
		d.Spec.Template.Annotations = nil
		d.Generation++
		d.Status.ObservedGeneration, d.Status.UpdatedReplicas, d.Status.Replicas = d.Generation, 1, 2
	})
	s.play(5 * time.Minute)
	if s.controller.trackedOf(named("w0")).Following {
		t.Fatal("it is tracked")
	}
	s.want("before its deadline", "w0")
	s.play(6 * time.Minute)
	s.want("after it", "w0 w1")
}

// The rollout of a template belongs to the Rollout that uses it.
func TestTheProgressOfATemplateUserMovesTheWaves(t *testing.T) {
	s := inWaves(t, nil, "-1", "0")
	s.change("2")
	s.want("the canary", "w0")
	key := named("w0")
	before, _ := s.controller.fleets.of[namespace][s.keyOf("ca")].Member(key)
	owner, _ := s.known().Workload(key)
	user := workload.Workload{
		Key: workload.Key{Kind: "Rollout", Namespace: namespace, Name: "user"}, UID: "user", ResourceVersion: "999999999", TemplateOwner: &key,
		Generation: owner.Generation + 1, Progress: workload.Progress{Observed: true, Wanted: 1, Total: 2, Updated: 1, Aborted: true},
	}
	s.controller.putTemplateUser(user, true, false)
	after, _ := s.controller.fleets.of[namespace][s.keyOf("ca")].Member(key)
	if before.State != gate.Running || after.State != gate.Failed {
		t.Errorf("the state is %d, then %d", before.State, after.State)
	}
}

// A controller is killed after each step of the waves: before the first reload, while a rollout is
// in progress, and after its end. Never more roll than the budget, and the order stays.
func TestAKillAtEachStepChangesNeitherOrderNorBudget(t *testing.T) {
	s := inWaves(t, map[string]string{annotations.MaxRolling: "1%"}, "-1", "0", "0", "1")
	s.change("2")
	started := s.reloadedWith
	var order []string
	for step := 0; len(order) < len(s.names) && step < 20; step++ {
		s = s.again()
		s.reloadedWith = started
		s.followsAll()
		s.play(time.Minute)
		rolling := ""
		for _, name := range s.names {
			if started[name] && !slices.Contains(order, name) {
				rolling += name
			}
		}
		if len(rolling) > len("w0") {
			t.Fatalf("%q roll at the same time", rolling)
		}
		if rolling == "" {
			t.Fatalf("after %v, nothing rolls", order)
		}
		s = s.again()
		s.reloadedWith = started
		s.followsAll()
		s.play(time.Second)
		if len(started) > len(order)+1 {
			t.Fatalf("during the rollout of %s, another one starts: %v", rolling, started)
		}
		s.roll(rolling, true)
		order = append(order, rolling)
	}
	if len(order) != 4 || order[0] != "w0" || order[3] != "w3" {
		t.Errorf("the order is %v", order)
	}
}
