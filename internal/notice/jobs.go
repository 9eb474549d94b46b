package notice

import (
	"fmt"

	"github.com/reroll-dev/reroll/internal/workload"
)

// Unreadable is about the copy of a Job that was to be recreated, if the copy does not say what it
// is a copy of.
func Unreadable(w *workload.Workload, why error) Notice {
	return warning(w, UnreadableCopy, fmt.Sprintf("This Job is a copy, but its annotation reroll.dev/replaces cannot be read: %v. Reroll leaves it alone. "+
		"Check that the Job exists whose name this one begins with, and is not being deleted. Create it if it is missing, then delete this one", why))
}

// letRun is the command that lets a held Job run.
const letRun = `kubectl patch job %[1]s --namespace %[2]s --type merge --patch '{"metadata":{"annotations":{"reroll.dev/held":null}},"spec":{"suspend":false}}'`

// UnsignedCopy is about a Job that claims to be a copy by Reroll, but that the key of this
// installation has not signed.
func UnsignedCopy(w *workload.Workload) Notice {
	return unsigned(w, "reroll.dev/replaces", "Reroll deletes and creates no Job because of it. Check that the Job exists whose name this one begins with, and is not being deleted. "+
		"Create it if it is missing, then delete this one: kubectl delete job %[1]s --namespace %[2]s")
}

// UnsignedHeld is about a Job that claims to be held by Reroll.
func UnsignedHeld(w *workload.Workload) Notice {
	return unsigned(w, "reroll.dev/held", "Reroll does not unsuspend it. Delete it, or unsuspend it: "+letRun)
}

// UnsignedRun is about a Job that claims to be created by Reroll for a CronJob.
func UnsignedRun(w *workload.Workload) Notice {
	return unsigned(w, workload.RunLabel, "Reroll does not unsuspend it and does not use its ledger. Delete it: kubectl delete job %[1]s --namespace %[2]s")
}

func unsigned(w *workload.Workload, claim, remedy string) Notice {
	return warning(w, NotSigned, fmt.Sprintf("This Job has %[3]s, but no valid signature in reroll.dev/signed: Reroll did not create it, another client changed it, or the digest key was lost. "+remedy,
		w.Key.Name, w.Key.Namespace, claim))
}

// MayHaveRun is about a held Job that was to replace another one, if nothing shows whether that has
// run.
func MayHaveRun(w *workload.Workload) Notice {
	return warning(w, StaysHeld, fmt.Sprintf("This Job replaces another one and is held by its annotation reroll.dev/held. Its copy no longer exists, so a Job of this name may have run already. "+
		"If so, delete it. Otherwise, unsuspend it: "+letRun, w.Key.Name, w.Key.Namespace))
}

// CameLate is about a Job that stays held, because its workload had another Job for the change or
// was opted out.
func CameLate(w *workload.Workload, of workload.Key) Notice {
	return warning(w, StaysHeld, fmt.Sprintf("This Job was created for %s %s and is held by its annotation reroll.dev/held. Reroll does not unsuspend it, because another Job was created "+
		"for the same change, or because the %s was opted out. Delete it: kubectl delete job %s --namespace %s", of.Kind, of.Name, of.Kind, w.Key.Name, w.Key.Namespace))
}
