package notice

import (
	"fmt"

	"github.com/reroll-dev/reroll/internal/workload"
)

// PauseEnded is about the end of a pause that a reload began.
func PauseEnded(w *workload.Workload, end workload.PauseEnd) Notice {
	if end.Spoilt {
		return warning(w, Resumed, fmt.Sprintf("Reroll resumed this %s early: %s. Its Pods are replaced now", w.Key.Kind, end.Why))
	}
	return normal(w, Resumed, fmt.Sprintf("Reroll resumed this %s: %s. Its Pods are replaced now", w.Key.Kind, end.Why))
}

// PauseBack is about a pause of ours that another client restores after its end.
func PauseBack(w *workload.Workload) Notice {
	return warning(w, PausedAgain, fmt.Sprintf("Another client set spec.paused and the time %s again after Reroll had resumed this %s, which stays paused. Remove both from the manifest, or run kubectl rollout resume",
		w.Pause.Since, w.Key.Kind))
}
