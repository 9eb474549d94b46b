package reload

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestARestartIsAfterTheSecondOfTheChange(t *testing.T) {
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed
	}
	for about, tc := range map[string]struct{ now, changed, want string }{
		// A pod that was made in the same second, but before the change, has the time 12:00:10.
		"in the second of the change":  {"2026-03-01T12:00:10.9Z", "2026-03-01T12:00:10Z", "2026-03-01T12:00:11Z"},
		"on the second":                {"2026-03-01T12:00:10Z", "2026-03-01T12:00:10Z", "2026-03-01T12:00:11Z"},
		"our clock is late":            {"2026-03-01T11:59:00Z", "2026-03-01T12:00:10Z", "2026-03-01T12:00:11Z"},
		"the change was long ago":      {"2026-03-01T12:00:10Z", "2026-02-01T12:00:10Z", "2026-03-01T12:00:11Z"},
		"our clock is of another zone": {"2026-03-01T14:00:10+02:00", "2026-03-01T12:00:09Z", "2026-03-01T12:00:11Z"},
	} {
		t.Run(about, func(t *testing.T) {
			d := Decision{Changes: []Concern{{Source: Source{DataTime: at(tc.changed)}}}}
			if got := d.restartAt(at(tc.now)); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestARestartLeavesTheTemplateAlone(t *testing.T) {
	meta := &metav1.ObjectMeta{Annotations: map[string]string{DefaultNames().RolloutStrategy: "restart"}}
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}}}
	w := NewWorkload(WorkloadKind{Name: "Rollout"}, meta, nil, template, DefaultNames())
	seen := WorkloadSeen{Recent: []Digest{w.Revision()}, Whole: true}
	source := Source{Key: SourceKey{Kind: ConfigMap, Name: "web"}}
	for about, restartable := range map[string]bool{"a Rollout": true, "a kind without such a field": false} {
		w.Restartable, w.Custom = restartable, restartable
		d := Decision{Action: Reload, Changes: []Concern{{Source: source, Verdict: Verdict{Rule: RuleNamed}}}}
		d.Ledger.Step, _ = (&Facts{Workload: w}).step(0, d.Changes)
		m := d.Mark(&w, seen, SecretMarksKeyed, time.Unix(100, 0))
		marked := len(m.Env) > 0 || m.ReloadedFrom != "" || m.Rolled != ""
		if (m.RestartAt != "") != restartable || marked == restartable {
			t.Errorf("%s: %+v", about, m)
		}
		if w.Marks = w.Marks.with(m); restartable && d.Ledger.Marks != w.Marks.left(StepRestartFirst) {
			t.Errorf("%s: the ledger is about other marks than those that are left", about)
		}
	}
}

func TestAPolicyOverAnotherTakesItsPlaceOneByOne(t *testing.T) {
	names := DefaultNames()
	parse := func(annotations map[string]string) Policy {
		p, _ := ParsePolicy(annotations, nil, names)
		return p
	}
	for about, tc := range map[string]struct{ over, below, want map[string]string }{
		"nothing over something":     {nil, map[string]string{names.Auto: "true"}, map[string]string{names.Auto: "true"}},
		"something over nothing":     {map[string]string{names.Auto: "true"}, nil, map[string]string{names.Auto: "true"}},
		"no over yes":                {map[string]string{names.Auto: "false"}, map[string]string{names.Auto: "true"}, map[string]string{names.Auto: "false"}},
		"a kind of source by itself": {map[string]string{names.SecretAuto: "true"}, map[string]string{names.ConfigMap: "a"}, map[string]string{names.SecretAuto: "true", names.ConfigMap: "a"}},
		"a list over auto":           {map[string]string{names.ConfigMap: "a"}, map[string]string{names.ConfigMapAuto: "true"}, map[string]string{names.ConfigMap: "a"}},
		"the rest one by one": {
			map[string]string{names.RolloutStrategy: "restart", names.ConfigMapExclude: "a"},
			map[string]string{names.Auto: "true", SettleAnnotation: "3s", names.ConfigMapExclude: "b", names.SecretExclude: "c"},
			map[string]string{names.Auto: "true", SettleAnnotation: "3s", names.RolloutStrategy: "restart", names.ConfigMapExclude: "a", names.SecretExclude: "c"},
		},
	} {
		t.Run(about, func(t *testing.T) {
			if got := parse(tc.over).Over(parse(tc.below)); !got.Equal(parse(tc.want)) {
				t.Errorf("got %+v\nwant %+v", got, parse(tc.want))
			}
		})
	}
}

// restarted is the policy of a workload whose pods are restarted.
func restarted() Policy {
	policy, _ := ParsePolicy(map[string]string{
		"reloader.stakater.com/auto": "true", "reloader.stakater.com/rollout-strategy": "restart",
	}, nil, DefaultNames())
	return policy
}
