package reload

import (
	"fmt"
	"time"
)

// Marking is what a reload writes into the pod template.
type Marking struct {
	Env []EnvMark
	// Rolled is a value for RolledAnnotation, if the variables alone would leave
	// the template as it is.
	Rolled string
}

// EnvMarking returns the marking of a reload by environment variables. It always
// changes the template: that is what makes the pods roll.
func EnvMarking(d Decision, w *Workload, secrets SecretMarks, now time.Time) Marking {
	var m Marking
	changed := false
	for _, c := range d.Changes {
		container, ok := MarkContainer(c.Uses, w.Containers, c.Verdict.Rule == RuleNamed)
		if !ok {
			// A volume that no container mounts: nothing that could carry a variable uses the source.
			continue
		}
		mark := EnvMark{Container: container, Variable: EnvVarName(c.Source.Key), Value: MarkHash(c.Source, secrets)}
		standing, stands := w.Marks.standing(mark.Container, mark.Variable)
		if m.has(mark) {
			// Two sources share the variable; the first one's value stays.
			continue
		}
		changed = changed || !stands || standing != mark.Value
		m.Env = append(m.Env, mark)
	}
	if !changed {
		// The counter alone starts again if the ledger was wiped; with the time it never comes twice.
		m.Rolled = fmt.Sprintf("%d-%d", d.Ledger.Counter, now.UnixMilli())
	}
	return m
}

func (m Marking) has(mark EnvMark) bool {
	for _, env := range m.Env {
		if env.Container == mark.Container && env.Variable == mark.Variable {
			return true
		}
	}
	return false
}
