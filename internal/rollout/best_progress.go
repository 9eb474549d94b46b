package rollout

import "github.com/reroll-dev/reroll/internal/workload"

// Best is the most progress that a rollout has made. Pods that become ready and fail again and
// again are no progress.
type Best struct{ updated, available, fewest int32 }

// Reach records a status, and reports whether it is progress.
func (b *Best) Reach(p *workload.Progress) bool {
	if !p.Observed {
		return false
	}
	next := Best{max(b.updated, p.Updated), max(b.available, p.Available), b.fewest}
	if old := p.Old() + 1; next.fewest == 0 || old < next.fewest { // 0 means none yet
		next.fewest = old
	}
	forward := next != *b
	*b = next
	return forward
}
