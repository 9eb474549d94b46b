package kinds

import "slices"

// Use is whether a kind is watched.
type Use uint8

const (
	// WhenServed watches it as long as the API server serves it. The API server always serves the
	// kinds of Kubernetes.
	WhenServed Use = iota
	// Always does the same, and reports missing permissions.
	Always
	// Never does not even check whether it is served.
	Never
)

// Using returns the kinds with the given uses, by name.
func (s Set) Using(said map[string]Use) Set {
	all := slices.Clone(s)
	for i := range all {
		if use, ok := said[all[i].Name]; ok {
			all[i].Use = use
		}
	}
	return all
}

// IsWatched reports whether the kind is watched.
func (k Kind) IsWatched() bool { return k.Use != Never }

// Watched are the watched kinds.
func (s Set) Watched() Set {
	return slices.DeleteFunc(slices.Clone(s), func(k Kind) bool { return !k.IsWatched() })
}

// Expected reports whether a missing permission to watch the kind is a mistake. It is not for
// custom kinds that no user has chosen.
func (k Kind) Expected() bool { return k.IsWatched() && (k.Use == Always || !k.Custom) }
