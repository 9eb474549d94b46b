package reload

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// PodSelector returns the selector of the workload's pods. It is nil if nothing says which labels they have. An empty
// selector would find all pods of the namespace, and so would a request with the text of one that finds nothing.
func (w *Workload) PodSelector() (labels.Selector, error) {
	selector, err := metav1.LabelSelectorAsSelector(w.Selector)
	if err != nil || w.Selector == nil || selector.Empty() {
		return nil, err
	}
	return selector, nil
}

// WhyNotFound says why none of its pods was found.
func (w *Workload) WhyNotFound() string {
	if selector, err := w.PodSelector(); err == nil && selector == nil {
		return "neither its selector nor its pod template says which labels its pods have"
	}
	return "no pod has the labels " + metav1.FormatLabelSelector(w.Selector)
}
