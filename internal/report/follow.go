package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/internal/reload"
)

// rolledReason is the reason of the event about a reload that has come to its end.
const rolledReason = "Rolled"

// maxDetail bounds what others have written into a status, so that the end of the sentence has room.
const maxDetail = 300

// Rolled is called when no pod from before a reload is left. Of a workload that has no pods there is no more to tell than that it
// was reloaded, unless pods were waited for before.
func (r *Report) Rolled(w *reload.Workload, o reload.Outcome, took time.Duration) {
	r.metrics.rolled(w.Key.Kind, took)
	r.log.Debug("rolled to its end", "workload", w.Key.String(), "took", took.Round(time.Millisecond).String())
	if o.All == 0 && !o.Told {
		return
	}
	r.events.publish(w, normal, rolledReason, rolledText(o, took))
}

// NotRolled is called when pods from before a reload are left for a reason that is known, or for too long.
func (r *Report) NotRolled(w *reload.Workload, o reload.Outcome) {
	r.metrics.notRolled(o.Cause)
	text := notRolledText(w, o)
	r.log.Warn("Not rolled: "+text, "workload", w.Key.String(), "cause", string(o.Cause))
	r.events.publish(w, warning, notRolled, "Not rolled: "+text)
	r.alerts.add(alert{failed: true, text: cut(fmt.Sprintf("Reloader did not roll *%s* of type *%s* in namespace *%s*: %s",
		w.Key.Name, w.Key.Kind, w.Key.Namespace, text))})
}

func rolledText(o reload.Outcome, took time.Duration) string {
	after := took.Round(time.Second)
	switch o.All {
	case 0:
		return "Rolled: there are no pods; those that come start with " + content("the present", o.Changed)
	case 1:
		return fmt.Sprintf("Rolled: the pod runs with %s, %s after the reload", content("the present", o.Changed), after)
	default:
		return fmt.Sprintf("Rolled: all %d pods run with %s, %s after the reload", o.All, content("the present", o.Changed), after)
	}
}

func notRolledText(w *reload.Workload, o reload.Outcome) string {
	state := fmt.Sprintf("%d of %d pods still run %s", o.Old, o.All, content("the old", o.Changed))
	if o.Old == 0 {
		state = fmt.Sprintf("%d of %d pods run with %s", o.All, o.Wanted, content("the present", o.Changed))
	}
	return fmt.Sprintf("%s: %s. See docs/following.md#%s", state, Because(w, o), o.Cause)
}

// content names the sources of a reload, the one that changed last first.
func content(which string, changed []reload.SourceKey) string {
	switch more := len(changed) - 1; {
	case more < 0:
		return which + " content of its sources"
	case more == 0:
		return fmt.Sprintf("%s '%s'", which, changed[0].Name)
	default:
		return fmt.Sprintf("%s '%s' (and %d more)", which, changed[more].Name, more)
	}
}

// Because says the cause in a clause.
func Because(w *reload.Workload, o reload.Outcome) string {
	switch o.Cause {
	case reload.CauseHeld:
		return held(w)
	case reload.CausePaused:
		return fmt.Sprintf("this %s is paused (spec.paused)", w.Key.Kind)
	case reload.CausePausing:
		return "its rollout waits at a pause"
	case reload.CauseAborted:
		return "its rollout was aborted"
	case reload.CauseOnDelete:
		return "its updateStrategy is OnDelete, so a pod is replaced when somebody deletes it"
	case reload.CausePartition:
		return fmt.Sprintf("its updateStrategy has the partition %d, which leaves that many pods as they are", w.Progress.Partition)
	case reload.CauseQuota:
		return fmt.Sprintf("a quota leaves no room for a new pod (%s)", detail(o.Message))
	case reload.CauseRefused:
		return fmt.Sprintf("new pods are refused (%s)", detail(o.Message))
	case reload.CauseMissing:
		return "the others are not there, and why is in the events of this " + w.Key.Kind
	case reload.CauseUnknown:
		return "no pod shows why"
	default:
		return podText(o)
	}
}

// podText is for the causes that show in a pod.
func podText(o reload.Outcome) string {
	pod := "the pod " + o.Pod
	if o.New {
		pod = "the new pod " + o.Pod
	}
	if o.Container != "" && o.Cause != reload.CauseImagePull {
		pod = fmt.Sprintf("container %s of %s", o.Container, pod)
	}
	switch o.Cause {
	case reload.CauseImagePull:
		return fmt.Sprintf("%s cannot pull image %q (%s)", pod, o.Image, o.Reason)
	case reload.CauseCrashLoop:
		return fmt.Sprintf("%s ends again and again (%s)", pod, exit(o.Trouble))
	case reload.CauseCannotStart:
		return fmt.Sprintf("%s does not start (%s)", pod, reason(o.Trouble))
	case reload.CauseUnschedulable:
		return fmt.Sprintf("%s finds no node (%s)", pod, reason(o.Trouble))
	case reload.CauseOrdered:
		return fmt.Sprintf("%s is not ready (%s), and an OrderedReady StatefulSet waits for it before it replaces any", pod, ordered(o.Trouble))
	default:
		return pod + " runs and is not ready"
	}
}

func ordered(t reload.Trouble) string {
	if text := exit(t); text != "" {
		return text
	}
	return "it runs"
}

func exit(t reload.Trouble) string {
	if t.Exited {
		return strings.TrimPrefix(fmt.Sprintf("%s, exit code %d", t.Reason, t.ExitCode), ", ")
	}
	return t.Reason
}

func reason(t reload.Trouble) string {
	if t.Message == "" {
		return t.Reason
	}
	return strings.TrimPrefix(t.Reason+": ", ": ") + detail(t.Message)
}

// detail is as much as there is room for of what others have written, without the dot at its end.
func detail(message string) string {
	message = strings.TrimSuffix(strings.TrimSpace(message), ".")
	if len(message) > maxDetail {
		message = strings.ToValidUTF8(message[:maxDetail], "") + "…"
	}
	return message
}
