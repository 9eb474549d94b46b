package notice

import (
	"fmt"
	"strings"

	"github.com/reroll-dev/reroll/internal/annotations"
	"github.com/reroll-dev/reroll/internal/source"
	"github.com/reroll-dev/reroll/internal/workload"
)

// TooNew is about a ledger that a newer version of Reroll wrote.
func TooNew(w *workload.Workload) Notice {
	return warning(w, LedgerTooNew, fmt.Sprintf("Reroll does not roll this %s: a newer version of Reroll wrote its annotation %s, which this version cannot read. Run the newer version again, or remove the annotation",
		w.Key.Kind, annotations.Ledger))
}

// Unproven is about sources that were written after Pods of a workload started, while no controller
// watched, if nothing shows whether their data changed.
func Unproven(w *workload.Workload, sources []source.Key) Notice {
	first := sources[0]
	what := fmt.Sprintf("%s '%s' was", first.Kind, first.Name)
	if len(sources) > 1 {
		what = fmt.Sprintf("%s '%s' and %d more sources were", first.Kind, first.Name, len(sources)-1)
	}
	return warning(w, Undecided, what+" written after Pods of this "+w.Key.Object()+" started, before Reroll recorded its ledger. Nothing shows whether the data changed, or "+
		"only a label or an annotation, so Reroll did not reload it"+restartHint(w))
}

// restartHint shows the command that replaces the Pods of a workload, if kubectl has one.
func restartHint(w *workload.Workload) string {
	if command := RestartCommand(w); command != "" {
		return ". To replace the Pods: " + command
	}
	return ""
}

// RestartCommand is the command that replaces the Pods of a workload; empty if kubectl has none.
func RestartCommand(w *workload.Workload) string {
	switch w.Key.Kind {
	case "Deployment", "StatefulSet", "DaemonSet":
		return fmt.Sprintf("kubectl rollout restart %s %s --namespace %s", strings.ToLower(w.Key.Kind), w.Key.Name, w.Key.Namespace)
	default:
		return ""
	}
}
