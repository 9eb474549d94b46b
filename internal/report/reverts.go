package report

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Reverted is called when another client removed our mark while Pods with the previous data remain.
// The text distinguishes proof from probability.
func (r *Report) Reverted(w *workload.Workload, d reload.Decision) {
	v := d.Reverted
	r.metrics.countReverted(v.Name())
	text := cut(revertText(w, d)) // an ownerReference may contain a text of any length
	r.log.Warn(text, "workload", w.Key.String())
	if r.dryRun {
		return
	}
	r.events.publish(notice.Workload(w), warning, revertReason(d), text)
	switch revertReason(d) {
	case notRolledReason:
		r.metrics.notRolled(rollout.CauseReverted)
		r.alerts.add(alert{failed: true, text: say("Reloader did not roll *%s* of type *%s* in namespace *%s*: %s removed every mark, and %s still use the previous %s *%s*",
			w.Key.Name, w.Key.Kind, w.Key.Namespace, by(v), ours(v.OldPods()), ours(v.Source.Kind.String()), v.Source.Name)})
	case revertedReason:
		r.alerts.add(alert{failed: true, text: say("Reloader rolled *%s* of type *%s* in namespace *%s* again: %s removed the mark, and %s still used the previous %s *%s*",
			w.Key.Name, w.Key.Kind, w.Key.Namespace, by(v), ours(v.OldPods()), ours(v.Source.Kind.String()), v.Source.Name)})
	}
}

// by is By for chats. Other clients choose the names of field managers and owners.
func by(v *reload.Revert) phrase {
	switch {
	case v.Writer != "":
		return say(`the field manager "%s"`, v.Writer)
	case v.Owner != "":
		return say("the operator of %s (probably)", v.Owner)
	default:
		return ours(v.By())
	}
}

func revertReason(d reload.Decision) string {
	switch {
	case d.Action == reload.Reload:
		return revertedReason
	case d.Action == reload.Record && !d.Reverted.Final:
		return notice.OtherController
	default:
		return notRolledReason
	}
}

func revertText(w *workload.Workload, d reload.Decision) string {
	v := d.Reverted
	switch {
	case d.Action == reload.Record && !v.Final:
		return notice.TwoControllers()
	case d.Action == reload.Reload && d.Ledger.Step == ledger.StepRestart:
		return fmt.Sprintf("Rolled again: %s removed the mark, and %s still used the previous %s '%s'. This time, spec.restartAt restarts its Pods without a change of the pod template, see %s",
			v.By(), v.OldPods(), v.Source.Kind, v.Source.Name, buildinfo.Doc("how-to/gitops.md#reverted"))
	case d.Action == reload.Reload:
		text := fmt.Sprintf("Rolled again: %s removed the mark, and %s still used the previous %s '%s'. This time, the mark is an annotation of the pod template, which most tools do not remove",
			v.By(), v.OldPods(), v.Source.Kind, v.Source.Name)
		if _, tool := suspects(v); tool == workload.ArgoCD && !w.Custom {
			text += ". If the Application uses Replace=true, " + pasteRule(w)
		}
		return text + ", see " + buildinfo.Doc("how-to/gitops.md#reverted")
	default:
		return fmt.Sprintf("Not rolled: %s removed every mark; %s still use the previous %s '%s'. %s",
			v.By(), v.OldPods(), v.Source.Kind, v.Source.Name, remedy(w, v))
	}
}

// remedy is how to keep the mark, in the terms of the tool that removes it.
func remedy(w *workload.Workload, v *reload.Revert) string {
	owner, tool := suspects(v)
	switch {
	case owner != "":
		return fmt.Sprintf("The operator keeps only what %s declares: set an annotation for its Pods there, see %s", owner, buildinfo.Doc("how-to/gitops.md#operators"))
	case tool == workload.ArgoCD && w.Custom:
		return "Remove Replace=true, or the annotation of Reroll's mark, from what Argo CD applies, or start the controller with --on-revert=restart, see " + buildinfo.Doc("how-to/gitops.md#argo-cd")
	case tool == workload.ArgoCD:
		rule := pasteRule(w)
		return capitalized(rule) + ", see " + buildinfo.Doc("how-to/gitops.md#reverted")
	case tool == workload.Flux:
		return "Remove the annotations of Reroll's mark from what Flux applies, see " + buildinfo.Doc("how-to/gitops.md#flux")
	default:
		return "Configure the client that writes this workload to keep the annotations of its pod template, see " + buildinfo.Doc("how-to/gitops.md#reverted")
	}
}

// suspects are the object of an operator or the tool for which the remedy is written. Proof takes
// precedence over probability.
func suspects(v *reload.Revert) (owner string, tool workload.Tool) {
	if v.Writer != "" {
		return "", workload.ToolOf(v.Writer)
	}
	return v.Owner, v.Tool
}

// pasteRule keeps the annotation if Argo CD replaces whole objects.
func pasteRule(w *workload.Workload) string {
	return fmt.Sprintf("add ignoreDifferences: [%s] and syncOptions: [RespectIgnoreDifferences=true] to its Application, unless that has Rollouts, and any annotation of yours to the pod template in Git", ignoreRule(w))
}

// ignoreRule makes Argo CD ignore the fields that Reroll writes. There is none for custom kinds: if
// Argo CD respects such a rule, it no longer changes the lists of that kind.
func ignoreRule(w *workload.Workload) string {
	version, _ := schema.ParseGroupVersion(w.APIVersion) // it was read from the API server
	var quoted []string
	for _, expression := range IgnoredByArgoCD() {
		quoted = append(quoted, "'"+expression+"'")
	}
	return fmt.Sprintf(`{group: %s, kind: %s, jqPathExpressions: [%s]}`, version.Group, w.Key.Object(), strings.Join(quoted, ", "))
}

// IgnoredByArgoCD are the expressions of that rule.
func IgnoredByArgoCD() []string {
	return []string{
		fmt.Sprintf(".spec.template.metadata.annotations[%q]", annotations.DefaultNames().LastReloadedFrom),
		fmt.Sprintf(".spec.template.metadata.annotations[%q]", annotations.Rolled),
		fmt.Sprintf(".metadata.annotations[%q]", annotations.Ledger),
	}
}
