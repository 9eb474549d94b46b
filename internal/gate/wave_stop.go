package gate

import (
	"fmt"
	"strings"

	"github.com/reroll-dev/reroll/internal/workload"
)

// mostFailed is how many workloads that failed are named.
const mostFailed = 1

// WhyStopped names a workload that failed.
func (f *Fleet) WhyStopped() string {
	var first workload.Key
	var found *member
	for key := range f.failed {
		if m := f.members[key]; found == nil || m.Wave < found.Wave || m.Wave == found.Wave && key.String() < first.String() {
			first, found = key, m
		}
	}
	if found == nil {
		return ""
	}
	name := strings.ToLower(first.Object()) + "/" + first.Name
	if f.source.Namespace == "" {
		name += " in namespace " + first.Namespace
	}
	text := fmt.Sprintf("wave %d stopped, %s %s", found.Wave, name, found.Why)
	if more := len(f.failed) - mostFailed; more > 0 {
		text += fmt.Sprintf(", and %d more failed", more)
	}
	return text
}

// text counts the members of a wave.
func (w *wave) text() string {
	var parts []string
	for _, s := range []struct {
		n    int
		word string
	}{
		{w.count[Running] - w.soaking, "in progress"}, {w.soaking, "soaking"}, {w.count[Waiting], "waiting"},
		{w.count[Failed], "failed"}, {w.count[Held], "held"}, {w.count[Done], "done"},
	} {
		if s.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", s.n, s.word))
		}
	}
	return strings.Join(parts, ", ")
}
