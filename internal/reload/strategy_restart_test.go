package reload

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
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
			d := Decision{Changes: []Concern{{Source: source.Source{DataTime: at(tc.changed)}}}}
			if got := d.restartAt(at(tc.now)); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}

func TestARestartLeavesTheTemplateAlone(t *testing.T) {
	meta := &metav1.ObjectMeta{Annotations: map[string]string{annotations.DefaultNames().RolloutStrategy: "restart"}}
	template := &corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app"}}}}
	w := workload.New(workload.Kind{Name: "Rollout"}, meta, nil, template, annotations.DefaultNames())
	seen := WorkloadSeen{Recent: []digest.Digest{w.Revision()}, Whole: true}
	source := source.Source{Key: source.Key{Kind: source.ConfigMap, Name: "web"}}
	for about, restartable := range map[string]bool{"a Rollout": true, "a kind without such a field": false} {
		w.Restartable, w.Custom = restartable, restartable
		d := Decision{Action: Reload, Changes: []Concern{{Source: source, Verdict: policy.Verdict{Rule: policy.RuleNamed}}}}
		d.Ledger.Step, _ = (&Facts{Workload: w}).step(0, d.Changes)
		m := d.Mark(&w, seen, digest.SecretMarksKeyed, time.Unix(100, 0))
		marked := len(m.Env) > 0 || m.ReloadedFrom != "" || m.Rolled != ""
		if (m.RestartAt != "") != restartable || marked == restartable {
			t.Errorf("%s: %+v", about, m)
		}
		if w.Marks = w.Marks.With(m); restartable && d.Ledger.Marks != w.Marks.DigestAfter(ledger.StepRestartFirst) {
			t.Errorf("%s: the ledger is about other marks than those that are left", about)
		}
	}
}

func TestAPolicyOverAnotherTakesItsPlaceOneByOne(t *testing.T) {
	names := annotations.DefaultNames()
	parse := func(annotations map[string]string) policy.Policy {
		p, _ := policy.Parse(annotations, nil, names)
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
			map[string]string{names.Auto: "true", annotations.Settle: "3s", names.ConfigMapExclude: "b", names.SecretExclude: "c"},
			map[string]string{names.Auto: "true", annotations.Settle: "3s", names.RolloutStrategy: "restart", names.ConfigMapExclude: "a", names.SecretExclude: "c"},
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
func restarted() policy.Policy {
	policy, _ := policy.Parse(map[string]string{
		"reloader.stakater.com/auto": "true", "reloader.stakater.com/rollout-strategy": "restart",
	}, nil, annotations.DefaultNames())
	return policy
}
