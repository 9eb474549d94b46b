package gate

import (
	"slices"

	"github.com/reroll-dev/reroll/internal/workload"
)

// Standing is a workload of a wave, for readers.
type Standing struct {
	Key   workload.Key
	State State
	// Why explains that it has failed, is held, or is soaking.
	Why string
	// Soaking reports that its rollout has ended, and that it has to stay available.
	Soaking bool
}

// WaveProgress is a wave with its workloads.
type WaveProgress struct {
	Number  int
	Members []Standing
}

// Progress returns the waves of a fleet, the lowest first.
func (f *Fleet) Progress() []WaveProgress {
	byNumber := map[int][]Standing{}
	for key, m := range f.members {
		byNumber[m.Wave] = append(byNumber[m.Wave], Standing{key, m.counted, m.Why, m.Soaking})
	}
	var all []WaveProgress
	for number, members := range byNumber {
		slices.SortFunc(members, func(a, b Standing) int { return workload.CompareKeys(a.Key, b.Key) })
		all = append(all, WaveProgress{number, members})
	}
	slices.SortFunc(all, func(a, b WaveProgress) int { return a.Number - b.Number })
	return all
}

// String returns the state in one or two words.
func (s State) String() string {
	words := [...]string{"waiting", "in-progress", "failed", "held", "done"}
	if int(s) < len(words) {
		return words[s]
	}
	return "unknown"
}
