package notice

import (
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/reload"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// HeldByClock is about a reload that waits until a certain time. Opens is that time, empty if it is
// unknown.
func HeldByClock(w *workload.Workload, src source.Key, why, opens string) Notice {
	return heldUntil(w, src, why, opens, buildinfo.Doc("how-to/when-reloads-happen.md"))
}

// HeldByFreeze is about a reload that waits until a freeze ends. Ends is that time, empty if it is
// unknown.
func HeldByFreeze(w *workload.Workload, src source.Key, why, ends string) Notice {
	return heldUntil(w, src, why, ends, buildinfo.Doc("how-to/freeze-reloads.md"))
}

// HeldByGateURL is about a reload that the program of --gate-url lets wait.
func HeldByGateURL(w *workload.Workload, src source.Key, why string) Notice {
	return normal(w, ReloadHeld, fmt.Sprintf("The reload for %s '%s' waits, because %s. Reroll asks again every few seconds, and then rolls the newest data. See %s",
		src.Kind, src.Name, why, buildinfo.Doc("how-to/when-reloads-happen.md#ask-another-program")))
}

func heldUntil(w *workload.Workload, src source.Key, why, until, page string) Notice {
	text := fmt.Sprintf("The reload for %s '%s' waits, because %s. ", src.Kind, src.Name, why)
	if until != "" {
		text = fmt.Sprintf("The reload for %s '%s' waits until %s, because %s. ", src.Kind, src.Name, until, why)
	}
	return normal(w, ReloadHeld, text+"The newest data is rolled then. See "+page)
}

// Held is about a reload that waits because its workload was reloaded too often. Writer is the
// field manager that wrote the source last, empty if that is unknown.
func Held(w *workload.Workload, often Often, writer, why string, until time.Time) Notice {
	src := often.Source
	changed := fmt.Sprintf("%s '%s' changed again", src.Kind, src.Name)
	if often.Changes > 0 {
		changed = fmt.Sprintf("%s '%s' changed in %d of the last %d reloads", src.Kind, src.Name, often.Changes, often.Reloads)
	}
	if writer != "" {
		changed += fmt.Sprintf(", last written by '%s'", short(writer))
	}
	n := warning(w, ReloadHeld, fmt.Sprintf("The next reload waits until %s, because %s. %s. The newest data is rolled then. "+
		`To change the limit: annotate this %s with %s, such as "60/1h", or "off". See %s`,
		until.UTC().Format(time.RFC3339), why, changed, w.Key.Kind, annotations.Churn,
		buildinfo.Doc("how-to/troubleshoot.md#a-workload-is-reloaded-again-and-again")))
	n.Alert = true
	return n
}

// Overridden is about a reload that starts although a gate is closed, because a certificate expires
// that its Pods have. Why is the reason of the gate.
func Overridden(w *workload.Workload, src source.Key, why string, at, expires time.Time) Notice {
	n := warning(w, GateOverridden, fmt.Sprintf("The reload for %s '%s' starts now, although a gate is closed (%s): the certificate that the Pods have expires at %s, and from %s no gate holds its replacement. See %s",
		src.Kind, src.Name, why, expires.UTC().Format(time.RFC3339), at.UTC().Format(time.RFC3339), buildinfo.Doc("how-to/when-reloads-happen.md#certificates-do-not-wait")))
	n.Alert = true
	return n
}

// PodsOutOfDate is about changes of a workload that only users reload. Why explains that it is one.
func PodsOutOfDate(w *workload.Workload, changes []reload.Concern, why string) Notice {
	const most = 3
	var names []string
	for i := range changes {
		key := changes[len(changes)-1-i].Source.Key
		names = append(names, fmt.Sprintf("%s '%s'", key.Kind, key.Name))
	}
	n := warning(w, OutOfDate, fmt.Sprintf("Pods of this %s use previous data of %s, and %s%s. See %s",
		w.Key.Object(), listed(names, most), why, restartHint(w), buildinfo.Doc("how-to/notify.md")))
	n.Alert = true
	return n
}
