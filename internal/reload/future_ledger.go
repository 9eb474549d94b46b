package reload

import (
	"time"

	"github.com/reroll-dev/reroll/internal/ledger"
)

// clocksDiffer is how far the clock of the API server may be ahead of the clock of the controller.
const clocksDiffer = 10 * time.Minute

// dataTime is the data time of a ledger, 0 if it lies in the future. Any client that may write to a
// workload can write its ledger. Otherwise every change of which only the time is known would look
// older than the ledger. The clock of the controller may be behind, so that the time at which the
// API server last recorded data counts, too.
func (f *Facts) dataTime(l ledger.Ledger) int64 {
	switch {
	case f.Now.IsZero(),
		l.DataTime <= f.Now.Add(clocksDiffer).Unix(),
		l.DataTime <= f.latestDataTime().Add(clocksDiffer).Unix():
		return l.DataTime
	default:
		return 0
	}
}
