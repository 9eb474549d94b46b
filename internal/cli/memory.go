package cli

import (
	"context"
	"runtime/debug"
	"time"

	"k8s.io/utils/clock"
)

// gcPercent is how much garbage there may be beside what is kept, in percent of that, unless the variable GOGC says otherwise.
// By default Go lets as much pile up as is kept. What is kept here follows the number of sources and workloads, and is small
// beside what comes and goes while they are read; so half of it costs little time, and is what the limit of a container is about.
const gcPercent = 50

// keepSmall has garbage collected earlier than Go does by default.
func keepSmall(getenv func(string) string) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}

// restEvery is how often is looked whether a start has come to its end.
const restEvery = time.Second

// giveBack returns memory to the system that is not used any more, at some moments in a row. At a start all objects have been
// through it, and next to nothing of them stays. Go would keep it for later, and nothing later needs as much.
func giveBack(ctx context.Context, c clock.WithTicker, moments ...func() bool) {
	ticker := c.NewTicker(restEvery)
	defer ticker.Stop()
	for _, come := range moments {
		for !come() {
			select {
			case <-ticker.C():
			case <-ctx.Done():
				return
			}
		}
		debug.FreeOSMemory()
	}
}
