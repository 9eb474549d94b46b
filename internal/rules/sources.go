package rules

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/reroll-dev/reroll/internal/source"
)

// ReadsSource reports whether the objects of a kind of source are watched, so that it is known which of them exist. Of what pods
// report nobody knows before a pod has mounted it.
func (s *Settings) ReadsSource(kind source.Kind) bool {
	return kind.Known() && !kind.Reported() && !slices.Contains(s.IgnoredSources, kind)
}

// Select notes whether the labels of a source are those that are looked for. The API server is not asked to leave the others
// out: with it, losing a label looks like being deleted, and what happens to a source meanwhile would not be seen.
func (s *Settings) Select(src source.Source, l map[string]string) source.Source {
	src.Annotations.Unselected = s.SourceSelector != nil && !s.SourceSelector.Matches(labels.Set(l))
	return src
}
