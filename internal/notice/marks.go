package notice

import (
	"fmt"

	"github.com/reroll-dev/reroll/internal/workload"
)

// MayNotStay is about a reload whose mark another tool will probably remove.
func MayNotStay(w *workload.Workload, doubt string) Notice {
	return warning(w, MarkMayNotStay, fmt.Sprintf("The mark of this rollout may be taken away again: %s. If that happens, pods are asked whether they are old, see docs/gitops.md#what-speaks-against-a-mark", doubt))
}

// Dropped is about a reload of which the API server kept nothing but the ledger.
func Dropped(w *workload.Workload) Notice {
	return warning(w, MarkDropped, fmt.Sprintf("This %s was not rolled: the API server took the write and dropped the mark. Its CustomResourceDefinition has to keep the annotations of the pod template (x-kubernetes-preserve-unknown-fields, or a schema for them)", w.Key.Kind))
}

// WithoutTemplate is about the first object of a kind that has no pod template at the path of its kind. Given reports whether a
// user may have chosen that path.
func WithoutTemplate(w *workload.Workload, path string, given bool) Notice {
	text := fmt.Sprintf("This %s has no pod template with containers at %s, so it is not rolled, and neither are others like it", w.Key.Kind, path)
	if given {
		text += ". Where the template is, is said by --workload-kind=GROUP/VERSION/KIND:path.to.template"
	}
	return warning(w, NoPodTemplate, text)
}
