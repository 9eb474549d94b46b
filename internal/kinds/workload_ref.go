package kinds

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/internal/workload"
)

// WorkloadRef is spec.workloadRef of a Rollout: it names the object that has the pod template.
type WorkloadRef struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// Lender is the object that has the pod template, nil for a Rollout with a template of its own.
func (r WorkloadRef) Lender(namespace string) *workload.Key {
	if r.Name == "" {
		return nil
	}
	return &workload.Key{Kind: lenderKind(r.APIVersion, r.Kind), Namespace: namespace, Name: r.Name}
}

// Lends reports whether an object that a Rollout names is marked in its place.
func Lends(lender workload.Key) bool { return lender.Kind == lending }

// lending is the kind whose template a Rollout takes.
const lending = "Deployment"

// lenderKind is the kind of object that has the template. Only a Deployment of apps is rolled for it: Argo Rollouts takes no
// other of the kinds that are rolled here. The others are called so that none of those is meant.
func lenderKind(apiVersion, kind string) string {
	if gv, err := schema.ParseGroupVersion(apiVersion); err == nil && gv.Group == appsv1.GroupName && kind == lending {
		return kind
	}
	return kind + " of " + cmp.Or(apiVersion, "no apiVersion")
}
