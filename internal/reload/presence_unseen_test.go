package reload

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// ConfigMap new is created at 90 while no controller runs, and within the settle period of web, which
// is long.
func TestASourceThatIsMadeUnseenSoonAfterItsWorkload(t *testing.T) {
	unseen := func(workloadCreated int64) *situation {
		return web().refersTo(newKey).ledger(nil).cm("one", 60).with(onCreate).
			source(source.ConfigMap, "new", "x", 90, 90, SourceSeen{Version: 99}).
			with(func(f *Facts) { f.Workload.Created, f.SettlePeriod = at(workloadCreated), time.Minute })
	}
	pods := func(pods ...StartedPod) *situation {
		return unseen(80).with(func(f *Facts) {
			f.Pods = &Pods{}
			for _, pod := range pods {
				f.Pods.Add(pod)
			}
		})
	}
	for name, tc := range map[string]struct {
		when *situation
		want Action
	}{
		"its pods are asked":                   {unseen(80), ListPods},
		"it is too soon for pods to prove it":  {unseen(85), Record},
		"creations do not count":               {unseen(80).with(func(f *Facts) { f.OnCreate = false }), Record},
		"there are no pods":                    {pods(), Record},
		"its pods cannot be listed":            {pods().with(guessed).with(func(f *Facts) { f.Workload.Progress.Total = 2 }), Reload},
		"one was ready before":                 {pods(StartedPod{Created: at(81)}, StartedPod{Created: at(81), Ready: at(84)}), Reload},
		"none is ready":                        {pods(StartedPod{Created: at(81), Started: at(82)}), Record},
		"clocks may differ by as much":         {pods(StartedPod{Created: at(81), Ready: at(85)}), Record},
		"the clock of its node is late":        {pods(StartedPod{Created: at(90), Ready: at(84)}), Record},
		"one was ready before, and is a Job's": {pods(StartedPod{Created: at(81), Ready: at(84)}).with(func(f *Facts) { f.Workload.Runs = &workload.Runs{Once: true, Last: at(80)} }), Record},
		"all are younger":                      {pods(StartedPod{Created: at(96), Ready: at(97)}), Record},
	} {
		t.Run(name, func(t *testing.T) {
			if d := decided(t, tc.when.f); d.Action != tc.want {
				t.Errorf("decided to %s, want %s: %s", d.Action, tc.want, d.Why)
			}
		})
	}
}

func TestSinceWhenAPodIsReady(t *testing.T) {
	since := metav1.NewTime(at(84))
	pod := &corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(at(80))},
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since},
	}}}
	if got := ReadStart(pod).Ready; !got.Equal(since.Time) {
		t.Errorf("since %s, want %s", got, since)
	}
	pod.Status.Conditions[1].Status = corev1.ConditionFalse
	if got := ReadStart(pod).Ready; !got.IsZero() {
		t.Errorf("since %s, although it is not", got)
	}
}
