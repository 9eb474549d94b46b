package inspect

import (
	"github.com/reroll-dev/reroll/internal/gate"
	"github.com/reroll-dev/reroll/internal/reload"
)

// gateURL returns the function that stands for the answer to the controller. A command does not ask
// itself, because its question may come from another network and with other permissions. The ledger
// shows that a reload waits: if all other gates are open, it waits for that answer.
func (e *Evaluation) gateURL() func(*reload.Facts, *reload.Decision, bool) gate.Answer {
	url := e.objects.settings.gateURL
	if url == "" {
		return nil
	}
	return func(f *reload.Facts, _ *reload.Decision, _ bool) gate.Answer {
		if !f.IsDeferred() {
			return gate.Answer{}
		}
		return gate.Answer{By: gate.URL, Why: "until " + url + " allows it (--gate-url), or has allowed it just now; its answer is in the event ReloadHeld of the workload"}
	}
}
