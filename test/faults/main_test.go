// Package faults runs histories on a real API server. Users change sources and workloads; the
// controller is the real program, under the permissions it is shipped with; between it and the API
// server stands a proxy that refuses, delays, drops, holds back and cuts, and that kills the
// controller at chosen points. A history is drawn from a seed. Who judges it knows nothing of the
// controller: it watches the API server itself, past the proxy, and compares the content under
// which each pod was created with the content now, and the rollouts with the changes.
//
// Pods run no containers here. What a container would have read is taken from the order of
// versions: a pod has the content that a source had in the version in which the pod was created.
package faults

import (
	"os"
	"testing"

	"github.com/reroll-dev/reroll/test/stage"
)

// shared is what all histories of this process use.
var shared *stage.Stage

func TestMain(m *testing.M) {
	os.Exit(stage.Run(m, "faults", atOnce, func(s *stage.Stage) { shared = s }))
}
