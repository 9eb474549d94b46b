package workload

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Selects reports whether the labels of the Pods are known. An empty selector would match all Pods
// of the namespace, and the text of a selector that matches none would do so, too.
func (w *Workload) Selects() bool {
	s := w.Selector
	return s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0
}

// WhyNotFound returns why no Pod was found.
func (w *Workload) WhyNotFound() string {
	if !w.Selects() {
		return "neither its selector nor its pod template has the labels of its Pods"
	}
	return "no Pod has the labels " + metav1.FormatLabelSelector(w.Selector)
}
