package reload

import (
	"fmt"
	"time"
)

// Marking is what a reload writes into the pod template.
type Marking struct {
	Env []EnvMark
	// Removed are variables that stand there and have to go.
	Removed []EnvMark
	// ReloadedFrom is the text of the annotation that names the source.
	ReloadedFrom string
	// Rolled is a value for RolledAnnotation, if the rest alone would leave the
	// template as it is, or as one that pods may still be of.
	Rolled string
	// RestartAt is a time before which pods are started anew. Where it is set
	// the pod template stays as it is.
	RestartAt string
}

// Mark returns the marking of a reload and notes it in the ledger of the
// decision. It always makes a template that no pod is of: that is what makes the
// pods roll.
func (d *Decision) Mark(w *Workload, seen WorkloadSeen, secrets SecretMarks, now time.Time) Marking {
	var m Marking
	if w.restarts() {
		d.Ledger.Marks = w.Marks.digest()
		return Marking{RestartAt: d.restartAt(now)}
	}
	switch d.Ledger.Step {
	case StepVariables:
		m.Env = d.variables(w, secrets)
		m.Removed = d.removed(w, m.Env)
	case StepAnnotation, StepAnnotationFirst:
		m.ReloadedFrom = d.reloadedFrom(w, secrets, now)
	}
	if seen.MayHavePods(revision(w.Template, w.Marks.with(m))) {
		// The counter alone starts again if the ledger was wiped; with the time it never comes twice.
		m.Rolled = fmt.Sprintf("%d-%d", d.Ledger.Counter, now.UnixMilli())
	}
	d.Ledger.Marks = w.Marks.with(m).digest()
	return m
}

func (d *Decision) variables(w *Workload, secrets SecretMarks) []EnvMark {
	var marks []EnvMark
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
		if !hasVariable(marks, mark) {
			// Where two sources share the variable, the first one's value stays.
			marks = append(marks, mark)
		}
	}
	return marks
}

// removed are the variables of sources that are gone.
func (d *Decision) removed(w *Workload, written []EnvMark) []EnvMark {
	var marks []EnvMark
	for _, c := range d.Changes {
		container, ok := MarkContainer(c.Uses, w.Containers, c.Verdict.Rule == RuleNamed)
		mark := EnvMark{Container: container, Variable: EnvVarName(c.Source.Key)}
		if _, stands := w.Marks.standing(mark.Container, mark.Variable); c.Deleted && ok && stands && !hasVariable(written, mark) {
			marks = append(marks, mark)
		}
	}
	return marks
}

func hasVariable(marks []EnvMark, mark EnvMark) bool {
	for _, m := range marks {
		if m.Container == mark.Container && m.Variable == mark.Variable {
			return true
		}
	}
	return false
}

func (d *Decision) reloadedFrom(w *Workload, secrets SecretMarks, now time.Time) string {
	last := d.Changes[len(d.Changes)-1]
	from := ReloadedFrom{Source: last.Source.Key, Hash: DeleteMarker, ObservedAt: now.Unix()}
	if !last.Deleted {
		from.Hash = MarkHash(last.Source, secrets)
	}
	if container, ok := MarkContainer(last.Uses, w.Containers, last.Verdict.Rule == RuleNamed); ok {
		from.Containers = []string{container}
	}
	return from.JSON()
}
