package inspect

import (
	"cmp"
	"slices"
	"time"

	"github.com/reroll-dev/reroll/internal/workload"
)

// Latest is the latest reload of a workload.
type Latest struct {
	Key workload.Key
	At  time.Time
}

// mostLatest bounds the reloads that a scope remembers, so that a reader of one scope sees as many
// as a reader of all.
const mostLatest = 12

// clocksDiffer is by how much the clock of a controller may be ahead.
const clocksDiffer = time.Minute

// dated sets when the latest reload began. Most ledgers note it. The ledger of a Job does not, and
// others do not without a limit of failures; the time at which the process has seen their reload
// replaces it. A user may write a time of the future into a ledger, which would stay the latest.
func (s *Summary) dated(before *Summary, now time.Time) {
	switch {
	case s.Began.After(now.Add(clocksDiffer)):
		s.Began = time.Time{}
	case !s.Began.IsZero() || before == nil || before.Reloads < 0:
	case s.Reloads > before.Reloads:
		s.Began = now
	case s.Reloads == before.Reloads:
		s.Began = before.Began
	}
}

// note keeps the latest reload of a workload if it is one of the latest of its scope.
func (s *Scope) note(sum *Summary) {
	if sum.Reloads > 0 && !sum.Began.IsZero() {
		s.Latest = insert(s.Latest, Latest{sum.Key, sum.Began})
	}
}

// insert adds a reload to the latest ones, the newest first.
func insert(all []Latest, one Latest) []Latest {
	if len(all) == mostLatest && newestFirst(one, all[mostLatest-1]) > 0 {
		return all
	}
	at, _ := slices.BinarySearchFunc(all, one, newestFirst)
	all = slices.Insert(all, at, one)
	return all[:min(len(all), mostLatest)]
}

func newestFirst(a, b Latest) int {
	return cmp.Or(b.At.Compare(a.At), workload.CompareKeys(a.Key, b.Key))
}

// LatestOf returns the latest reloads in some scopes, the newest first.
func LatestOf(scopes []*Scope) []Latest {
	var all []Latest
	for _, scope := range scopes {
		for _, one := range scope.Latest {
			all = insert(all, one)
		}
	}
	return all
}
