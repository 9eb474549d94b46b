package reload

import (
	"time"

	"github.com/reroll-dev/reroll/internal/digest"
	"github.com/reroll-dev/reroll/internal/ledger"
	"github.com/reroll-dev/reroll/internal/workload"
)

// strategy is one way to replace the Pods of a workload. Its input is the decision; each strategy
// has a file.
type strategy interface {
	// mark returns what a reload writes.
	mark(d *Decision, w *workload.Workload, secrets digest.SecretMarks, now time.Time) workload.Marking
	// against says why what it writes for these changes would not stay, from what
	// can be read on the object beforehand; empty if nothing speaks against it.
	against(w *workload.Workload, changes []Concern) string
}

// StrategyChoice is what the user has chosen.
type StrategyChoice uint8

const (
	// StrategyAuto marks by variables where tools merge them by name, and by the
	// annotation where they replace lists whole, and with them what we wrote.
	StrategyAuto StrategyChoice = iota
	// StrategyEnvVars marks by variables, everywhere.
	StrategyEnvVars
	// StrategyAnnotations marks by the annotation, everywhere.
	StrategyAnnotations
)

// OnRevert is what to do when another client has removed every mark that a pod template can carry.
type OnRevert uint8

const (
	// OnRevertStop writes nothing more until the content changes again.
	OnRevertStop OnRevert = iota
	// OnRevertRestart restarts the pods of those workloads that have a field for
	// it.
	OnRevertRestart
)

// strategyOf is the one behind a step.
func strategyOf(step ledger.Step) strategy {
	switch step {
	case ledger.StepVariables:
		return variables{}
	case ledger.StepAnnotation, ledger.StepAnnotationFirst:
		return annotation{}
	default:
		return restart{}
	}
}

// rung is a strategy on the ladder of a workload.
type rung struct {
	strategy
	// first and after are the steps of the ledger for it: from the start, and after the mark of
	// another strategy was removed.
	first, after ledger.Step
}

// ladder is what can be tried on the workload, one after the other.
func (f *Facts) ladder() []rung {
	byVariables := rung{variables{}, ledger.StepVariables, ledger.StepVariables}
	byAnnotation := rung{annotation{}, ledger.StepAnnotationFirst, ledger.StepAnnotation}
	byRestart := rung{restart{}, ledger.StepRestartFirst, ledger.StepRestart}
	w := &f.Workload
	if w.Restarts() {
		return []rung{byRestart}
	}
	ladder := []rung{byAnnotation}
	if f.Strategy == StrategyEnvVars || f.Strategy == StrategyAuto && !w.Custom {
		ladder = []rung{byVariables, byAnnotation}
	}
	if f.OnRevert == OnRevertRestart && w.Restartable {
		ladder = append(ladder, byRestart)
	}
	return ladder
}

// step is the step of a reload that follows an earlier one. What speaks against a strategy is read
// from the object; if something speaks against all of them, the first one is tried, since only a
// mark that is seen to be removed proves anything. Doubt is what speaks against the strategy of
// that step.
func (f *Facts) step(before ledger.Step, changes []Concern) (next ledger.Step, doubt string) {
	ladder := f.ladder()
	if before.Forced() && !f.Workload.Restarts() {
		next = ladder[len(ladder)-1].after // also if what was tried then is not to be tried any more
		for _, r := range ladder {
			if r.after == before {
				next = before
			}
		}
		return next, ""
	}
	for _, r := range ladder {
		if r.against(&f.Workload, changes) == "" {
			return r.first, ""
		}
	}
	return ladder[0].first, ladder[0].against(&f.Workload, changes)
}

// down is the next step after a mark was removed, unless there is none. An operator writes what it
// owns again and again, so there is no second try.
func (f *Facts) down(before ledger.Step, changes []Concern) (next ledger.Step, ok bool) {
	if f.Workload.Owner != "" {
		return before, false
	}
	ladder := f.ladder()
	for i, r := range ladder {
		if before == r.first || before == r.after {
			ladder = ladder[i+1:]
			break
		}
	}
	for _, r := range ladder {
		if r.against(&f.Workload, changes) == "" {
			return r.after, true
		}
	}
	return before, false
}
