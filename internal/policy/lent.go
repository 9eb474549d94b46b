package policy

import (
	"cmp"
	"slices"
)

// Borrower is a workload that uses the pod template of another one.
type Borrower struct {
	Name   string
	Policy Policy
}

// Lent is the policy of a workload whose pod template others use. What the first of them by name asks for counts before the
// others, and what any of them asks for before the workload itself.
func (p Policy) Lent(to []Borrower) Policy {
	for _, b := range slices.SortedStableFunc(slices.Values(to), func(a, b Borrower) int { return -cmp.Compare(a.Name, b.Name) }) {
		p = b.Policy.Over(p)
	}
	return p
}
