package kinds

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/reroll-dev/reroll/internal/workload"
)

// between are kinds of one group between a workload and its children. Their objects have the name
// of the workload as a label.
type between struct {
	kinds []string
	label string
}

// parentOf returns the workload that owns an object, nil if no workload of these kinds does.
// Workloads of Kubernetes own no other workloads, except for Jobs, which Reroll does not reload if
// they have an owner. If a Deployment owns an object, its program created that, and no other
// workload rolls it.
func (s Set) parentOf(meta *metav1.ObjectMeta) *workload.Parent {
	owner := metav1.GetControllerOfNoCopy(meta)
	if owner == nil {
		return nil
	}
	version, err := schema.ParseGroupVersion(owner.APIVersion)
	if err != nil {
		return nil
	}
	for i := range s {
		k := &s[i]
		if !k.Custom || k.Resource.Group != version.Group {
			continue
		}
		parent := workload.Parent{Key: workload.Key{Kind: k.Name, Namespace: meta.Namespace, Name: owner.Name}, UID: owner.UID}
		if k.Object().Kind == owner.Kind {
			return &parent
		}
		if name := meta.Labels[k.between.label]; name != "" && slices.Contains(k.between.kinds, owner.Kind) {
			parent.Key.Name, parent.UID = name, ""
			return &parent
		}
	}
	return nil
}
