package workload

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/reroll-dev/reroll/internal/digest"
)

// Tool is the program that manages an object from outside the cluster, as far as the object shows.
type Tool string

// The tools that leave their name on the objects that they manage.
const (
	NoTool Tool = ""
	ArgoCD Tool = "Argo CD"
	Flux   Tool = "Flux"
	Helm   Tool = "Helm"
	// Kubectl leaves its name on the objects that it writes, but manages nothing.
	Kubectl Tool = "kubectl"
)

// ToolOf returns the tool that writes under a field manager.
func ToolOf(manager string) Tool {
	switch {
	case strings.HasPrefix(manager, "argocd"):
		return ArgoCD
	case manager == "kustomize-controller", manager == "helm-controller":
		return Flux
	case strings.EqualFold(manager, "helm"):
		return Helm
	case manager == "kubectl", strings.HasPrefix(manager, "kubectl-"):
		return Kubectl
	default:
		return NoTool
	}
}

// toolOf reads the labels and annotations by which these tools track their objects. Flux installs
// Helm charts as well, and Argo CD renders them, so Helm comes last.
func toolOf(meta *metav1.ObjectMeta) Tool {
	has := func(in map[string]string, key string) bool {
		_, ok := in[key]
		return ok
	}
	switch {
	case has(meta.Annotations, "argocd.argoproj.io/tracking-id"), has(meta.Labels, "argocd.argoproj.io/instance"):
		return ArgoCD
	case has(meta.Labels, "kustomize.toolkit.fluxcd.io/name"), has(meta.Labels, "helm.toolkit.fluxcd.io/name"):
		return Flux
	case has(meta.Annotations, "meta.helm.sh/release-name"), meta.Labels["app.kubernetes.io/managed-by"] == "Helm":
		return Helm
	default:
		return NoTool
	}
}

// Delivered reports whether a tool outside the cluster applies the workload and its sources, one
// after the other.
func (w *Workload) Delivered() bool { return w.Tool != NoTool || w.Stamped }

// isStamped checks all annotations, because the key of a stamp is configurable. Without any data,
// the stamp is NoConfigData, which other programs may write as well; then the workload waits a
// moment longer.
func isStamped(annotations map[string]string) bool {
	for _, value := range annotations {
		if digest.IsStamp(value) {
			return true
		}
	}
	return false
}

// ownerOf names the object whose controller created this one and reverts changes of it.
func ownerOf(meta *metav1.ObjectMeta) string {
	owner := metav1.GetControllerOfNoCopy(meta)
	if owner == nil {
		return ""
	}
	return fmt.Sprintf("%s %q", owner.Kind, owner.Name)
}
