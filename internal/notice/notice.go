// Package notice contains the texts about an object: each is an event on that object, and a line in
// the log if it is a warning. It defines the reason, the text and the remedy. It does not know the
// log, events and alerts, which are in package report.
//
// Texts that also count in metrics or send an alert (Reloaded, Rolled, NotRolled, Reverted,
// ReloadFail) are in package report.
package notice

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// The reasons of the events. They never change, because users filter by them.
const (
	Watching          = "Watching"
	SourceMissing     = "SourceMissing"
	SourceNotAllowed  = "SourceNotAllowed"
	LeftToOwner       = "LeftToOwner"
	OtherController   = "OtherController"
	AnnotationIgnored = "AnnotationIgnored"
	LedgerTooNew      = "LedgerTooNew"
	Undecided         = "Undecided"
	MarkMayNotStay    = "MarkMayNotStay"
	MarkDropped       = "MarkDropped"
	NoPodTemplate     = "NoPodTemplate"
	ReloadedOften     = "ReloadedOften"
	ReloadHeld        = "ReloadHeld"
	ApprovalRequested = "ApprovalRequested"
	GateOverridden    = "GateOverridden"
	OutOfDate         = "OutOfDate"
	WavesStopped      = "WavesStopped"
	ReloadsHalted     = "ReloadsHalted"
	Resumed           = "Resumed"
	PausedAgain       = "PausedAgain"
	UnreadableCopy    = "UnreadableCopy"
	NotSigned         = "NotSigned"
	StaysHeld         = "StaysHeld"
)

// MaxText is the longest text of an event that the API server accepts, in bytes.
const MaxText = 1024

// Notice is one sentence about one object.
type Notice struct {
	About corev1.ObjectReference
	// Subject is how the log names the object, and SubjectKind is "workload" or "source".
	Subject, SubjectKind string
	Reason               string
	// Warning is false if no user has to act.
	Warning bool
	// Alert reports whether it is sent to the receiver of alerts, too.
	Alert bool
	Text  string
	// Once identifies the notice, if a restart of the controller or another leader must not repeat it:
	// it follows from what stands in the cluster. It is empty for a notice about what happens only
	// once.
	Once string
}

// warning is a notice about a workload on which a user has to act.
func warning(w *workload.Workload, reason, text string) Notice {
	n := normal(w, reason, text)
	n.Warning = true
	return n
}

func normal(w *workload.Workload, reason, text string) Notice {
	return Notice{About: Workload(w), Subject: w.Key.String(), SubjectKind: "workload", Reason: reason, Text: text}
}

// Workload returns the reference to a workload for an event.
func Workload(w *workload.Workload) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: w.APIVersion, Kind: w.Key.Object(), Namespace: w.Key.Namespace, Name: w.Key.Name,
		UID: w.UID, ResourceVersion: w.ResourceVersion,
	}
}

func sourceReference(src *source.Source) corev1.ObjectReference {
	return corev1.ObjectReference{
		APIVersion: src.Key.Kind.APIVersion(), Kind: src.Key.Kind.String(), Namespace: src.Key.Namespace, Name: src.Key.Name,
		UID: src.UID, ResourceVersion: src.ResourceVersion,
	}
}

// listed joins the first names, and the number of the others.
func listed(names []string, most int) string {
	if more := len(names) - most; more > 0 {
		names = append(slices.Clone(names[:most]), strconv.Itoa(more)+" more")
	}
	if len(names) == 1 {
		return names[0]
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}

// short returns the start of an entry, enough to find it in a list.
func short(entry string) string {
	const most = 100
	if len(entry) <= most {
		return entry
	}
	return strings.ToValidUTF8(entry[:most], "") + "…"
}
