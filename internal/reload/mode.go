package reload

import "github.com/reroll-dev/reroll/internal/policy"

// ModeOf returns what follows from a change of the workload, and what sets that.
func (f *Facts) ModeOf() (mode policy.Mode, setBy string) {
	if mode, setBy, set := f.Workload.Policy.Mode(); set {
		return mode, setBy
	}
	return f.Mode, "--mode"
}
