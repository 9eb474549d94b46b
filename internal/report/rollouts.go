package report

import (
	"slices"
	"strings"
	"time"

	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/notice"
	"github.com/reroll-dev/reroll/internal/rollout"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// maxDetail bounds text from a status, so that the end of the sentence fits.
const maxDetail = 300

// Rolled is called when no older Pod remains after a reload. If the workload has no Pods, the event
// Reloaded is enough, unless a cause was reported before.
func (r *Report) Rolled(w *workload.Workload, o rollout.Outcome, took time.Duration) {
	r.metrics.rolled(w.Key.Kind, took)
	r.log.Debug("rollout complete", "workload", w.Key.String(), "took", took.Round(time.Millisecond).String())
	if o.All == 0 && !o.AlreadyReported {
		return
	}
	r.events.publish(notice.Workload(w), normal, rolledReason, rolledText(o, took).String())
}

// NotRolled is called when Pods from before a reload stay for a known reason, or for too long. It
// is also called when a rollout by another client leaves Pods with the previous data on purpose.
func (r *Report) NotRolled(w *workload.Workload, o rollout.Outcome) {
	r.metrics.notRolled(o.Cause)
	text := notRolledText(w, o)
	r.log.Warn("Not rolled: "+text.String(), "workload", w.Key.String(), "cause", string(o.Cause))
	r.events.publish(notice.Workload(w), warning, notRolledReason, capitalized(text.String()))
	r.alerts.add(alert{failed: true, text: say("Reloader did not roll *%s* of type *%s* in namespace *%s*: %s",
		w.Key.Name, w.Key.Kind, w.Key.Namespace, text)})
}

func rolledText(o rollout.Outcome, took time.Duration) phrase {
	after := took.Round(time.Second)
	switch o.All {
	case 0:
		return say("There are no Pods; new Pods start with %s", content("the current", o.Changed))
	case 1:
		return say("The Pod uses %s, %s after the reload", content("the current", o.Changed), after)
	default:
		return say("All %s Pods use %s, %s after the reload", o.All, content("the current", o.Changed), after)
	}
}

func notRolledText(w *workload.Workload, o rollout.Outcome) phrase {
	state := say("%s of %s Pods still use %s", o.Old, o.All, content("the previous", o.Changed))
	switch {
	case o.NotFound:
		state = say("it is unknown whether its Pods use %s", content("the current", o.Changed))
	case o.Old == 0:
		state = say("%s of %s Pods use %s", o.All, o.Wanted, content("the current", o.Changed))
	}
	end := ours(". See " + buildinfo.Doc("how-to/stuck-rollouts.md#"+string(o.Cause)))
	// An address that is cut leads nowhere, so the cause is shortened instead.
	room := maxNote - len(state.String()) - len(": …") - len(end.String())
	return say("%s: %s%s", state, because(w, o).cutTo(room), end)
}

// content names the sources of a reload, the one that changed last first.
func content(which string, changed []source.Key) phrase {
	switch more := len(changed) - 1; {
	case more < 0:
		return ours(which + " data of its sources")
	case more == 0:
		return say(which+" "+changed[0].Kind.String()+" '%s'", changed[0].Name)
	default:
		return say(which+" "+changed[more].Kind.String()+" '%s' (and %s more)", changed[more].Name, more)
	}
}

// Because returns the cause as a clause.
func Because(w *workload.Workload, o rollout.Outcome) string { return because(w, o).String() }

func because(w *workload.Workload, o rollout.Outcome) phrase {
	switch o.Cause {
	case rollout.CausePausePeriod:
		return ours(pausedUntil(w))
	case rollout.CausePaused:
		return say("this %s is paused (spec.paused)", w.Key.Kind)
	case rollout.CausePausing:
		return ours("its rollout is paused")
	case rollout.CauseAborted:
		return ours("its rollout was aborted")
	case rollout.CauseOnDelete:
		return ours("its updateStrategy is OnDelete, so a Pod is only replaced when it is deleted")
	case rollout.CausePartition:
		return say("its updateStrategy has the partition %s, which keeps that many Pods unchanged", w.Progress.Partition)
	case rollout.CauseQuota:
		return say("a quota leaves no room for a new Pod (%s)", detail(o.Message))
	case rollout.CauseRefused:
		return say("new Pods are rejected (%s)", detail(o.Message))
	case rollout.CauseNotFound:
		return say("%s", detail(w.WhyNotFound()))
	case rollout.CauseMissing:
		return say("the other Pods do not exist; see the events of this %s", w.Key.Kind)
	case rollout.CauseUnknown:
		return ours("no Pod shows the reason")
	default:
		return podText(o)
	}
}

// isStarting reports whether no error keeps a container or a Pod from starting, as far as it shows.
func isStarting(t rollout.Trouble) bool {
	return t.Message == "" && slices.Contains([]string{"ContainerCreating", "PodInitializing", "Pending"}, t.Reason)
}

// podText describes the causes that a Pod shows.
func podText(o rollout.Outcome) phrase {
	pod := say("the Pod %s", o.Pod)
	if o.New {
		pod = say("the new Pod %s", o.Pod)
	}
	if o.Container != "" && o.Cause != rollout.CauseImagePull {
		pod = say("container %s of %s", o.Container, pod)
	}
	switch o.Cause {
	case rollout.CauseImagePull:
		return say(`%s cannot pull image "%s" (%s)`, pod, o.Image, o.Reason)
	case rollout.CauseOutOfMemory:
		return say("%s runs out of memory (%s)", pod, exit(o.Trouble))
	case rollout.CauseCrashLoop:
		return say("%s keeps crashing (%s)", pod, exit(o.Trouble))
	case rollout.CauseCannotStart:
		if isStarting(o.Trouble) {
			return say("%s has not started yet (%s)", pod, reason(o.Trouble))
		}
		return say("%s does not start (%s)", pod, reason(o.Trouble))
	case rollout.CauseUnschedulable:
		return say("%s cannot be scheduled (%s)", pod, reason(o.Trouble))
	case rollout.CauseOrdered:
		return say("%s is not ready (%s), and an OrderedReady StatefulSet waits for it before it replaces any Pod", pod, ordered(o.Trouble))
	default:
		return say("%s is running but not ready", pod)
	}
}

func ordered(t rollout.Trouble) phrase {
	if !t.Exited && t.Reason == "" {
		return ours("running")
	}
	return exit(t)
}

func exit(t rollout.Trouble) phrase {
	switch {
	case !t.Exited:
		return say("%s", t.Reason)
	case t.Reason == "":
		return say("exit code %s", t.ExitCode)
	default:
		return say("%s, exit code %s", t.Reason, t.ExitCode)
	}
}

func reason(t rollout.Trouble) phrase {
	switch {
	case t.Message == "":
		return say("%s", t.Reason)
	case t.Reason == "":
		return say("%s", detail(t.Message))
	default:
		return say("%s: %s", t.Reason, detail(t.Message))
	}
}

// capitalized starts a sentence with a clause.
func capitalized(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

// detail is the start of a foreign text, without the dot at its end.
func detail(message string) string {
	message = strings.TrimSuffix(strings.TrimSpace(message), ".")
	if len(message) > maxDetail {
		message = strings.ToValidUTF8(message[:maxDetail], "") + "…"
	}
	return message
}

// pausedUntil describes until when a workload is paused.
func pausedUntil(w *workload.Workload) string {
	until, ok := w.PauseUntil()
	if !ok {
		return "paused by Reroll, which is resuming it"
	}
	return "paused by Reroll until " + until.UTC().Format(time.RFC3339)
}
