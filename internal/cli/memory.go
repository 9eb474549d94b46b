package cli

import "runtime/debug"

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

// giveBack returns the memory to the system that a start has taken and that is not used any more: all objects have been through
// it, and next to nothing of them stays. Go would keep it for later, and nothing later needs as much.
func giveBack() { debug.FreeOSMemory() }
