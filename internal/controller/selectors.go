package controller

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/internal/source"
)

// fieldSelector leaves out the namespaces that are ignored, beside what a resource leaves out anyhow. An object never
// changes its namespace, so none comes or goes by this.
func (c *Controller) fieldSelector(own string) string {
	if len(c.opts.Namespaces) > 0 {
		return own
	}
	for _, ns := range c.opts.NamespacesToIgnore {
		if own != "" {
			own += ","
		}
		own += fields.OneTermNotEqualSelector("metadata.namespace", ns).String()
	}
	return own
}

// selected records whether the selector matches a source. The watch is not filtered by the API server: with a
// filter, losing a label looks like a deletion, and changes of the source meanwhile would not be seen.
func (c *Controller) selected(src source.Source, l map[string]string) source.Source {
	src.Annotations.Unselected = c.opts.SourceSelector != nil && !c.opts.SourceSelector.Matches(labels.Set(l))
	return src
}

// selectsNamespace reports whether workloads of a namespace are reconciled. All the same they are kept in the state together with
// their sources, so that what changed is known when the namespace is selected.
func (c *Controller) selectsNamespace(namespace string) bool {
	return c.opts.NamespaceSelector == nil || c.state.Selected(namespace)
}
