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
	// against returns why the mark for these changes would not stay, as far as the object shows;
	// empty if nothing does.
	against(w *workload.Workload, changes []Concern) string
}

// StrategyChoice is the --reload-strategy.
type StrategyChoice uint8

const (
	// StrategyAuto marks by variables if tools merge lists by name, and by the annotation if they
	// replace whole lists and so would remove our mark.
	StrategyAuto StrategyChoice = iota
	// StrategyEnvVars always marks by variables.
	StrategyEnvVars
	// StrategyAnnotations always marks by the annotation.
	StrategyAnnotations
)

// OnRevert is what to do when another client has removed every mark that a pod template can carry.
type OnRevert uint8

const (
	// OnRevertStop writes nothing more until the data changes again.
	OnRevertStop OnRevert = iota
	// OnRevertRestart restarts the Pods of workloads that have a field for that.
	OnRevertRestart
)

// strategyOf is the strategy of a step.
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

// ladder are the strategies to try on the workload, in this order.
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

// step is the step of a reload after an earlier one. The object shows what would remove the mark of
// a strategy. If that applies to all strategies, the first one is tried, because only an observed
// removal proves anything. Doubt is the reason against the strategy of that step.
func (f *Facts) step(before ledger.Step, changes []Concern) (next ledger.Step, doubt string) {
	ladder := f.ladder()
	if before.Forced() && !f.Workload.Restarts() {
		next = ladder[len(ladder)-1].after // even if that strategy is no longer available
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

// down is the next step after a mark was removed, if any. An operator writes its objects again and
// again, so there is no second try.
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
