package workload

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Selects reports whether anything says which labels the workload's pods have. An empty selector would find all pods of the
// namespace, and so would a request with the text of one that finds nothing.
func (w *Workload) Selects() bool {
	s := w.Selector
	return s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0
}

// WhyNotFound says why none of its pods was found.
func (w *Workload) WhyNotFound() string {
	if !w.Selects() {
		return "neither its selector nor its pod template has the labels of its Pods"
	}
	return "no Pod has the labels " + metav1.FormatLabelSelector(w.Selector)
}
