package reload

import (
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/workload"
)

// variables marks by one environment variable per source. Tools merge the variables of built-in
// kinds by name.
type variables struct{}

func (variables) mark(d *Decision, w *workload.Workload, secrets digest.SecretMarks, _ time.Time) workload.Marking {
	var m workload.Marking
	written := map[workload.MarkPlace]bool{}
	for _, c := range d.Changes {
		if c.Deleted {
			continue
		}
		container, ok := workload.MarkContainer(c.Uses, w.Containers, c.Verdict.Rule.WithoutReference())
		if !ok {
			// No container mounts the volume, so no container that could carry a variable uses the
			// source.
			continue
		}
		mark := workload.EnvMark{Container: container, Variable: workload.EnvVarName(c.Source.Key), Value: workload.MarkHash(c.Source, secrets)}
		if !written[mark.Place()] {
			// If two sources share the variable, the value of the first one stays.
			m.Env = append(m.Env, mark)
			written[mark.Place()] = true
		}
	}
	m.Removed = variablesOfGone(d, w, written)
	return m
}

// variablesOfGone are the variables of deleted sources.
func variablesOfGone(d *Decision, w *workload.Workload, written map[workload.MarkPlace]bool) []workload.EnvMark {
	var marks []workload.EnvMark
	var places map[workload.MarkPlace]string
	for _, c := range d.Changes {
		if !c.Deleted {
			continue
		}
		if places == nil {
			places = w.Marks.Places()
		}
		container, ok := workload.MarkContainer(c.Uses, w.Containers, c.Verdict.Rule.WithoutReference())
		mark := workload.EnvMark{Container: container, Variable: workload.EnvVarName(c.Source.Key)}
		if _, present := places[mark.Place()]; ok && present && !written[mark.Place()] {
			marks = append(marks, mark)
		}
	}
	return marks
}

func (variables) against(w *workload.Workload, changes []Concern) string {
	if len(w.Declared.NoEnv) > 0 {
		return fmt.Sprintf("its manifest declares the variables of container %q to be null", w.Declared.NoEnv[0])
	}
	for _, c := range changes {
		variable := workload.EnvVarName(c.Source.Key)
		if owner := w.Marks.Appliers[variable]; owner != "" {
			return fmt.Sprintf("variable %s is in the manifest that %s applies", variable, owner)
		}
	}
	return w.Declared.WhyReplaced()
}
