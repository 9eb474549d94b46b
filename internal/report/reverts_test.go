package report

import (
	"strings"
	"testing"

	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// A user who reads the event knows what was seen, who did it as far as that is known, and what to
// do about it.
func TestARevertIsReportedWithItsRemedy(t *testing.T) {
	revert := func(change func(*reload.Revert)) *reload.Revert {
		v := &reload.Revert{Source: source.Key{Kind: source.ConfigMap, Namespace: "shop", Name: "cfg"}, Old: 2, All: 2}
		change(v)
		return v
	}
	argo := func(v *reload.Revert) { v.Tool = workload.ArgoCD }
	for about, tc := range map[string]struct {
		action       reload.Action
		step         ledger.Step
		who          func(*reload.Revert)
		reason, note string
	}{
		"a step down": {reload.Reload, ledger.StepAnnotation, func(*reload.Revert) {}, "Reverted",
			"Rolled again: somebody removed the mark, and 2 of 2 Pods still used the previous ConfigMap 'cfg'. This time, the mark is an annotation of the pod template, which most tools do not remove, see https://github.com/reroll-dev/reroll/blob/main/docs/how-to/gitops.md#reverted"},
		"a step down, Argo CD": {reload.Reload, ledger.StepAnnotation, argo, "Reverted",
			`Rolled again: Argo CD (probably) removed the mark, and 2 of 2 Pods still used the previous ConfigMap 'cfg'. This time, the mark is an annotation of the pod template, which most tools do not remove. If the Application uses Replace=true, add ignoreDifferences: [{group: apps, kind: Deployment, jqPathExpressions: ['.spec.template.metadata.annotations["reloader.stakater.com/last-reloaded-from"]', '.spec.template.metadata.annotations["reroll.dev/rolled"]', '.metadata.annotations["reroll.dev/ledger"]']}] and syncOptions: [RespectIgnoreDifferences=true] to its Application, unless that has Rollouts, and any annotation of yours to the pod template in Git, see https://github.com/reroll-dev/reroll/blob/main/docs/how-to/gitops.md#reverted`},
		"a step down, Argo CD, a Rollout": {reload.Reload, ledger.StepAnnotation, argo, "Reverted",
			"Rolled again: Argo CD (probably) removed the mark, and 2 of 2 Pods still used the previous ConfigMap 'cfg'. This time, the mark is an annotation of the pod template, which most tools do not remove, see https://github.com/reroll-dev/reroll/blob/main/docs/how-to/gitops.md#reverted"},
		"a restart as the last step": {reload.Reload, ledger.StepRestart, argo, "Reverted",
			"Rolled again: Argo CD (probably) removed the mark, and 2 of 2 Pods still used the previous ConfigMap 'cfg'. This time, spec.restartAt restarts its Pods without a change of the pod template, see https://github.com/reroll-dev/reroll/blob/main/docs/how-to/gitops.md#reverted"},
		"Argo CD, at the end": {reload.Nothing, ledger.StepAnnotation, argo, "NotRolled",
			`Not rolled: Argo CD (probably) removed every mark; 2 of 2 Pods still use the previous ConfigMap 'cfg'. Add ignoreDifferences: [{group: apps, kind: Deployment, jqPathExpressions: ['.spec.template.metadata.annotations["reloader.stakater.com/last-reloaded-from"]', '.spec.template.metadata.annotations["reroll.dev/rolled"]', '.metadata.annotations["reroll.dev/ledger"]']}] and syncOptions: [RespectIgnoreDifferences=true] to its Application, unless that has Rollouts, and any annotation of yours to the pod template in Git, see https://github.com/reroll-dev/reroll/blob/main/docs/how-to/gitops.md#reverted`},
		"somebody else, for certain, on an object of Argo CD": {reload.Nothing, ledger.StepAnnotation, func(v *reload.Revert) { v.Tool, v.Writer = workload.ArgoCD, "deployer" }, "NotRolled",
			`Not rolled: the field manager "deployer" removed every mark; 2 of 2 Pods still use the previous ConfigMap 'cfg'. Configure the client that writes this workload to keep the annotations of its pod template, see https://github.com/reroll-dev/reroll/blob/main/docs/how-to/gitops.md#reverted`},
		"Argo CD, a Rollout": {reload.Nothing, ledger.StepAnnotationFirst, argo, "NotRolled",
			"Not rolled: Argo CD (probably) removed every mark; 2 of 2 Pods still use the previous ConfigMap 'cfg'. Remove Replace=true, or the annotation of Reroll's mark, from what Argo CD applies, or start the controller with --on-revert=restart, see https://github.com/reroll-dev/reroll/blob/main/docs/how-to/gitops.md#argo-cd"},
		"Flux, at the end": {reload.Nothing, ledger.StepAnnotation, func(v *reload.Revert) { v.Writer = "kustomize-controller" }, "NotRolled",
			`Not rolled: the field manager "kustomize-controller" removed every mark; 2 of 2 Pods still use the previous ConfigMap 'cfg'. Remove the annotations of Reroll's mark from what Flux applies, see https://github.com/reroll-dev/reroll/blob/main/docs/how-to/gitops.md#flux`},
		"an operator": {reload.Nothing, ledger.StepVariables, func(v *reload.Revert) { v.Owner, v.Tool = `Kafka "events"`, workload.Helm }, "NotRolled",
			`Not rolled: the operator of Kafka "events" (probably) removed every mark; 2 of 2 Pods still use the previous ConfigMap 'cfg'. The operator keeps only what Kafka "events" declares: set an annotation for its Pods there, see https://github.com/reroll-dev/reroll/blob/main/docs/how-to/gitops.md#operators`},
		"the ledger went with the last mark, and is put back": {reload.Record, ledger.StepAnnotation, func(v *reload.Revert) { v.Final = true }, "NotRolled",
			"Not rolled: somebody removed every mark; 2 of 2 Pods still use the previous ConfigMap 'cfg'. Configure the client that writes this workload to keep the annotations of its pod template, see https://github.com/reroll-dev/reroll/blob/main/docs/how-to/gitops.md#reverted"},
		"no pods were found": {reload.Reload, ledger.StepAnnotation, func(v *reload.Revert) { v.Old, v.All = 0, 0 }, "Reverted",
			"Rolled again: somebody removed the mark, and an unknown number of Pods still used the previous ConfigMap 'cfg'. This time, the mark is an annotation of the pod template, which most tools do not remove, see https://github.com/reroll-dev/reroll/blob/main/docs/how-to/gitops.md#reverted"},
		"nobody knows": {reload.Nothing, ledger.StepAnnotation, func(*reload.Revert) {}, "NotRolled",
			"Not rolled: somebody removed every mark; 2 of 2 Pods still use the previous ConfigMap 'cfg'. Configure the client that writes this workload to keep the annotations of its pod template, see https://github.com/reroll-dev/reroll/blob/main/docs/how-to/gitops.md#reverted"},
	} {
		t.Run(about, func(t *testing.T) {
			d := newDesk(t, false)
			w := web()
			w.APIVersion, w.Custom = "apps/v1", strings.HasSuffix(about, "Argo CD, a Rollout")
			d.Reverted(w, reload.Decision{Action: tc.action, Ledger: ledger.Ledger{Step: tc.step}, Reverted: revert(tc.who)})
			events := d.published()
			if len(events) != 1 || events[0].Type != "Warning" || events[0].Reason != tc.reason || events[0].Note != tc.note {
				t.Errorf("got %+v\nwant %s: %s", events, tc.reason, tc.note)
			}
		})
	}
}

// A rule that is cut off is none.
func TestTheRuleToPasteFitsIntoTheEvent(t *testing.T) {
	for about, d := range map[string]reload.Decision{
		"a step down": {Action: reload.Reload, Ledger: ledger.Ledger{Step: ledger.StepAnnotation}}, "at the end": {Action: reload.Nothing},
	} {
		desk := newDesk(t, false)
		w := web()
		w.APIVersion, w.Key.Kind = "apps/v1", "StatefulSet"
		d.Reverted = &reload.Revert{Source: source.Key{Kind: source.ConfigMap, Name: strings.Repeat("n", 253)}, Writer: "argocd-application-controller", Old: 1000, All: 1000}
		desk.Reverted(w, d)
		if events := desk.published(); len(events) != 1 || !strings.HasSuffix(events[0].Note, "any annotation of yours to the pod template in Git, see https://github.com/reroll-dev/reroll/blob/main/docs/how-to/gitops.md#reverted") {
			t.Errorf("%s: %+v", about, events)
		}
	}
}

func TestADoubtAboutAMarkIsReported(t *testing.T) {
	d := newDesk(t, false)
	d.Notify(notice.MayNotStay(web(), "its manifest declares the annotations of the pod template to be null"))
	events := d.published()
	if len(events) != 1 || events[0].Reason != "MarkMayNotStay" || events[0].Type != "Warning" ||
		!strings.HasPrefix(events[0].Note, "Another tool may revert the mark of this reload: its manifest declares") {
		t.Errorf("got %+v", events)
	}
}
