package kinds

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/internal/workload"
)

// WorkloadRef is spec.workloadRef of a Rollout: the object that has the pod template.
type WorkloadRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// TemplateOwner is the object that has the pod template; nil for a Rollout with its own template.
func (r WorkloadRef) TemplateOwner(namespace string) *workload.Key {
	if r.Name == "" {
		return nil
	}
	return &workload.Key{Kind: refKind(r.APIVersion, r.Kind), Namespace: namespace, Name: r.Name}
}

// IsTemplateOwner reports whether Reroll marks an object that a Rollout references.
func IsTemplateOwner(owner workload.Key) bool { return owner.Kind == templateOwnerKind }

// templateOwnerKind is the only kind whose template a Rollout uses and that Reroll marks.
const templateOwnerKind = "Deployment"

// refKind is the kind of the referenced object. Argo Rollouts supports Deployments of apps and
// kinds that Reroll does not roll. The name of any other kind contains its apiVersion, so that it
// never equals the name of a kind that Reroll rolls.
func refKind(apiVersion, kind string) string {
	if gv, err := schema.ParseGroupVersion(apiVersion); err == nil && gv.Group == appsv1.GroupName && kind == templateOwnerKind {
		return kind
	}
	return kind + " of " + cmp.Or(apiVersion, "no apiVersion")
}
