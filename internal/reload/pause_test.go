package reload

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

func TestWhosePauseItIs(t *testing.T) {
	const field, note = `"f:spec":{"f:paused":{}}`, `"f:metadata":{"f:annotations":{"f:deployment.reloader.stakater.com/paused-at":{}}}`
	owner := func(manager, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, FieldsV1: metav1.NewFieldsV1("{" + fields + "}")}
	}
	for about, tc := range map[string]struct {
		running, unnoted bool
		owners           []metav1.ManagedFieldsEntry
		ours, leftover   bool
	}{
		"we have paused it":                                  {owners: []metav1.ManagedFieldsEntry{owner("reroll", field+","+note)}, ours: true},
		"Reloader has":                                       {owners: []metav1.ManagedFieldsEntry{owner("Reloader", field+","+note)}, ours: true},
		"a backup brought it back as it was":                 {owners: []metav1.ManagedFieldsEntry{owner("velero-server", field+","+note)}, ours: true},
		"nobody knows who has, but it is noted":              {ours: true},
		"the note was taken away, and we have":               {unnoted: true, owners: []metav1.ManagedFieldsEntry{owner("reroll", field)}, ours: true},
		"the note was overwritten, and we have":              {owners: []metav1.ManagedFieldsEntry{owner("reroll", field), owner("kubectl-annotate", note)}, ours: true},
		"a user has":                                         {unnoted: true, owners: []metav1.ManagedFieldsEntry{owner("kubectl-rollout", field)}},
		"a user has, and nobody tracks fields":               {unnoted: true},
		"a user has, and an earlier note is left":            {owners: []metav1.ManagedFieldsEntry{owner("kubectl-rollout", field), owner("reroll", note)}, leftover: true},
		"a manifest came to say so while we had":             {owners: []metav1.ManagedFieldsEntry{owner("reroll", field+","+note), owner("argocd", field)}, leftover: true},
		"a label of that name is no pause":                   {unnoted: true, owners: []metav1.ManagedFieldsEntry{owner("reroll", `"f:metadata":{"f:labels":{"f:paused":{}}}`)}},
		"it is not paused":                                   {running: true, unnoted: true},
		"somebody has ended it":                              {running: true, leftover: true},
		"what cannot be read of the owners counts as nobody": {owners: []metav1.ManagedFieldsEntry{owner("kubectl", `"f:spec":`), {Manager: "kubectl"}}, ours: true},
	} {
		t.Run(about, func(t *testing.T) {
			names := annotations.DefaultNames()
			meta := metav1.ObjectMeta{ManagedFields: tc.owners, Annotations: map[string]string{names.PausedAt: "2026-03-01T12:00:00Z"}}
			if tc.unnoted {
				meta.Annotations = nil
			}
			p := workload.ReadPause(&meta, !tc.running, names)
			if p.Ours() != tc.ours || p.Leftover() != tc.leftover {
				t.Errorf("ours %t, leftover %t of %+v", p.Ours(), p.Leftover(), p)
			}
		})
	}
}

func TestHowLongAPauseIs(t *testing.T) {
	names := annotations.DefaultNames()
	now := time.Date(2026, 3, 1, 12, 10, 0, 0, time.UTC)
	for about, tc := range map[string]struct {
		period, since string
		want          string
	}{
		"it goes on":                        {"15m", "2026-03-01T12:00:00Z", "5m0s"},
		"written in another zone":           {"15m", "2026-03-01T14:00:00.5+02:00", "5m0.5s"},
		"the clock of another is ahead":     {"15m", "2026-03-01T12:10:30Z", "15m30s"},
		"it is over":                        {"10m", "2026-03-01T12:00:00Z", "0s: its pause-period of 10m0s is over"},
		"it was made longer":                {"1h", "2026-03-01T12:00:00Z", "50m0s"},
		"it was made shorter than it lasts": {"1m", "2026-03-01T12:00:00Z", "0s: its pause-period of 1m0s is over"},
		"the longest there is":              {"2562047h", "2026-03-01T12:00:00Z", "2562046h50m0s"},
		"the period is gone":                {"", "2026-03-01T12:00:00Z", "0s: its annotation deployment.reloader.stakater.com/pause-period is unset or invalid"},
		"the period is none":                {"5 minutes", "2026-03-01T12:00:00Z", "0s: its annotation deployment.reloader.stakater.com/pause-period is unset or invalid"},
		"it is negative":                    {"-5m", "2026-03-01T12:00:00Z", "0s: its annotation deployment.reloader.stakater.com/pause-period is unset or invalid"},
		"since when is no time":             {"15m", "soon", `0s: spoilt: its annotation deployment.reloader.stakater.com/paused-at has "soon", which is not a time such as 2026-03-01T12:10:00Z`},
		"since when is empty":               {"15m", "", `0s: spoilt: its annotation deployment.reloader.stakater.com/paused-at has "", which is not a time such as 2026-03-01T12:10:00Z`},
		"since when is yet to come":         {"15m", "2199-03-01T12:00:00Z", `0s: spoilt: its annotation deployment.reloader.stakater.com/paused-at has 2199-03-01T12:00:00Z, which is in the future`},
		"since when is gone":                {"15m", "-", `0s: spoilt: its annotation deployment.reloader.stakater.com/paused-at was removed`},
	} {
		t.Run(about, func(t *testing.T) {
			own := map[string]string{names.PausePeriod: tc.period}
			w := workload.Workload{Pause: workload.Pause{Paused: true, Noted: tc.since != "-", Since: tc.since, Own: true}}
			w.Policy, _ = policy.Parse(own, nil, names)
			left, end := w.PauseLeft(now, names)
			got := left.String()
			if end.Spoilt {
				got += ": spoilt"
			}
			if end.Why != "" {
				got += ": " + end.Why
			}
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if until, ok := w.PauseUntil(); ok && left > 0 && until.Sub(now) != left {
				t.Errorf("it is told to end at %s", until)
			}
		})
	}
}

func TestWhichReloadsPause(t *testing.T) {
	names := annotations.DefaultNames()
	now := time.Date(2026, 3, 1, 12, 10, 0, 0, time.UTC)
	for about, tc := range map[string]struct {
		own, template string
		change        func(*workload.Workload)
		want          string
	}{
		"one with a period":             {own: "5m", want: "2026-03-01T12:10:00Z"},
		"one with it in the template":   {template: "5m", want: "2026-03-01T12:10:00Z"},
		"without a period":              {},
		"with one that is none":         {own: "0s"},
		"with a wrong one over a right": {own: "x", template: "5m"},
		"one that pauses already":       {own: "5m", change: func(w *workload.Workload) { w.Pause = workload.Pause{Paused: true, Noted: true} }},
		"one that a user has paused":    {own: "5m", change: func(w *workload.Workload) { w.Pause = workload.Pause{Paused: true} }},
		"one whose note is left over":   {own: "5m", change: func(w *workload.Workload) { w.Pause = workload.Pause{Noted: true} }, want: "2026-03-01T12:10:00Z"},
		"one that cannot be paused":     {own: "5m", change: func(w *workload.Workload) { w.Pausable = false }},
	} {
		t.Run(about, func(t *testing.T) {
			annotations := func(period string) map[string]string {
				if period == "" {
					return nil
				}
				return map[string]string{names.PausePeriod: period}
			}
			w := workload.Workload{Pausable: true, Containers: []string{"app"}}
			w.Policy, _ = policy.Parse(annotations(tc.own), annotations(tc.template), names)
			if tc.change != nil {
				tc.change(&w)
			}
			d := Decision{Action: Reload, Changes: []Concern{{Source: source.Source{Key: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "web"}}, Verdict: policy.Verdict{Rule: policy.RuleNamed}}}}
			if got := d.Mark(&w, WorkloadSeen{}, digest.SecretMarksKeyed, now).PausedAt; got != tc.want {
				t.Errorf("paused at %q, want %q", got, tc.want)
			}
		})
	}
}
