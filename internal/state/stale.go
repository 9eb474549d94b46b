package state

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/reroll-dev/reroll/internal/workload"
)

// Answered records that a workload has a version that a write of ours produced. The versions before
// it may lack a write of another client, so that the watch has to bring all of them.
func (s *State) Answered(key workload.Key, uid types.UID, resourceVersion string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.workloads[key]; ok && known.UID == uid {
		known.answered = max(known.answered, VersionOf(resourceVersion))
	}
}

// IsStale reports whether the cache of a workload is older than our latest write. A snapshot that
// was taken before the write may be stored after its response. The watch that continues from the
// snapshot brings the newer version again.
func (s *State) IsStale(w *workload.Workload) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	known, ok := s.workloads[w.Key]
	version := VersionOf(w.ResourceVersion)
	return ok && known.UID == w.UID && version != 0 && version < known.answered
}

// ResetStale accepts the older version, because the API server was restored and the newer one will
// not come.
func (s *State) ResetStale(key workload.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.workloads[key]; ok {
		known.answered = 0
	}
}
