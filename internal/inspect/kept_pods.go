package inspect

import "time"

// keepsPrevious reports whether Pods of the workload are older than the data of one of its sources,
// and counts them for each source. If a rollout of another client brought the data, no mark
// distinguishes these Pods from the others.
func (e *Evaluation) keepsPrevious(a *Answer) bool {
	if a.Pods == nil {
		_, _ = e.list(a) // without permission to list Pods, their age is unknown
	}
	if a.Pods == nil || a.unlisted() {
		return false
	}
	own := a.Pods.of(&a.Workload)
	keeps := false
	for i := range a.Sources {
		src := &a.Sources[i]
		if src.Unread || !src.counts() {
			continue
		}
		since := a.dataSince(src)
		src.Older = 0
		for j := range own {
			if !own[j].Created.After(since) {
				src.Older++
			}
		}
		keeps = keeps || src.Older > 0
	}
	return keeps
}

// dataSince returns the time when a source got its data. If the ledger has the same data, a later
// write of the object has not changed it.
func (a *Answer) dataSince(src *Source) time.Time {
	if known := time.Unix(a.Ledger.DataTime, 0); src.Content == AsInLedger && a.Ledger.DataTime > 0 && known.Before(src.Written) {
		return known
	}
	return src.Written
}
