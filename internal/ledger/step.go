package ledger

// Step is which mark the latest reload of a workload has left, and why that one.
// It stands in the ledger, so that neither a restart nor another reload.StrategyChoice
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

// Forced reports whether the step was taken because marks were taken away.
func (s Step) Forced() bool { return s == StepAnnotation || s == StepRestart }

// Restarts reports whether the step leaves no mark in the pod template.
func (s Step) Restarts() bool { return s == StepRestart || s == StepRestartFirst }
