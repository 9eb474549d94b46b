package gate

import (
	"github.com/reroll-dev/reroll/internal/policy"
	"github.com/reroll-dev/reroll/internal/reload"
)

// checkNotify reports whether Reroll reloads a workload at all. A change stays due while it does
// not: the reload of another client ends that, or another mode.
func checkNotify(f *reload.Facts) Answer {
	switch mode, setBy := f.ModeOf(); mode {
	case policy.ModeReload:
		return Answer{}
	case policy.ModeNotify:
		return Answer{By: Notify, Why: "Reroll only notifies (" + setBy + ")"}
	default:
		return Answer{By: Notify, Why: setBy + " cannot be read, so Reroll only notifies"}
	}
}

// DescribeMode describes what follows from a change, empty for a reload by default.
func DescribeMode(f *reload.Facts) string {
	mode, setBy := f.ModeOf()
	_, _, set := f.Workload.Policy.Mode()
	switch {
	case mode == policy.ModeUnknown:
		return setBy + " cannot be read, so Reroll only notifies"
	case !set && mode == policy.ModeReload:
		return ""
	default:
		return mode.String() + " (" + setBy + ")"
	}
}
