package grant

import (
	"slices"

	"github.com/reroll-dev/reroll/internal/source"
)

// Most bounds the ReferenceGrants of a namespace that allow ConfigMaps or Secrets, because its users
// control their number. If there are more, the first ones by name count.
const Most = 100

// Set are the ReferenceGrants of one namespace. It is never changed. A nil Set is empty.
type Set struct {
	names  []string
	grants []*Grant
}

// Names returns the names in order.
func (s *Set) Names() []string {
	if s == nil {
		return nil
	}
	return s.names
}

// Get returns the ReferenceGrant of a name; nil without one.
func (s *Set) Get(name string) *Grant {
	i, found := slices.BinarySearch(s.Names(), name)
	if !found {
		return nil
	}
	return s.grants[i]
}

// With returns the set with another ReferenceGrant; nil removes the one of that name. Excess is the
// one for which there is no place.
func (s *Set) With(name string, g *Grant) (next *Set, excess *Grant) {
	next = &Set{names: slices.Clone(s.Names())}
	if s != nil {
		next.grants = slices.Clone(s.grants)
	}
	i, found := slices.BinarySearch(next.names, name)
	switch {
	case found && g == nil:
		next.names, next.grants = slices.Delete(next.names, i, i+1), slices.Delete(next.grants, i, i+1)
	case found:
		next.grants[i] = g
	case g != nil:
		next.names, next.grants = slices.Insert(next.names, i, name), slices.Insert(next.grants, i, g)
	}
	if len(next.names) > Most {
		excess = next.grants[Most]
		next.names, next.grants = next.names[:Most], next.grants[:Most]
	}
	if len(next.names) == 0 {
		return nil, nil
	}
	return next, excess
}

// Allows reports whether workloads may name a source. Since is the earliest time since when that
// holds for sure; 0 if none is known.
func (s *Set) Allows(from From, src source.LocalKey) (since uint32, allows bool) {
	if s == nil {
		return 0, false
	}
	for _, g := range s.grants {
		if g.Allows(from, src) {
			since, allows = Earlier(since, g.at), true
		}
	}
	return since, allows
}

// Any reports whether any of the ReferenceGrants is like that.
func (s *Set) Any(is func(*Grant) bool) bool { return s != nil && slices.ContainsFunc(s.grants, is) }

// NotBefore returns a time before which none of the ReferenceGrants that allow a source existed; 0 if
// none is known.
func (s *Set) NotBefore(from From, src source.LocalKey) (earliest uint32) {
	if s == nil {
		return 0
	}
	for _, g := range s.grants {
		switch {
		case !g.Allows(from, src):
		case g.created == 0:
			return 0
		default:
			earliest = Earlier(earliest, g.created)
		}
	}
	return earliest
}

// Earlier returns the earlier of two times; 0 is an unknown one.
func Earlier(a, b uint32) uint32 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// Equal reports whether both have the same entries.
func (s *Set) Equal(other *Set) bool {
	if s == nil || other == nil {
		return s == other
	}
	return slices.Equal(s.names, other.names) && slices.EqualFunc(s.grants, other.grants, (*Grant).Equal)
}
