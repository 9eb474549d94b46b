package ledger

// Step is which mark the latest reload of a workload left, and why that one. It is part of the
// ledger, so that neither a restart nor another reload.StrategyChoice brings back a mark that was
// removed before.
type Step uint8

const (
	// StepVariables marks by environment variables.
	StepVariables Step = iota
	// StepAnnotation marks by an annotation of the pod template, because another client removed the
	// variables.
	StepAnnotation
	// StepAnnotationFirst marks by it from the start.
	StepAnnotationFirst
	// StepRestart restarts the Pods, because another client removed the marks.
	StepRestart
	// StepRestartFirst restarts them from the start.
	StepRestartFirst

	lastStep = StepRestartFirst
)

// Forced reports whether the step was taken because marks were removed.
func (s Step) Forced() bool { return s == StepAnnotation || s == StepRestart }

// Restarts reports whether the step leaves no mark in the pod template.
func (s Step) Restarts() bool { return s == StepRestart || s == StepRestartFirst }
