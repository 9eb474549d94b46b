package notice

import (
	"fmt"

	"github.com/reroll-dev/reroll/internal/buildinfo"
	"github.com/reroll-dev/reroll/internal/workload"
)

// Halted is about the workload that failed last, after which no reload of any workload starts.
func Halted(w *workload.Workload, why string) Notice {
	n := warning(w, ReloadsHalted, fmt.Sprintf("No further reload starts: %s. This %s is the latest of them. %s", why, w.Key.Kind, continueAll()))
	n.Alert = true
	return n
}

// HeldByHalt is about a reload that waits because too many other reloads failed.
func HeldByHalt(w *workload.Workload, why string) Notice {
	return warning(w, ReloadHeld, fmt.Sprintf("The reload waits: %s. %s", why, continueAll()))
}

// continueAll is how reloads continue.
func continueAll() string {
	return "Reloads continue when enough of the workloads recover. To continue at once: reroll resume --all. See " + buildinfo.Doc("how-to/halt-reloads.md")
}
