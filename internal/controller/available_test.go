package controller

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/rollout"
)

// ready is a Pod that has been ready since a time.
func ready(since time.Time) rollout.Pod {
	return rollout.ReadPod(&corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(since)},
	}}}, annotations.DefaultNames())
}

// soaked is a canary whose status has no time, as that of a StatefulSet. Its rollout ends, and two
// minutes later another controller is started, with a soak time of three minutes. The former one
// cannot write any more.
func soaked(t *testing.T) (next *waveStage, ended time.Time) {
	t.Helper()
	s := inWaves(t, map[string]string{annotations.Soak: "3m"}, "-1", "0")
	s.change("2")
	s.want("the canary", "w0")
	s.roll("w0", true)
	ended = s.clock.Now()
	s.play(2 * time.Minute)
	s.want("it soaks", "w0")
	next = s.again()
	next.running = []rollout.Pod{ready(ended)}
	return next, ended
}

func TestASoakTimeDoesNotStartAgainWithEachController(t *testing.T) {
	next, _ := soaked(t)
	lists := next.askedAfter
	next.play(50 * time.Second)
	next.want("before its end", "")
	next.play(15 * time.Second)
	next.want("after it", "w1")
	if n := next.askedAfter - lists; n > 2 { // of w0, and then of w1
		t.Errorf("Pods are listed %d times", n)
	}
}

func TestAPodThatIsRestartedSoaksAgain(t *testing.T) {
	next, ended := soaked(t)
	next.running = []rollout.Pod{ready(ended.Add(time.Minute))}
	next.play(100 * time.Second)
	next.want("three minutes after the end", "")
	next.play(30 * time.Second)
	next.want("three minutes after the restart of the Pod", "w1")
}

func TestASoakTimeCountsFromNowIfNothingShowsMore(t *testing.T) {
	for about, edit := range map[string]func(*waveStage){
		"the Pods cannot be listed": func(s *waveStage) { s.unlistable = rejected() },
		"a Pod is not ready":        func(s *waveStage) { s.running = []rollout.Pod{{}} },
		"no Pods are found":         func(s *waveStage) { s.running = nil },
	} {
		t.Run(about, func(t *testing.T) {
			next, _ := soaked(t)
			edit(next)
			next.play(150 * time.Second)
			next.want("too early", "")
			next.play(5 * time.Minute)
			next.want("in the end", "w1")
		})
	}
}

// The Pods were listed to prove the end of the rollout.
func TestTheEndOfARolloutListsPodsOnce(t *testing.T) {
	s := inWaves(t, map[string]string{annotations.Soak: "3m"}, "-1", "0")
	s.change("2")
	lists := s.askedAfter
	s.roll("w0", true)
	s.play(2 * time.Minute)
	if n := s.askedAfter - lists; n != 1 {
		t.Errorf("Pods are listed %d times", n)
	}
}
