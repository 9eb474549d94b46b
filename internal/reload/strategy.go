package reload

import "time"

// strategy is one way to make the pods of a workload be replaced. What it needs
// to know stands in the decision; each is a file.
type strategy interface {
	// mark returns what a reload writes.
	mark(d *Decision, w *Workload, secrets SecretMarks, now time.Time) Marking
	// against says why what it writes for these changes would not stay, from what
	// can be read on the object beforehand; empty if nothing speaks against it.
	against(w *Workload, changes []Concern) string
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

// OnRevert is what follows when somebody takes away every mark that can stand in
// a pod template.
type OnRevert uint8

const (
	// OnRevertStop writes nothing more until the content changes again.
	OnRevertStop OnRevert = iota
	// OnRevertRestart restarts the pods of those workloads that have a field for
	// it.
	OnRevertRestart
)

// Step is which mark the latest reload of a workload has left, and why that one.
// It stands in the ledger, so that neither a restart nor another StrategyChoice
// makes a mark return that was taken away before.
type Step uint8

const (
	// StepVariables marks by environment variables.
	StepVariables Step = iota
	// StepAnnotation marks by an annotation of the pod template, because somebody
	// has taken the variables away.
	StepAnnotation
	// StepAnnotationFirst marks by it from the start.
	StepAnnotationFirst
	// StepRestart restarts the pods, because somebody has taken the marks away.
	StepRestart
	// StepRestartFirst restarts them from the start.
	StepRestartFirst

	lastStep = StepRestartFirst
)

// strategyOf is the one behind a step.
func strategyOf(step Step) strategy {
	switch step {
	case StepVariables:
		return variables{}
	case StepAnnotation, StepAnnotationFirst:
		return annotation{}
	default:
		return restart{}
	}
}

// forced tells that the step was taken because marks were taken away.
func (s Step) forced() bool { return s == StepAnnotation || s == StepRestart }

// restarts tells that the step leaves no mark in the pod template.
func (s Step) restarts() bool { return s == StepRestart || s == StepRestartFirst }

// rung is a strategy on the ladder of a workload.
type rung struct {
	strategy
	// first and after are the steps that stand for it: from the start, and after
	// the mark of another one was taken away.
	first, after Step
}

// ladder is what can be tried on the workload, one after the other.
func (f *Facts) ladder() []rung {
	byVariables := rung{variables{}, StepVariables, StepVariables}
	byAnnotation := rung{annotation{}, StepAnnotationFirst, StepAnnotation}
	byRestart := rung{restart{}, StepRestartFirst, StepRestart}
	w := &f.Workload
	if w.restarts() {
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

// step is the one that a reload takes after an earlier one. What speaks against
// a strategy is read on the object; if it speaks against all, the first one has
// its try, since only a mark that is seen to be taken away proves anything. Doubt
// says what speaks against the one that is taken.
func (f *Facts) step(before Step, changes []Concern) (next Step, doubt string) {
	ladder := f.ladder()
	if before.forced() && !f.Workload.restarts() {
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

// down is the next step after a mark was taken away, unless there is none. An
// operator writes what it owns again and again: there is no second try.
func (f *Facts) down(before Step, changes []Concern) (next Step, ok bool) {
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
