package ledger

// Step is the strategy of the latest reload, and the reason for it. It is part of the ledger.
// Otherwise a restart, or another reload.StrategyChoice, would bring back a mark that was removed
// before.
type Step uint8

const (
	// StepVariables marks by environment variables.
	StepVariables Step = iota
	// StepAnnotation marks by an annotation of the pod template, because another client removed the
	// variables.
	StepAnnotation
	// StepAnnotationFirst marks by an annotation from the start.
	StepAnnotationFirst
	// StepRestart restarts the Pods, because another client removed the marks.
	StepRestart
	// StepRestartFirst restarts the Pods from the start.
	StepRestartFirst

	lastStep = StepRestartFirst
)

// Forced reports whether the step was taken because marks were removed.
func (s Step) Forced() bool { return s == StepAnnotation || s == StepRestart }

// Restarts reports whether the step writes no mark to the pod template.
func (s Step) Restarts() bool { return s == StepRestart || s == StepRestartFirst }
