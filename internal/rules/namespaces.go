package rules

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Namespace is what matters of a namespace.
type Namespace struct {
	Labels labels.Set
	// Terminating reports that it is being deleted.
	Terminating bool
}

// ReadNamespace returns what matters of a namespace.
func ReadNamespace(ns *metav1.ObjectMeta) Namespace {
	return Namespace{Labels: ns.Labels, Terminating: ns.DeletionTimestamp != nil}
}

// LeftOut is why the workloads of a namespace are not reconciled.
type LeftOut uint8

// The reasons, in the order in which they are asked for.
const (
	// NotLeftOut means that they are.
	NotLeftOut LeftOut = iota
	// NotNamed means that certain namespaces are watched, and this is none of them.
	NotNamed
	// Ignored means that it is left out by name.
	Ignored
	// NotSelected means that its labels are not those that are looked for.
	NotSelected
	// Terminating means that it is being deleted.
	Terminating
)

// LeavesOut returns why the workloads of a namespace are not reconciled. What is known of the namespace is nil where it may not
// be read: that leaves nothing out.
func (s *Settings) LeavesOut(name string, known *Namespace) LeftOut {
	switch {
	case s.named():
		if slices.Contains(s.Namespaces, name) {
			return NotLeftOut
		}
		return NotNamed
	case slices.Contains(s.ignoredNamespaces(), name):
		return Ignored
	case known == nil:
		return NotLeftOut
	case !s.SelectsNamespace(known):
		return NotSelected
	case known.Terminating:
		return Terminating
	default:
		return NotLeftOut
	}
}

// SelectsNamespace reports whether the labels of a namespace are those that are looked for.
func (s *Settings) SelectsNamespace(known *Namespace) bool {
	return s.NamespaceSelector == nil || s.NamespaceSelector.Matches(known.Labels)
}

// WatchesNamespaces reports whether anything depends on what a namespace is like. Where certain ones are watched, there may be no
// permission to read them.
func (s *Settings) WatchesNamespaces() bool { return !s.named() }

// Watched are the namespaces in which a watch is opened; empty is for all.
func (s *Settings) Watched() []string {
	if s.named() {
		return s.Namespaces
	}
	return []string{""}
}

// FieldSelector leaves out the namespaces that are ignored, beside what a resource leaves out anyhow. An object never
// changes its namespace, so none comes or goes by this.
func (s *Settings) FieldSelector(own string) string {
	for _, ns := range s.ignoredNamespaces() {
		if own != "" {
			own += ","
		}
		own += fields.OneTermNotEqualSelector("metadata.namespace", ns).String()
	}
	return own
}

func (s *Settings) named() bool { return len(s.Namespaces) > 0 }

// ignoredNamespaces are none where certain namespaces are watched.
func (s *Settings) ignoredNamespaces() []string {
	if s.named() {
		return nil
	}
	return s.NamespacesToIgnore
}
