package policy

import (
	"cmp"
	"slices"
)

// TemplateUser is a workload that uses the pod template of another workload.
type TemplateUser struct {
	Name   string
	Policy Policy
}

// WithTemplateUsers is the policy of a workload whose pod template others use. Annotations of the
// users take precedence over those of the workload, and among the users the first by name.
func (p Policy) WithTemplateUsers(to []TemplateUser) Policy {
	for _, b := range slices.SortedStableFunc(slices.Values(to), func(a, b TemplateUser) int { return -cmp.Compare(a.Name, b.Name) }) {
		p = b.Policy.Over(p)
	}
	return p
}
