package kinds

import "slices"

// Use says whether a kind is watched.
type Use uint8

const (
	// WhenServed watches it as long as the API server serves it, which it always does with those of Kubernetes.
	WhenServed Use = iota
	// Always does the same, and asks for the permissions that are missing.
	Always
	// Never does not even ask whether it is served.
	Never
)

// Using returns the kinds with what was said about some of them, by their names.
func (s Set) Using(said map[string]Use) Set {
	all := slices.Clone(s)
	for i := range all {
		if use, ok := said[all[i].Name]; ok {
			all[i].Use = use
		}
	}
	return all
}

// IsWatched reports whether it is not left alone.
func (k Kind) IsWatched() bool { return k.Use != Never }

// Watched are those that are not left alone.
func (s Set) Watched() Set {
	return slices.DeleteFunc(slices.Clone(s), func(k Kind) bool { return !k.IsWatched() })
}

// Expected reports whether it is a mistake if the kind may not be watched. Nobody has said that the other custom kinds are to be.
func (k Kind) Expected() bool { return k.IsWatched() && (k.Use == Always || !k.Custom) }
