package rules

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/internal/source"
)

// ReadsSource reports whether the objects of a kind of source are watched, so that it is known
// which of them exist. The data in reports of Pods is unknown until a Pod has mounted it.
func (s *Settings) ReadsSource(kind source.Kind) bool {
	return kind.Known() && !kind.Reported() && !s.IgnoresSource(kind)
}

// IgnoresSource reports whether flags exclude a kind of source, or lack the one that enables it.
func (s *Settings) IgnoresSource(kind source.Kind) bool {
	return kind.ClusterScoped() && !s.TrustBundles || slices.Contains(s.IgnoredSources, kind)
}

// unread are the kinds of source whose objects are not read.
func (s *Settings) unread() []source.Kind {
	if s.TrustBundles {
		return s.IgnoredSources
	}
	return append(slices.Clip(s.IgnoredSources), source.ClusterTrustBundle)
}

// Select records whether the labels of a source match the selector. The API server does not filter
// by it: otherwise removing a label would look like a deletion, and later changes of the source
// would not be observed.
func (s *Settings) Select(src source.Source, l map[string]string) source.Source {
	src.Annotations.Unselected = s.SourceSelector != nil && !s.SourceSelector.Matches(labels.Set(l))
	return src
}
