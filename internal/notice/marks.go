package notice

import (
	"fmt"

	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/workload"
)

// MayNotStay is about a reload whose mark another tool will probably remove.
func MayNotStay(w *workload.Workload, doubt string) Notice {
	return warning(w, MarkMayNotStay, fmt.Sprintf("Another tool may revert the mark of this reload: %s. If that happens, Reroll checks the age of the Pods, see %s", doubt, buildinfo.Doc("how-to/gitops.md#before-the-first-write")))
}

// Dropped is about a reload of which the API server stored only the ledger.
func Dropped(w *workload.Workload) Notice {
	return warning(w, MarkDropped, fmt.Sprintf("This %s was not rolled: the API server accepted the write but dropped the mark. Its CustomResourceDefinition must keep the annotations of the pod template (x-kubernetes-preserve-unknown-fields, or a schema for them)", w.Key.Kind))
}

// WithoutTemplate is about the first object of a kind without a pod template at the configured
// path. Given reports whether a user may have chosen that path.
func WithoutTemplate(w *workload.Workload, path string, given bool) Notice {
	text := fmt.Sprintf("This %s has no pod template with containers at %s, so Reroll does not roll it, or any other of its kind without one", w.Key.Kind, path)
	if given {
		text += ". Set the path with --workload-kind=GROUP/VERSION/KIND:path.to.template"
	}
	return warning(w, NoPodTemplate, text)
}
