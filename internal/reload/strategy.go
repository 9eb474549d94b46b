package reload

// Strategy is how a reload marks the pod template.
type Strategy uint8

const (
	// StrategyAuto marks by variables where tools merge them by name, and by the
	// annotation where they replace lists whole, and with them what we wrote.
	StrategyAuto Strategy = iota
	// StrategyEnvVars marks by variables, everywhere.
	StrategyEnvVars
	// StrategyAnnotations marks by the annotation, everywhere.
	StrategyAnnotations
)

// Step is which mark the latest reload of a workload has left, and why that one.
// It stands in the ledger, so that neither a restart nor another Strategy makes
// a mark return that was taken away before.
type Step uint8

const (
	// StepVariables marks by environment variables.
	StepVariables Step = iota
	// StepAnnotation marks by an annotation of the pod template, because somebody
	// has taken the variables away.
	StepAnnotation
	// StepAnnotationFirst marks by it because the Strategy says so.
	StepAnnotationFirst

	lastStep = StepAnnotationFirst
)

// variables tells whether a reload of a workload begins with variables.
func (s Strategy) variables(w *Workload) bool {
	switch s {
	case StrategyEnvVars:
		return true
	case StrategyAnnotations:
		return false
	default:
		return !w.Custom
	}
}

// step is the one that a reload takes after an earlier one.
func (s Strategy) step(w *Workload, before Step) Step {
	switch {
	case before == StepAnnotation:
		return StepAnnotation // variables were taken away, and would be again
	case s.variables(w):
		return StepVariables
	default:
		return StepAnnotationFirst
	}
}

// down is the next step after a mark was taken away, unless there is none.
func (s Step) down() (next Step, ok bool) {
	if s == StepVariables {
		return StepAnnotation, true
	}
	return s, false
}
