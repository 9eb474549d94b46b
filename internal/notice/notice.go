// Package notice holds the sentences about an object: each is an event on that object, and a line in the log if something is wrong.
// It knows the reason, the words and the remedy. It must not know who reads them: the log, events and alerts are in package report.
//
// What is counted or sent as an alert as well (Reloaded, Rolled, NotRolled, Reverted, ReloadFail) is in package report.
package notice

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// The reasons of the events. Users filter by them, so they never change.
const (
	Watching          = "Watching"
	SourceMissing     = "SourceMissing"
	LeftToOwner       = "LeftToOwner"
	OtherController   = "OtherController"
	AnnotationIgnored = "AnnotationIgnored"
	LedgerTooNew      = "LedgerTooNew"
	Undecided         = "Undecided"
	MarkMayNotStay    = "MarkMayNotStay"
	MarkDropped       = "MarkDropped"
	NoPodTemplate     = "NoPodTemplate"
	ReloadedOften     = "ReloadedOften"
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
	// Warning is false if everything is as its user wants it.
	Warning bool
	Text    string
}

// warning is a notice about a workload with which something is wrong.
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

// listed puts the first names into a sentence, and the number of the others.
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

// short is as much of an entry as a user needs to find it again in a list.
func short(entry string) string {
	const most = 100
	if len(entry) <= most {
		return entry
	}
	return strings.ToValidUTF8(entry[:most], "") + "…"
}
