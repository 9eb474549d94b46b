package rules

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/source"
)

// Namespace contains the relevant fields of a namespace.
type Namespace struct {
	Labels labels.Set
	// Terminating reports that it is being deleted.
	Terminating bool
	// Defaults are for workloads whose own annotations set nothing else, and Mistakes the mistakes
	// in the annotations that set them.
	Defaults policy.Policy
	Mistakes []annotations.Mistake
	// OptsInSince is the newest time of a field manager that owns the annotation that opts its
	// workloads in or out; zero if there is none. Without that annotation and with the flag, it is
	// the newest time of one that owns any annotation: it may have opted them out before.
	OptsInSince time.Time
}

// ReadNamespace reads the relevant fields of a namespace. It sets no defaults if the controller
// watches certain namespaces only, because that one cannot read them.
func (s *Settings) ReadNamespace(ns *metav1.ObjectMeta) Namespace {
	defaults, mistakes := policy.ParseNamespace(ns.Annotations, s.Names)
	known := Namespace{Labels: ns.Labels, Terminating: ns.DeletionTimestamp != nil, Mistakes: mistakes}
	if !s.WatchesNamespaces() {
		return known
	}
	known.Defaults = defaults
	switch _, decides := defaults.OptedInByNamespace(); {
	case decides:
		known.OptsInSince = source.LastWrite(ns, annotations.AutoOfNamespace)
	case s.AutoReloadAll:
		known.OptsInSince = source.LastWrite(ns, "annotations")
	}
	return known
}

// LeftOut is why the workloads of a namespace are not reconciled.
type LeftOut uint8

// The reasons, in the order in which they are checked.
const (
	// NotLeftOut means that they are reconciled.
	NotLeftOut LeftOut = iota
	// NotNamed means that only certain other namespaces are watched.
	NotNamed
	// Ignored means that it is excluded by name.
	Ignored
	// NotSelected means that its labels do not match the selector.
	NotSelected
	// Terminating means that it is being deleted.
	Terminating
)

// LeavesOut returns why the workloads of a namespace are not reconciled. Known is nil if there is
// no permission to read the namespace, and then excludes nothing.
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

// SelectsNamespace reports whether the labels of a namespace match the selector.
func (s *Settings) SelectsNamespace(known *Namespace) bool {
	return s.NamespaceSelector == nil || s.NamespaceSelector.Matches(known.Labels)
}

// WatchesNamespaces reports whether any decision depends on the namespace objects. If only certain
// namespaces are watched, there may be no permission to read them.
func (s *Settings) WatchesNamespaces() bool { return !s.named() }

// Watched are the namespaces to watch; an empty name means all.
func (s *Settings) Watched() []string {
	if s.named() {
		return s.Namespaces
	}
	return []string{""}
}

// FieldSelector excludes the ignored namespaces, in addition to the selector of a resource. An
// object never changes its namespace, so no event is lost.
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

// ignoredNamespaces is empty if only certain namespaces are watched.
func (s *Settings) ignoredNamespaces() []string {
	if s.named() {
		return nil
	}
	return s.NamespacesToIgnore
}
