package kinds

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Custom kinds of other projects with their pod template at spec.template.

func deploymentConfig() Kind {
	return templated("DeploymentConfig", "OpenShift DeploymentConfigs",
		schema.GroupVersionResource{Group: "apps.openshift.io", Version: "v1", Resource: "deploymentconfigs"}, specTemplate())
}

func cloneSet() Kind {
	return templated("CloneSet", "OpenKruise CloneSets", kruise("v1alpha1", "clonesets"), specTemplate())
}

func advancedStatefulSet() Kind {
	return templated("StatefulSet.apps.kruise.io", "OpenKruise StatefulSets", kruise("v1beta1", "statefulsets"), specTemplate())
}

func advancedDaemonSet() Kind {
	return templated("DaemonSet.apps.kruise.io", "OpenKruise DaemonSets", kruise("v1alpha1", "daemonsets"), specTemplate())
}

func kruise(version, plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps.kruise.io", Version: version, Resource: plural}
}

// knativeService has no selector. Its Pods, and their Deployments, have its name as a label.
func knativeService() Kind {
	const label = "serving.knative.dev/service"
	k := templated("Service.serving.knative.dev", "Knative Services",
		schema.GroupVersionResource{Group: "serving.knative.dev", Version: "v1", Resource: "services"}, specTemplate())
	k.between = between{kinds: []string{"Configuration", "Revision"}, label: label}
	k.Adapter = custom{k.Name, specTemplate(), func(obj *unstructured.Unstructured) (Parts, error) {
		p, err := templatedParts(obj, specTemplate())
		p.Selector, p.SelectorGuessed = &metav1.LabelSelector{MatchLabels: map[string]string{label: obj.GetName()}}, false
		return p, err
	}}
	return k
}
