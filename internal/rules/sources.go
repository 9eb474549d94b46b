package rules

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/internal/source"
)

// ReadsSource reports whether the objects of a kind of source are watched, so that it is known
// which of them exist. The data in reports of Pods is unknown until a Pod has mounted it.
func (s *Settings) ReadsSource(kind source.Kind) bool {
	return kind.Known() && !kind.Reported() && !slices.Contains(s.IgnoredSources, kind)
}

// Select records whether the labels of a source match the selector. The API server does not filter
// by it: otherwise removing a label would look like a deletion, and later changes of the source
// would not be observed.
func (s *Settings) Select(src source.Source, l map[string]string) source.Source {
	src.Annotations.Unselected = s.SourceSelector != nil && !s.SourceSelector.Matches(labels.Set(l))
	return src
}
