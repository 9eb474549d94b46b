package report

import (
	"fmt"
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// Paused is called after a reload that holds the workload still.
func (r *Report) Paused(w *workload.Workload, period time.Duration) {
	r.log.Info("paused, so that what changes until then rolls with it", "workload", w.Key.String(), "period", period.String())
}

// Resumed is called when such a pause has ended.
func (r *Report) Resumed(w *workload.Workload, end workload.PauseEnd) {
	if end.Spoilt {
		r.tell(w, warning, "Resumed", fmt.Sprintf("The pause of this %s ended before its time: %s. Its pods are replaced now", w.Key.Kind, end.Why))
		return
	}
	r.log.Info("resumed: "+end.Why, "workload", w.Key.String())
	r.tell(w, normal, "Resumed", fmt.Sprintf("The pause of this %s has ended: %s. Its pods are replaced now", w.Key.Kind, end.Why))
}

// PausedAgain is called when somebody puts a pause of ours back that has ended.
func (r *Report) PausedAgain(w *workload.Workload) {
	r.tell(w, warning, "PausedAgain", fmt.Sprintf("Somebody has put spec.paused and the time %s back after the pause of this %s had ended. It stays as it is: take both out of the manifest, or run kubectl rollout resume",
		w.Pause.Since, w.Key.Kind))
}

// held says until when a workload is held still.
func held(w *workload.Workload) string {
	until, ok := w.PauseUntil()
	if !ok {
		return "paused by Reroll, which resumes it now"
	}
	return "paused by Reroll until " + until.UTC().Format(time.RFC3339)
}
