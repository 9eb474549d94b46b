package reload

import (
	"fmt"
	"time"
)

// variables marks by one environment variable for each source, which the lists
// of built-in kinds merge by name.
type variables struct{}

func (variables) mark(d *Decision, w *Workload, secrets SecretMarks, _ time.Time) Marking {
	var m Marking
	written := map[markPlace]bool{}
	for _, c := range d.Changes {
		if c.Deleted {
			continue
		}
		container, ok := MarkContainer(c.Uses, w.Containers, c.Verdict.Rule == RuleNamed)
		if !ok {
			// A volume that no container mounts: nothing that could carry a variable uses the source.
			continue
		}
		mark := EnvMark{Container: container, Variable: EnvVarName(c.Source.Key), Value: MarkHash(c.Source, secrets)}
		if !written[mark.place()] {
			// Where two sources share the variable, the first one's value stays.
			m.Env = append(m.Env, mark)
			written[mark.place()] = true
		}
	}
	m.Removed = variablesOfGone(d, w, written)
	return m
}

// variablesOfGone are the variables of sources that are gone.
func variablesOfGone(d *Decision, w *Workload, written map[markPlace]bool) []EnvMark {
	var marks []EnvMark
	var places map[markPlace]string
	for _, c := range d.Changes {
		if !c.Deleted {
			continue
		}
		if places == nil {
			places = w.Marks.places()
		}
		container, ok := MarkContainer(c.Uses, w.Containers, c.Verdict.Rule == RuleNamed)
		mark := EnvMark{Container: container, Variable: EnvVarName(c.Source.Key)}
		if _, stands := places[mark.place()]; ok && stands && !written[mark.place()] {
			marks = append(marks, mark)
		}
	}
	return marks
}

func (variables) against(w *Workload, changes []Concern) string {
	if len(w.Declared.NoEnv) > 0 {
		return fmt.Sprintf("its manifest declares the variables of container %q to be null", w.Declared.NoEnv[0])
	}
	for _, c := range changes {
		variable := EnvVarName(c.Source.Key)
		if owner := w.Marks.Appliers[variable]; owner != "" {
			return fmt.Sprintf("variable %s is in the manifest that %s applies", variable, owner)
		}
	}
	return w.Declared.replaced()
}
