package notice

import (
	"fmt"

	"github.com/reroll-dev/reroll/internal/workload"
)

// PauseEnded is about the end of a pause that a reload began.
func PauseEnded(w *workload.Workload, end workload.PauseEnd) Notice {
	if end.Spoilt {
		return warning(w, Resumed, fmt.Sprintf("The pause of this %s ended before its time: %s. Its pods are replaced now", w.Key.Kind, end.Why))
	}
	return normal(w, Resumed, fmt.Sprintf("The pause of this %s has ended: %s. Its pods are replaced now", w.Key.Kind, end.Why))
}

// PauseBack is about a pause of ours that somebody puts back after it has ended.
func PauseBack(w *workload.Workload) Notice {
	return warning(w, PausedAgain, fmt.Sprintf("Somebody has put spec.paused and the time %s back after the pause of this %s had ended. It stays as it is: take both out of the manifest, or run kubectl rollout resume",
		w.Pause.Since, w.Key.Kind))
}
