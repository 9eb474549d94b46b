package reload

import (
	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/policy"
)

// RequiresApproval returns what requires that reloads of the workload are approved, empty if
// nothing does.
func (f *Facts) RequiresApproval() (setBy string) {
	for _, p := range []*policy.Policy{&f.Workload.Policy, &f.Defaults} {
		if setBy := p.RequiresApproval(); setBy != "" {
			return setBy
		}
	}
	if f.Approval {
		return "--approval=" + annotations.Required
	}
	return ""
}
