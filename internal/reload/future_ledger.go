package reload

import (
	"time"

	"github.com/reroll-dev/reroll/internal/ledger"
)

// clocksDiffer is by how much the clock of the API server may be ahead of that of the controller.
const clocksDiffer = 10 * time.Minute

// dataTime is the data time of a ledger, 0 if it lies in the future. Whoever may write to a workload may write its ledger. A
// change of which only the time is known would be older than such a time, now and for ever.
func (f *Facts) dataTime(l ledger.Ledger) int64 {
	if !f.Now.IsZero() && l.DataTime > f.Now.Add(clocksDiffer).Unix() {
		return 0
	}
	return l.DataTime
}
